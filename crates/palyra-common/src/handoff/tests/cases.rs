//! The table of cases, which is a file of its own so that others can run it as well.

use serde::Deserialize;
use serde_json::Value;

use crate::handoff::{
    CrossSurfaceHandoff, ParsedHandoff, normalize_handoff_intent, parse_console_handoff,
    parse_handoff_token, to_handoff_token, to_handoff_url,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Cases {
    #[serde(rename = "about")]
    _about: String,
    queries: Vec<QueryCase>,
    tokens: Vec<TokenCase>,
    refused_tokens: Vec<RefusedToken>,
    urls: Vec<UrlCase>,
    intents: Vec<IntentCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryCase {
    name: String,
    query: String,
    handoff: Value,
    notices: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenCase {
    name: String,
    token: String,
    handoff: Value,
    notices: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedToken {
    name: String,
    token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlCase {
    name: String,
    handoff: Value,
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IntentCase {
    text: String,
    intent: Option<String>,
}

fn cases() -> Cases {
    serde_json::from_str(include_str!("../../../../../schemas/json/handoff-cases.json")).unwrap()
}

fn check(parsed: &ParsedHandoff, handoff: &Value, notices: &Value, name: &str) {
    assert_eq!(&serde_json::to_value(&parsed.handoff).unwrap(), handoff, "{name}");
    assert_eq!(&serde_json::to_value(&parsed.notices).unwrap(), notices, "{name}");
}

fn handoff_of(case: &Value, name: &str) -> CrossSurfaceHandoff {
    let parsed = parse_handoff_token(&case.to_string()).unwrap();
    check(&parsed, case, &Value::Array(Vec::new()), name);
    parsed.handoff
}

#[test]
fn queries_are_read_as_agreed() {
    let cases = cases().queries;
    assert!(cases.len() >= 30);
    for case in cases {
        check(&parse_console_handoff(&case.query), &case.handoff, &case.notices, &case.name);
    }
}

#[test]
fn tokens_are_read_as_agreed() {
    for case in cases().tokens {
        let parsed = parse_handoff_token(&case.token).unwrap();
        check(&parsed, &case.handoff, &case.notices, &case.name);
    }
}

#[test]
fn what_is_not_an_object_is_not_a_token() {
    for case in cases().refused_tokens {
        assert!(parse_handoff_token(&case.token).is_err(), "{}", case.name);
    }
}

#[test]
fn urls_are_written_as_agreed() {
    for case in cases().urls {
        let handoff = handoff_of(&case.handoff, &case.name);
        let url = to_handoff_url(&handoff);
        assert_eq!(url, case.url, "{}", case.name);
        let (path, query) = url.split_once('?').unwrap();
        assert_eq!(path, "/", "{}", case.name);
        let parsed = parse_console_handoff(query);
        check(&parsed, &case.handoff, &Value::Array(Vec::new()), &case.name);
    }
}

#[test]
fn tokens_are_written_under_the_same_names() {
    for case in cases().urls {
        let token = to_handoff_token(&handoff_of(&case.handoff, &case.name));
        let written: Value = serde_json::from_str(&token).unwrap();
        assert_eq!(written, case.handoff, "{}", case.name);
    }
}

#[test]
fn intents_are_normalised_as_agreed() {
    for case in cases().intents {
        let intent = normalize_handoff_intent(&case.text).map(|intent| intent.to_string());
        assert_eq!(intent, case.intent, "{:?}", case.text);
    }
}
