use palyra_common::runtime_contracts::Trust;
use serde_json::json;

use super::*;
use crate::tools::bench::{World, call};

const URL: &str = "https://example.org/a?b=c#d";

fn page(kind: Option<&str>, body: impl Into<Bytes>) -> Fetched {
    let (final_url, content_type) =
        ("https://example.org/".to_owned(), kind.map(ToOwned::to_owned));
    Fetched { status: 200, final_url, content_type, body: body.into(), truncated: false }
}

/// What a model is told about an answer.
async fn check(fetched: Fetched, more: serde_json::Value) -> String {
    let world = World::new().await;
    *world.web.answer.lock().unwrap() = Some(Ok(fetched));
    let mut arguments = json!({"url": URL});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let done = world.make("http.fetch", call(arguments)).await.unwrap();
    assert_eq!(done.trust, Trust::Untrusted);
    done.content
}

#[tokio::test]
async fn a_page_is_given_as_text() {
    let html = "<html><title>Hi</title><body><p>One &amp; <a href='/two'>two</a></p></body>";
    let told = check(page(Some("text/html; charset=utf-8"), html), json!({})).await;
    assert_eq!(
        told,
        "200 https://example.org/ (text/html; charset=utf-8)\n\nHi\n\nOne & two (/two)"
    );
    let raw = check(page(Some("text/html"), html), json!({"raw": true})).await;
    assert!(raw.ends_with(html), "{raw}");
}

#[tokio::test]
async fn a_status_is_told_whatever_it_is() {
    let gone = Fetched { status: 404, ..page(Some("text/plain"), "gone") };
    assert_eq!(check(gone, json!({})).await, "404 https://example.org/ (text/plain)\n\ngone");
}

#[tokio::test]
async fn a_head_has_no_content() {
    let told = check(page(Some("image/png"), ""), json!({"head": true})).await;
    assert_eq!(told, "200 https://example.org/ (image/png)");
}

#[tokio::test]
async fn what_is_no_text_is_described() {
    let png: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";
    for kind in [Some("image/png"), Some("text/plain"), None, Some("application/octet-stream")] {
        let told = check(page(kind, png), json!({})).await;
        assert!(told.contains("not shown: 10 bytes, SHA-256 "), "{told}");
        assert!(!told.contains("PNG"), "{told}");
    }
}

#[tokio::test]
async fn other_texts_are_given_as_they_are() {
    for (kind, body, expected) in [
        (Some("application/json"), &b"{\"a\": 1}"[..], "{\"a\": 1}"),
        (Some("application/problem+json"), b"{}", "{}"),
        (Some("text/plain; charset=ISO-8859-1"), b"caf\xe9", "café"),
        (Some("text/plain"), b"caf\xe9", "caf\u{fffd}"),
        (None, b"plain", "plain"),
    ] {
        let told = check(page(kind, Bytes::from_static(body)), json!({})).await;
        assert_eq!(told.split_once("\n\n").unwrap().1, expected);
    }
}

#[tokio::test]
async fn what_is_too_long_is_cut_and_says_so() {
    let told = check(page(Some("text/plain"), "ż".repeat(MAX_BYTES)), json!({})).await;
    assert!(told.len() < MAX_TEXT + 200 && told.ends_with("[there is more, which was not read]"));
    let bomb = "<p>".repeat(MAX_BYTES / 3) + &"x".repeat(100);
    assert!(check(page(Some("text/html"), bomb), json!({})).await.len() < MAX_TEXT + 200);
}

#[tokio::test]
async fn why_there_is_no_answer_is_told() {
    let world = World::new().await;
    world.refused("http.fetch", call(json!({"url": URL})), "no such host").await;
    assert_eq!(*world.web.asked.lock().unwrap(), [(FetchMethod::Get, URL.to_owned())]);
}

#[tokio::test]
async fn only_plain_addresses_of_the_web_are_fetched() {
    let world = World::new().await;
    for url in [
        "file:///etc/passwd",
        "ftp://example.org/",
        "javascript:alert(1)",
        "example.org/page",
        "//example.org/page",
        "https:///etc/passwd",
        "https://",
        "http://user:secret@example.org/",
        "http://example.org\\@evil.example/ x",
        "http://evil@example.org",
        "https://example.org/\r\nHost: x",
        "https://example.org/\u{202e}",
        "https://exa mple.org/",
        "gopher+http://example.org",
    ] {
        let call = call(json!({"url": url}));
        assert!(world.weigh("http.fetch", &call).await.is_err(), "{url}");
        assert!(world.tools.get("http.fetch").unwrap().run(&call).await.is_err(), "{url}");
    }
    assert!(world.web.asked.lock().unwrap().is_empty());
    let long = call(json!({"url": format!("https://example.org/{}", "a".repeat(3_000))}));
    assert!(world.weigh("http.fetch", &long).await.is_err());
    for url in ["HTTP://EXAMPLE.ORG", "https://[::1]:8080/", "http://2130706433/", URL] {
        // Where they lead to is looked at by whoever goes there.
        assert!(world.weigh("http.fetch", &call(json!({"url": url}))).await.is_ok(), "{url}");
    }
}

#[tokio::test]
async fn a_question_shows_the_whole_address() {
    let world = World::new().await;
    let url = format!("https://example.org/?q={}", "a".repeat(1_900));
    let weighed = world.weigh("http.fetch", &call(json!({"url": &url}))).await.unwrap();
    assert_eq!(weighed.summary, format!("fetch {url}"));
}
