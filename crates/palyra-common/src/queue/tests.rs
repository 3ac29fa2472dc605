use serde_json::{Value, json};

use super::*;

fn read(queue: Value) -> Result<QueueSettings, String> {
    serde_json::from_value(queue).map_err(|error| error.to_string())
}

#[test]
fn what_is_not_said_is_as_usual() {
    assert_eq!(read(json!({})), Ok(QueueSettings::default()));
    assert_eq!(read(json!({ "lanes": 2.0 })).map(|queue| queue.lanes), Ok(2));
    assert_eq!(QueueSettings::default().check(), Ok(()));
}

#[test]
fn only_objects_with_known_fields_are_read() {
    for queue in [
        json!({ "lane": 2 }),
        json!({ "lanes": 1.5 }),
        json!({ "lanes": -1 }),
        json!({ "lanes": null }),
        json!({ "backoff": null }),
        json!({ "backoff": ["1s", "5m"] }),
        json!({ "backoff": { "base": "1s" } }),
        json!({ "backoff": { "base": "1s", "cap": "5m", "jitter": true } }),
    ] {
        assert!(read(queue.clone()).is_err(), "{queue}");
    }
}

#[test]
fn bounds_are_named() {
    for (queue, field) in [
        (json!({ "max_attempts": 0 }), "max_attempts"),
        (json!({ "max_attempts": 101 }), "max_attempts"),
        (json!({ "lanes": 1_025 }), "lanes"),
        (json!({ "max_waiting": 1_000_001 }), "max_waiting"),
        (json!({ "max_looks": 101 }), "max_looks"),
        (json!({ "expires_after": "0s" }), "expires_after"),
        (json!({ "attempt_timeout": "9ms" }), "attempt_timeout"),
        (json!({ "look_after": "25h" }), "look_after"),
        (json!({ "max_looks": 13 }), "max_looks"),
        (json!({ "look_after": "36s" }), "look_after"),
        (json!({ "attempt_timeout": "36s" }), "attempt_timeout"),
        // It is asked once at least.
        (json!({ "max_looks": 0, "attempt_timeout": "2m" }), "attempt_timeout"),
        (json!({ "backoff": { "base": "1s", "cap": "25h" } }), "backoff"),
    ] {
        let told = read(queue.clone()).unwrap().check().unwrap_err();
        assert!(told.contains(field), "{queue}: {told}");
    }
}

#[test]
fn what_is_unknown_holds_its_conversation_for_two_minutes_at_most() {
    for queue in [
        json!({ "max_looks": 12 }),
        json!({ "max_looks": 0, "attempt_timeout": "115s" }),
        json!({ "max_looks": 1, "look_after": "60s", "attempt_timeout": "60s" }),
        json!({ "max_looks": 2, "look_after": "0s", "attempt_timeout": "60s" }),
    ] {
        assert_eq!(read(queue.clone()).unwrap().check(), Ok(()), "{queue}");
    }
    let told = read(json!({ "look_after": "40s" })).unwrap().check().unwrap_err();
    assert_eq!(
        told,
        "max_looks times look_after and attempt_timeout is 2m at most, because a conversation waits \
         for that long, and not 135s"
    );
}
