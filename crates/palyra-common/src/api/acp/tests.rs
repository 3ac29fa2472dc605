use serde_json::json;

use super::*;

fn read(json: Value) -> Result<AcpCommandEnvelope, String> {
    let read: AcpCommandEnvelope =
        serde_json::from_value(json).map_err(|error| error.to_string())?;
    read.check().map_err(|error| error.message().to_owned())?;
    Ok(read)
}

fn check(name: &str, value: Value, refused: Option<&str>) {
    let mut envelope = json!({ "v": 1, "request_id": "r", "command": "session.new" });
    envelope[name] = value;
    match (read(envelope), refused) {
        (Ok(_), None) => {}
        (Err(what), Some(expected)) => assert!(what.contains(expected), "{name}: {what}"),
        (read, expected) => panic!("{name}: {read:?}, and not {expected:?}"),
    }
}

#[test]
fn an_envelope_is_read_as_far_as_it_is_one() {
    check("request_id", json!("r-1"), None);
    check("request_id", json!("~".repeat(128)), None);
    check("idempotency_key", json!("k"), None);
    check("idempotency_key", json!(null), None);
    check("expected_version", json!(0), None);
    check("params", json!({ "a": [1] }), None);

    check("v", json!(2), Some("v: there is version 1"));
    for (name, most) in [("request_id", 128), ("command", 64), ("idempotency_key", 128)] {
        let what = format!("{name} is one of 1 to {most} visible ASCII characters");
        for word in ["", "a b", "ž", "a\n", &"k".repeat(most + 1)] {
            check(name, json!(word), Some(&what));
        }
    }
    check("expected_version", json!(-1), Some("expected_version is not below 0"));
    check("params", json!([]), Some("expected a map"));
    check("params", json!(null), Some("expected a map"));
    for claimed in ["scopes", "principal", "role"] {
        check(claimed, json!("owner"), Some("unknown field"));
    }
}
