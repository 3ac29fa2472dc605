//! A change that is sent twice with one `Idempotency-Key` is made once.

use crate::daemon::{Answer, Daemon};
use crate::fuzz::description;

const JSON: &str = "Content-Type: application/json";
const TOKEN: &str = r#"{"name": "a", "scopes": ["status:read"], "expires_in_seconds": 60}"#;

/// Somebody who makes changes over TCP.
struct Maker {
    daemon: Daemon,
    bearer: String,
}

impl Maker {
    fn new() -> Self {
        let daemon = Daemon::start();
        let scopes = daemon.local("GET", "/admin/v1/whoami", "").json()["scopes"].clone();
        let scopes: Vec<_> = scopes.as_array().unwrap().iter().filter_map(|s| s.as_str()).collect();
        let (_, secret) = daemon.token(&scopes);
        Self { daemon, bearer: format!("Authorization: Bearer {secret}") }
    }

    fn post(&self, path: &str, keys: &[&str], body: &str) -> Answer {
        self.ask("POST", path, keys, body)
    }

    fn ask(&self, method: &str, path: &str, keys: &[&str], body: &str) -> Answer {
        let keys: Vec<_> = keys.iter().map(|key| format!("Idempotency-Key: {key}")).collect();
        let mut headers = vec![self.bearer.as_str(), JSON];
        headers.extend(keys.iter().map(String::as_str));
        self.daemon.tcp(method, path, &headers, body)
    }

    fn tokens(&self) -> usize {
        let listed = self.daemon.local("GET", "/admin/v1/tokens", "").json();
        listed["items"].as_array().unwrap().len()
    }
}

fn replayed(answer: &Answer) -> Option<&str> {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.header("idempotency-replayed")
}

#[test]
fn a_token_comes_back_without_its_secret() {
    let maker = Maker::new();
    let before = maker.tokens();
    let first = maker.post("/admin/v1/tokens", &["k"], TOKEN);
    assert_eq!(replayed(&first), None);
    let secret = first.json()["secret"].as_str().unwrap().to_owned();
    assert!(first.json().get("advice").is_none(), "{first:?}");

    let again = maker.post("/admin/v1/tokens", &["k"], TOKEN);
    assert_eq!(replayed(&again), Some("true"));
    assert_eq!(again.json()["token"], first.json()["token"]);
    assert!(again.json().get("secret").is_none() && !again.body.contains(&secret), "{again:?}");
    assert!(again.json()["advice"].as_str().unwrap().contains("revoke this token"), "{again:?}");
    assert_eq!(maker.tokens(), before + 1);

    let other = maker.post("/admin/v1/tokens", &["k"], &TOKEN.replace("60", "61"));
    assert_eq!((other.status, other.code().as_str()), (409, "common/conflict"));
    assert!(other.body.contains("used for another request"), "{other:?}");
    assert_eq!(maker.tokens(), before + 1);
    assert_eq!(replayed(&maker.post("/admin/v1/tokens", &[], TOKEN)), None);
    assert_eq!(maker.tokens(), before + 2);
}

#[test]
fn a_key_is_for_one_operation() {
    let maker = Maker::new();
    let anna = r#"{"principal": "operator:anna", "role": "viewer"}"#;
    for (path, body) in [("tokens", TOKEN), ("principals", anna), ("login-codes", "{}")] {
        let path = format!("/admin/v1/{path}");
        assert_eq!(replayed(&maker.post(&path, &["k"], body)), None);
        assert_eq!(replayed(&maker.post(&path, &["k"], body)), Some("true"));
    }
    let link = maker.post("/admin/v1/login-codes", &["k"], "").json();
    assert!(link.get("link").is_none() && link["expires_at"].is_number(), "{link}");
    assert!(link["advice"].as_str().unwrap().contains("make another"), "{link}");
}

const RULE: &str = r#"{"channel": "echo:second", "rule": {"agent": "main", "conversation": "a"}}"#;

