use serde_json::{Value, json};

use super::*;

/// What is said of stopping a daemon that tells this of its vault and of what it waits for.
fn refusal(vault: &Value, waiting_for: &[&str]) -> Option<String> {
    let status = json!({
        "version": "1", "node": "01M7JB0YZJ5Z2X9EZKQR0MBBXY", "pid": 7, "started_at": 0,
        "profile": "local", "data_dir": "/x", "engine": "postgres", "schema": 10,
        "http": "", "grpc": "", "has_owner": true,
        "vault": vault, "ready": waiting_for.is_empty(), "waiting_for": waiting_for,
    });
    let status: Status = serde_json::from_value(status).unwrap();
    match respect_of(&status, "With --yes it is") {
        Ok(()) => None,
        Err(Failure::Told(told)) => Some(told.to_string()),
        Err(other) => panic!("{other:?}"),
    }
}

fn problem(code: &str) -> Value {
    json!({ "code": code, "message": "m", "recovery_hint": "h", "retryable": false })
}

#[test]
fn a_daemon_is_stopped_only_if_its_key_is_elsewhere() {
    let source = "the key file";
    let fine = json!({ "key_source": source, "key_id": "k" });
    let no_secret = json!({ "key_source": source });
    let elsewhere = json!({ "key_source": source, "problem": problem("storage/unavailable") });
    for vault in [&fine, &no_secret, &elsewhere] {
        assert_eq!(refusal(vault, &[]), None, "{vault}");
    }
    for vault in [&fine, &elsewhere] {
        assert_eq!(refusal(vault, &["leases", "database"]), None, "{vault}");
    }
    // As one says that did not look.
    let told = refusal(&no_secret, &["leases", "database"]).unwrap();
    assert!(told.contains("its database is away"), "{told}");
    assert!(told.contains("With --yes it is"), "{told}");
    let alone = json!({ "key_source": source, "problem": problem("vault/key_only_in_memory") });
    let slow = json!({ "key_source": source, "key_id": "k", "doubt": "it hangs" });
    for waiting_for in [&[][..], &["database"]] {
        assert!(refusal(&alone, waiting_for).unwrap().contains("would be lost: m"));
        assert!(refusal(&slow, waiting_for).unwrap().contains("may be lost with it: it hangs"));
    }
}
