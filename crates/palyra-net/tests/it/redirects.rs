//! Redirects are followed by hand, each of them judged like the first request.

use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_net::{Grant, Hosts, NetConfig, NetError, Request};

use crate::server::{Server, ok, redirect};
use crate::world::{Names, code, get, guard, open, post, with_names};

#[tokio::test]
async fn redirects_lead_to_the_answer() {
    let server = Server::start(|asked, out| {
        let answer = match asked.path() {
            "/a" => redirect(301, "/b"),
            "/b" => redirect(302, "c?d=e#f"),
            "/c?d=e" => ok("found"),
            _ => redirect(302, "/lost"),
        };
        drop(out.write_all(answer.as_bytes()));
    });
    let answer = guard(open()).fetch(get(server.url("/a"))).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, &b"found"[..]));
    assert_eq!(answer.final_url, server.url("/c?d=e"));
}

#[tokio::test]
async fn circles_end_after_as_many_as_are_allowed() {
    let server = Server::answering(redirect(302, "/again"));
    let result = guard(open()).fetch(get(server.url("/"))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetRedirectRefused));
    assert_eq!(server.connections(), 6);
}

#[tokio::test]
async fn a_redirect_without_a_place_is_an_answer() {
    let server = Server::answering("HTTP/1.1 302 Found\r\ncontent-length: 2\r\n\r\nhm");
    let answer = guard(open()).fetch(get(server.url("/"))).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (302, &b"hm"[..]));
}

/// Both servers are on this machine, which is open under one name only. Whatever the first says,
/// nobody comes to the second.
#[tokio::test]
async fn no_redirect_leads_to_what_is_not_open() {
    let inside = Server::answering(ok("secret"));
    let port = inside.port();
    for place in [
        format!("http://127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f000001:{port}/"),
        format!("http://0177.0.0.1:{port}/"),
        format!("http://0.0.0.0:{port}/"),
        format!("http://0:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::127.0.0.1]:{port}/"),
        format!("http://[64:ff9b::127.0.0.1]:{port}/"),
        format!("http://inside.example:{port}/"),
        format!("http://mixed.example:{port}/"),
        format!("http://localhost:{port}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://[fd00:ec2::254]/".into(),
        "http://metadata.google.internal/".into(),
    ] {
        let names = Names::default()
            .with("open.example", &[&["127.0.0.1"]])
            .with("inside.example", &[&["127.0.0.1"]])
            .with("localhost", &[&["127.0.0.1", "::1"]])
            .with("mixed.example", &[&["1.1.1.1", "127.0.0.1"]])
            .with("metadata.google.internal", &[&["169.254.169.254"]]);
        let config = NetConfig { allow: vec!["open.example".into()], ..NetConfig::default() };
        let server = Server::answering(redirect(302, &place));
        let url = format!("http://open.example:{}/", server.port());
        let result = with_names(config, &Arc::new(names)).fetch(get(url)).await;
        assert_eq!(code(&result), Some(ErrorCode::NetAddressRefused), "{place}: {result:?}");
        let error = result.unwrap_err();
        let from = format!("open.example:{}", server.port());
        assert!(matches!(&error, NetError::AfterRedirect { from: at, .. } if *at == from));
        assert!(error.was_sent());
    }
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn no_redirect_leads_away_from_what_was_granted() {
    let other = Server::answering(ok("elsewhere"));
    let names = Names::default()
        .with("here.example", &[&["127.0.0.1"]])
        .with("there.example", &[&["127.0.0.1"]]);
    let place = format!("http://there.example:{}/", other.port());
    let server = Server::answering(redirect(307, &place));
    let only = Hosts::Only(vec!["here.example".parse().unwrap()]);
    let url = format!("http://here.example:{}/", server.port());
    let request = Request { grant: Grant { hosts: only, ..get("").grant }, ..get(url) };
    let result = with_names(open(), &Arc::new(names)).fetch(request).await;
    assert_eq!(code(&result), Some(ErrorCode::NetHostNotGranted));
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn what_was_meant_for_one_origin_does_not_reach_another() {
    let other = Server::answering(ok("thanks"));
    let place = other.url("/");
    let server = Server::start(move |asked, out| {
        let answer = match asked.path() {
            "/same" => redirect(307, "/away"),
            _ => redirect(307, &place),
        };
        drop(out.write_all(answer.as_bytes()));
    });
    let mut request = post(server.url("/same"), "body");
    request.headers = vec![
        ("Authorization".into(), "Bearer geheim".into()),
        ("X-Api-Key".into(), "geheim".into()),
        ("Content-Type".into(), "text/plain".into()),
    ];
    guard(open()).fetch(request).await.unwrap();
    let [first, second] = &server.asked()[..] else { panic!("{:?}", server.asked()) };
    for asked in [first, second] {
        assert_eq!(asked.header("authorization"), Some("Bearer geheim"));
    }
    let [last] = &other.asked()[..] else { panic!("{:?}", other.asked()) };
    assert_eq!((last.line.as_str(), &last.body[..]), ("POST / HTTP/1.1", &b"body"[..]));
    assert_eq!(last.header("content-type"), Some("text/plain"));
    assert!(!format!("{last:?}").contains("geheim"), "{last:?}");
}

#[tokio::test]
async fn a_post_that_is_to_see_other_becomes_a_get() {
    for (status, line, body) in [
        (301, "GET /next HTTP/1.1", ""),
        (302, "GET /next HTTP/1.1", ""),
        (303, "GET /next HTTP/1.1", ""),
        (307, "POST /next HTTP/1.1", "body"),
        (308, "POST /next HTTP/1.1", "body"),
    ] {
        let server = Server::start(move |asked, out| {
            let answer = if asked.path() == "/next" { ok("") } else { redirect(status, "/next") };
            drop(out.write_all(answer.as_bytes()));
        });
        guard(open()).fetch(post(server.url("/"), "body")).await.unwrap();
        let [_, second] = &server.asked()[..] else { panic!("{:?}", server.asked()) };
        assert_eq!((second.line.as_str(), &second.body[..]), (line, body.as_bytes()), "{status}");
    }
}