/// Method, path, body, another body of the same form, and the status of a success. Each follows from
/// those before.
const MAKES: [(&str, &str, &str, &str, u16); 6] = [
    ("POST", "sessions", r#"{"title": "a"}"#, r#"{"title": "b"}"#, 201),
    ("POST", "channels", r#"{"id": "echo:second"}"#, r#"{"id": "echo:third"}"#, 201),
    (
        "POST",
        "router/rules",
        RULE,
        r#"{"channel": "echo:second", "rule": {"agent": "main", "conversation": "b"}}"#,
        201,
    ),
    (
        "POST",
        "channels/echo:second/messages",
        r#"{"conversation": "a", "text": "hello"}"#,
        r#"{"conversation": "a", "text": "good bye"}"#,
        202,
    ),
    ("POST", "channels/echo:second/test", r#"{"text": "hello"}"#, r#"{"text": "good bye"}"#, 202),
    ("PUT", "secrets/global/a", r#"{"value": "hunter2"}"#, r#"{"value": "hunter3"}"#, 200),
];

#[test]
fn whatever_makes_something_makes_it_once() {
    let maker = Maker::new();
    for (method, path, body, other, status) in MAKES {
        let path = format!("/admin/v1/{path}");
        let first = maker.ask(method, &path, &["k"], body);
        assert_eq!(
            (first.status, first.header("idempotency-replayed")),
            (status, None),
            "{first:?}"
        );
        let again = maker.ask(method, &path, &["k"], body);
        let replayed = again.header("idempotency-replayed");
        assert_eq!((again.status, replayed), (status, Some("true")), "{again:?}");
        assert_eq!(names(&again), names(&first), "{path}");
        let taken = maker.ask(method, &path, &["k"], other);
        assert_eq!((taken.status, taken.code().as_str()), (409, "common/conflict"), "{taken:?}");
        assert!(taken.body.contains("used for another request"), "{taken:?}");
        assert_ne!(names(&maker.ask(method, &path, &["j"], other)), names(&first), "{path}");
    }
    let secrets = maker.daemon.local("GET", "/admin/v1/secrets", "").json();
    assert_eq!(secrets["items"][0]["versions"].as_array().unwrap().len(), 2, "{secrets}");
}

/// What tells one that was made from another.
fn names(answer: &Answer) -> serde_json::Value {
    let json = answer.json();
    let fields = ["id", "envelope", "message", "routed", "reason", "version"];
    fields.iter().map(|name| (*name, json[name].clone())).collect()
}

#[test]
fn what_was_refused_was_not_carried_out() {
    let maker = Maker::new();
    let add = |body| maker.post("/admin/v1/channels", &["k"], body);
    let refused = add(r#"{"id": "echo:default"}"#);
    assert_eq!((refused.status, refused.code().as_str()), (409, "common/conflict"), "{refused:?}");
    assert!(refused.body.contains("change that one"), "{refused:?}");
    let made = add(r#"{"id": "echo:second"}"#);
    assert_eq!(replayed(&made), None, "the key is free");
}

#[test]
fn a_master_key_is_changed_once() {
    let maker = Maker::new();
    let secret = r#"{"value": "hunter2"}"#;
    assert_eq!(maker.ask("PUT", "/admin/v1/secrets/global/a", &[], secret).status, 200);
    let rotate = |key| maker.post("/admin/v1/secrets/rotate-master", &[key], "{}");
    let (first, again) = (rotate("k"), rotate("k"));
    assert_eq!((first.status, first.header("idempotency-replayed")), (200, None), "{first:?}");
    let replayed = again.header("idempotency-replayed");
    assert_eq!((again.status, replayed), (200, Some("true")), "{again:?}");
    assert_eq!(first.json(), again.json());
    let other = rotate("j").json();
    assert_eq!(other["old_key_id"], first.json()["key_id"], "there was one change before");
    let passphrase = r#"{"passphrase": "correct horse"}"#;
    let headers = ["Host: palyra", JSON, "Idempotency-Key: i"];
    let refused =
        maker.daemon.local_with("POST", "/admin/v1/secrets/rotate-master", &headers, passphrase);
    assert_eq!((refused.status, refused.code().as_str()), (400, "common/invalid_input"));
    assert!(refused.body.contains("takes no Idempotency-Key"), "{refused:?}");
}

/// Whoever did not hear the answer sends it again, and by then it may be in doubt once more.
#[test]
fn a_message_in_doubt_is_sent_again_once() {
    let maker = Maker::new();
    let echo = "/admin/v1/channels/echo:default";
    let settings = r#"{"settings": {"deduplicate": false, "tells_history": false, "ledger": "sent",
        "faults": {"request": "drop_answer"}}, "queue": {"look_after": "1ms", "max_looks": 1}}"#;
    assert_eq!(maker.ask("PUT", echo, &[], settings).status, 200);
    let message = r#"{"conversation": "general", "text": "hello", "envelope": "m1"}"#;
    assert_eq!(maker.post(&format!("{echo}/messages"), &[], message).status, 202);
    let ledger = maker.daemon.data_dir().join("connectors/sent");
    let in_doubt = |copies: usize| {
        maker.daemon.until(&format!("{echo}/outbox/m1"), |state| {
            let ledger = std::fs::read_to_string(&ledger).unwrap_or_default();
            state["parts"][0]["state"] == "unknown" && ledger.matches("hello").count() >= copies
        });
    };
    let resend = |key| {
        let path = format!("{echo}/unknown/m1/0/resolve");
        maker.post(&path, &[key], r#"{"resolution": "resend"}"#)
    };
    in_doubt(1);
    let first = resend("k");
    assert_eq!((first.status, first.header("idempotency-replayed")), (200, None), "{first:?}");
    in_doubt(2);
    let again = resend("k");
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "{again:?}");
    assert_eq!(again.json(), first.json());
    // Another wish is another copy.
    assert_eq!(resend("l").header("idempotency-replayed"), None);
    in_doubt(3);
    let sent = std::fs::read_to_string(&ledger).unwrap();
    assert_eq!(sent.matches("hello").count(), 3, "{sent}");
}

/// Requests without a key of which a second one does no harm: it finds done what it asks for, or is told
/// that it is there; it asks for something to be looked at; or it has a use of its own that ends with the
/// first.
const HARMLESS: [&str; 20] = [
    "POST /admin/v1/agents",
    "POST /admin/v1/approvals/{id}/decision",
    "POST /admin/v1/backups",
    "POST /admin/v1/channels/{id}/dead-letters/replay",
    "POST /admin/v1/channels/{id}/dead-letters/{envelope}/{part}/discard",
    "POST /admin/v1/channels/{id}/disable",
    "POST /admin/v1/channels/{id}/enable",
    "POST /admin/v1/channels/{id}/queue/drain",
    "POST /admin/v1/channels/{id}/queue/pause",
    "POST /admin/v1/channels/{id}/queue/resume",
    "POST /admin/v1/events/verify",
    "POST /admin/v1/models/{name}/test",
    "POST /admin/v1/redact",
    "POST /admin/v1/router/preview",
    "POST /admin/v1/runs/{id}/abort",
    "POST /admin/v1/runs/{id}/pause",
    "POST /admin/v1/runs/{id}/resume",
    "POST /console/v1/acp",
    "POST /console/v1/login",
    "POST /console/v1/logout",
];

#[test]
fn every_request_that_makes_something_takes_a_key() {
    let api: serde_json::Value = serde_json::from_str(&description()).unwrap();
    let mut without = Vec::new();
    for (path, operations) in api["paths"].as_object().unwrap() {
        let Some(post) = operations.get("post") else { continue };
        let mut parameters = post["parameters"].as_array().into_iter().flatten();
        if !parameters.any(|parameter| parameter["name"] == "Idempotency-Key") {
            without.push(format!("POST {path}"));
        }
    }
    without.sort();
    assert_eq!(without, HARMLESS);
}

#[test]
fn what_is_no_key_is_refused() {
    let maker = Maker::new();
    let before = maker.tokens();
    for keys in [&[""][..], &["a b"], &["\u{17e}"], &[&"k".repeat(129)], &["a", "a"]] {
        let answer = maker.post("/admin/v1/tokens", keys, TOKEN);
        assert_eq!((answer.status, answer.code().as_str()), (400, "http/malformed"), "{keys:?}");
    }
    assert_eq!(maker.tokens(), before);
    assert_eq!(replayed(&maker.post("/admin/v1/tokens", &[&"~".repeat(128)], TOKEN)), None);
}
