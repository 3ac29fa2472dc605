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
