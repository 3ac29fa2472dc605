use serde_json::{Value, json};

use super::Credential;

const ID: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0D";

#[test]
fn is_read_as_it_is_written() {
    for text in ["local", &format!("token:{ID}"), &format!("login:{ID}")] {
        let credential: Credential = text.parse().unwrap();
        assert_eq!(credential.to_string(), text);
        assert_eq!(serde_json::to_value(credential).unwrap(), json!(text));
        assert_eq!(serde_json::from_value::<Credential>(json!(text)).unwrap(), credential);
    }
    for text in ["", "Local", "token", "token:", "token:x", &format!("code:{ID}"), "local:"] {
        assert!(text.parse::<Credential>().is_err(), "{text:?}");
    }
}

#[test]
fn is_noted_beside_what_else_there_is() {
    let noted = |detail| Credential::LocalOwner.noted_in(detail);
    assert_eq!(noted(Value::Null), json!({ "credential": "local" }));
    assert_eq!(noted(json!({ "a": 1 })), json!({ "a": 1, "credential": "local" }));
}
