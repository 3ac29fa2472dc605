//! A change that is sent twice with one `Idempotency-Key` is made once.

use crate::daemon::{Answer, Daemon};

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
        let keys: Vec<_> = keys.iter().map(|key| format!("Idempotency-Key: {key}")).collect();
        let mut headers = vec![self.bearer.as_str(), JSON];
        headers.extend(keys.iter().map(String::as_str));
        self.daemon.tcp("POST", path, &headers, body)
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
