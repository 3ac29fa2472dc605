use serde_json::{Value, json};

use super::*;

fn read(rule: Value) -> Result<Rule, String> {
    serde_json::from_value(rule).map_err(|error| error.to_string())
}

#[test]
fn what_is_not_said_is_as_careful_as_can_be() {
    assert_eq!(read(json!({})), Ok(Rule::default()));
    let said = read(json!({ "agent": "ops", "max_text_bytes": 10.0 }));
    assert_eq!(said, Ok(Rule { agent: "ops".into(), max_text_bytes: 10, ..Rule::default() }));
}

#[test]
fn what_was_written_reads_back_the_same() {
    let rule = Rule { allow_from: ["ann".to_owned()].into(), ..Rule::default() };
    assert_eq!(read(serde_json::to_value(&rule).unwrap()), Ok(rule));
}

#[test]
fn a_list_is_bounded_by_what_was_written() {
    let with = |count| read(json!({ "deny_from": vec!["ann"; count] }));
    assert_eq!(with(MAX_LISTED).map(|rule| rule.deny_from.len()), Ok(1));
    assert_eq!(with(MAX_LISTED + 1), Err("a list has at most 1000 entries".into()));
}

#[test]
fn what_is_not_known_is_refused() {
    for rule in [json!({ "agents": "x" }), json!({ "mention": "maybe" }), json!({ "agent": null })]
    {
        assert!(read(rule.clone()).is_err(), "{rule}");
    }
}

#[cfg(feature = "openapi")]
#[test]
fn the_bounds_that_are_described_are_those_that_are_checked() {
    let schema = <Rule as utoipa::PartialSchema>::schema();
    let described = serde_json::to_value(schema).unwrap();
    let field = |name: &str| &described["properties"][name];
    assert_eq!(field("max_text_bytes")["maximum"], json!(MAX_TEXT_BYTES));
    for list in ["channels", "allow_from", "deny_from"] {
        assert_eq!(field(list)["maxItems"], json!(MAX_LISTED), "{list}");
    }
}
