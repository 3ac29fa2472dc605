use serde_json::json;

use super::*;

fn check(default: Value, text: &str, expected: Value) {
    assert_eq!(typed(&option(default), text).unwrap(), expected);
}

fn option(default: Value) -> ConfigOption {
    ConfigOption {
        key: "a.b".into(),
        value: default.clone(),
        default,
        origin: "default".into(),
        env: "PALYRA_A_B".into(),
        live: true,
        doc: String::new(),
        next: None,
    }
}

#[test]
fn a_value_has_the_kind_of_the_default() {
    check(json!("10s"), "20", json!("20"));
    check(json!(false), "true", json!(true));
    check(json!(7), "8", json!(8));
    check(json!([]), "a, b,", json!(["a", "b"]));
    check(json!(null), "12", json!(12));
    check(json!(null), "plain", json!("plain"));
}

#[test]
fn a_wrong_value_is_refused_without_being_repeated() {
    for (default, text) in [(json!(false), "geheim"), (json!(7), "geheim")] {
        let Failure::Told(told) = typed(&option(default), text).unwrap_err() else { panic!() };
        assert!(!told.message().contains("geheim"), "{told}");
    }
}
