use super::*;

fn depth_is_accepted(json: &str, limit: u32) -> bool {
    check_depth(json.as_bytes(), limit).is_ok()
}

#[test]
fn brackets_inside_of_texts_do_not_count() {
    assert!(depth_is_accepted(r#"{"a": "[[[[\"[[["}"#, 1));
    assert!(depth_is_accepted(r#"[[1], {"a": 2}]"#, 2));
    assert!(!depth_is_accepted("[[1]]", 1));
    assert!(!depth_is_accepted(&"[".repeat(1_000_000), 128));
}

#[test]
fn parameters_of_the_media_type_do_not_matter() {
    assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
    assert!(!is_json("application/jsonp") && !is_json("text/plain"));
}

#[test]
fn a_refusal_names_the_field_and_not_what_it_holds() {
    #[derive(Debug, serde::Deserialize)]
    struct Outer {
        #[expect(dead_code)]
        inner: std::collections::BTreeMap<String, u32>,
        #[expect(dead_code)]
        word: Option<Word>,
    }
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        Yes,
        No,
    }
    for (json, told) in [
        (r#"{"inner": {"a": "hunter2"}}"#, "the body: inner.a: invalid type, expected u32"),
        (
            r#"{"inner": {"a": "x, expected hunter2"}}"#,
            "the body: inner.a: invalid type, expected u32",
        ),
        (
            r#"{"inner": {}, "word": "x`, expected hunter2"}"#,
            "the body: word: unknown variant, expected `yes` or `no`",
        ),
        (r#"{}"#, "the body: missing field `inner`"),
        (r#"{"inner": {}} x"#, "the body: trailing characters"),
    ] {
        let refusal = parse::<Outer>(json.as_bytes()).unwrap_err();
        let message = refusal.envelope().message().to_owned();
        assert!(message.starts_with(told), "{message}");
    }
}
