use super::*;

fn check(name: &str, value: &str) -> Result<HeaderMap, NetError> {
    checked(&[(name.to_owned(), value.to_owned())])
}

#[test]
fn what_is_about_the_content_is_for_callers() {
    for name in ["Accept", "Authorization", "Content-Type", "Range", "User-Agent", "X-Api-Key"] {
        assert_eq!(check(name, "value").unwrap().len(), 1, "{name}");
    }
}

#[test]
fn what_is_about_the_connection_is_not() {
    for name in OURS.iter().copied().chain(["Host", "COOKIE", "Proxy-Authorization"]) {
        let error = check(name, "geheim").unwrap_err().to_string();
        assert!(error.contains(&name.to_ascii_lowercase()), "{error}");
        assert!(!error.contains("geheim"), "{error}");
    }
}

#[test]
fn what_would_break_out_of_a_header_is_refused() {
    for (name, value) in [
        ("a b", "x"),
        ("", "x"),
        ("a:", "x"),
        ("a\r\nhost", "x"),
        ("x-a", "geheim\r\nHost: evil"),
        ("x-a", "geheim\0"),
        ("x-a", "geheim\n"),
    ] {
        let error = check(name, value).unwrap_err().to_string();
        assert!(!error.contains("geheim"), "{error}");
    }
}

#[test]
fn there_are_not_endless_headers() {
    let header = |at: usize| (format!("x-{at}"), "v".to_owned());
    let many: Vec<_> = (0..MAX_HEADERS).map(header).collect();
    assert!(checked(&many).is_ok());
    let more: Vec<_> = (0..=MAX_HEADERS).map(header).collect();
    assert!(checked(&more).is_err());
    assert!(check("x-a", &"v".repeat(MAX_REQUEST_HEADERS)).is_err());
}

#[test]
fn values_do_not_print_themselves() {
    let headers = check("authorization", "geheim").unwrap();
    assert!(!format!("{headers:?}").contains("geheim"));
}
