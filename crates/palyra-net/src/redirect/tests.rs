use reqwest::header::HeaderValue;

use super::*;
use crate::error::Flaw;

const HERE: &str = "https://example.org/a/b?c";

fn hop(method: Method) -> Hop {
    let mut headers = HeaderMap::new();
    for name in ["authorization", "x-own", "content-type"] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("v"));
    }
    let body = (method == Method::Post).then(|| Bytes::from_static(b"body"));
    Hop { target: Target::parse(HERE).unwrap(), method, headers, body }
}

fn after(method: Method, status: u16, location: &str) -> Result<Hop, NetError> {
    next(hop(method), Status::of(status).unwrap(), location.as_bytes())
}

#[test]
fn methods_and_bodies_change_as_the_status_says() {
    use Method::*;
    for (status, method, then, with_body) in [
        (301, Get, Get, false),
        (301, Head, Head, false),
        (301, Post, Get, false),
        (302, Get, Get, false),
        (302, Head, Head, false),
        (302, Post, Get, false),
        (303, Get, Get, false),
        (303, Head, Head, false),
        (303, Post, Get, false),
        (307, Get, Get, false),
        (307, Head, Head, false),
        (307, Post, Post, true),
        (308, Get, Get, false),
        (308, Head, Head, false),
        (308, Post, Post, true),
    ] {
        let next = after(method, status, "/next").unwrap();
        assert_eq!((next.method, next.body.is_some()), (then, with_body), "{status} {method:?}");
        if method == Post {
            assert_eq!(next.headers.contains_key(CONTENT_TYPE), with_body, "{status}");
        }
    }
}

#[test]
fn other_statuses_are_answers() {
    for status in [200, 204, 300, 304, 305, 306, 400, 401, 500] {
        assert_eq!(Status::of(status), None, "{status}");
    }
}

#[test]
fn headers_of_the_caller_stay_with_the_origin() {
    for (location, headers) in [
        ("/next", &["authorization", "content-type", "x-own"][..]),
        ("https://example.org:443/", &["authorization", "content-type", "x-own"]),
        ("https://example.org:8443/", &["content-type"]),
        ("https://www.example.org/", &["content-type"]),
        ("//evil.example/", &["content-type"]),
    ] {
        let next = after(Method::Post, 307, location).unwrap();
        let mut names: Vec<&str> = next.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, headers, "{location}");
    }
    let next = after(Method::Post, 303, "//evil.example/").unwrap();
    assert!(next.headers.is_empty());
}

#[test]
fn a_location_is_read_from_where_it_was_given() {
    for (location, url) in [
        ("next", "https://example.org/a/next"),
        ("?d", "https://example.org/a/b?d"),
        (" /spaced ", "https://example.org/spaced"),
        ("", "https://example.org/a/b?c"),
        ("#part", "https://example.org/a/b?c"),
        ("//b.example/ü", "https://b.example/%C3%BC"),
    ] {
        assert_eq!(after(Method::Get, 302, location).unwrap().target.url().as_str(), url);
    }
}

#[test]
fn what_is_no_way_on_is_refused() {
    for (location, flaw) in [
        ("http://example.org/", RedirectFlaw::Downgrade),
        ("http://other.example/", RedirectFlaw::Downgrade),
        ("file:///etc/passwd", RedirectFlaw::Url(Flaw::Scheme)),
        ("javascript:alert(1)", RedirectFlaw::Url(Flaw::Scheme)),
        ("https://user:geheim@example.org/", RedirectFlaw::Url(Flaw::Credentials)),
        ("https://exa mple.org/", RedirectFlaw::Url(Flaw::Unreadable)),
        ("\\\\evil.example/", RedirectFlaw::Url(Flaw::Unreadable)),
    ] {
        let Err(error) = after(Method::Get, 302, location) else {
            panic!("{location} is followed")
        };
        let at = "example.org:443".to_owned();
        assert_eq!(error, NetError::Redirect { at, flaw }, "{location}");
        assert!(!error.to_string().contains("geheim"), "{error}");
    }
}
