//! What is sent and what comes back.

use std::net::{Ipv4Addr, TcpListener};

use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::RetryClass;
use palyra_net::{Grant, Hosts, Method, Request};

use crate::server::{Server, ok, redirect, wait_for_the_end};
use crate::world::{PATIENCE, SHORT, code, get, guard, open, post, within};

#[tokio::test]
async fn an_answer_comes_back_whole() {
    let server = Server::answering(
        "HTTP/1.1 404 Not Found\r\nX-One: 1\r\nx-bytes: \u{fc}\r\ncontent-length: 5\r\n\r\nhello",
    );
    let answer = guard(open()).fetch(get(server.url("/a?b=c#d"))).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (404, &b"hello"[..]));
    assert_eq!(answer.final_url, server.url("/a?b=c"));
    assert_eq!(answer.header("x-ONE"), Some("1"));
    assert_eq!(answer.header("x-two"), None);
}

#[tokio::test]
async fn nothing_is_said_that_the_caller_did_not_say() {
    let server = Server::answering(ok(""));
    let mut request = post(server.url("/"), "body");
    request.headers = vec![("X-Own".into(), "1".into())];
    guard(open()).fetch(request).await.unwrap();
    let [asked] = &server.asked()[..] else { panic!("asked more than once") };
    assert_eq!(asked.line, "POST / HTTP/1.1");
    assert_eq!(asked.body, b"body");
    let mut names: Vec<&str> = asked.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["accept", "accept-encoding", "content-length", "host", "user-agent", "x-own"]
    );
    assert_eq!(asked.header("accept-encoding"), Some("gzip"));
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_however_it_would_be_packed() {
    let server = Server::answering(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 900\r\n\r\n",
    );
    let request = Request { method: Method::Head, ..get(server.url("/")) };
    let answer = guard(open()).fetch(request).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
}

#[tokio::test]
async fn each_request_has_a_connection_of_its_own() {
    let server = Server::answering(ok("again"));
    let guard = guard(open());
    for _ in 0..3 {
        guard.fetch(get(server.url("/"))).await.unwrap();
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn what_may_not_be_sent_is_not() {
    let server = Server::answering(ok(""));
    let guard = guard(open());
    let mut cookie = get(server.url("/"));
    cookie.headers = vec![("Cookie".into(), "login=geheim".into())];
    let with_body = Request { method: Method::Get, ..post(server.url("/"), "body") };
    let elsewhere = Request {
        grant: Grant {
            hosts: Hosts::Only(vec!["other.example".parse().unwrap()]),
            ..get("").grant
        },
        ..get(server.url("/"))
    };
    for (request, expected) in [
        (cookie, ErrorCode::NetRequestRefused),
        (with_body, ErrorCode::NetRequestRefused),
        (elsewhere, ErrorCode::NetHostNotGranted),
    ] {
        let result = guard.fetch(request).await;
        assert_eq!(code(&result), Some(expected));
        assert!(!result.unwrap_err().was_sent());
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_is_not_http_is_no_answer() {
    for (answer, expected) in [
        ("220 mail.example ESMTP\r\n", ErrorCode::NetBadAnswer),
        ("HTTP/1.1 200 OK\r\nbad header\r\n\r\n", ErrorCode::NetBadAnswer),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\nx", ErrorCode::NetBadAnswer),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip, gzip\r\n\r\nx", ErrorCode::NetBadAnswer),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nx", ErrorCode::NetBadAnswer),
        ("", ErrorCode::NetBrokeOff),
        ("HTTP/1.1 200 OK\r\ncontent-le", ErrorCode::NetBrokeOff),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", ErrorCode::NetBrokeOff),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", ErrorCode::NetBrokeOff),
    ] {
        let server = Server::answering(answer);
        let result = guard(open()).fetch(get(server.url("/?q=geheim"))).await;
        assert_eq!(code(&result), Some(expected), "{answer:?}: {result:?}");
        let error = result.unwrap_err();
        assert!(error.was_sent(), "{answer:?}");
        assert!(!format!("{error} {error:?}").contains("geheim"), "{error}");
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_has_sent_nothing() {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let result = guard(open()).fetch(post(format!("http://{gone}/?q=geheim"), "x")).await;
    assert_eq!(code(&result), Some(ErrorCode::NetUnreachable), "{result:?}");
    let error = result.unwrap_err();
    assert!(!error.was_sent());
    assert!(!error.to_string().contains("geheim"), "{error}");
}

#[tokio::test]
async fn a_dropped_request_ends_its_connection() {
    let (ended, end) = std::sync::mpsc::channel();
    let (began, begin) = tokio::sync::oneshot::channel();
    let began = std::sync::Mutex::new(Some(began));
    let server = Server::start(move |_, out| {
        let _ = began.lock().unwrap().take().unwrap().send(());
        wait_for_the_end(out);
        ended.send(()).unwrap();
    });
    let url = server.url("/");
    let guard = guard(open());
    tokio::select! {
        answer = guard.fetch(get(url)) => panic!("{answer:?}"),
        told = begin => told.unwrap(),
    }
    tokio::task::spawn_blocking(move || end.recv().unwrap()).await.unwrap();
}

/// A GET can be made again, a POST could be done twice.
#[tokio::test]
async fn a_post_without_an_answer_has_an_unknown_outcome() {
    let ended = Server::answering("");
    let silent = Server::start(|_, out| wait_for_the_end(out));
    let place = ended.url("/");
    let moved = Server::start(move |_, out| drop(out.write_all(redirect(303, &place).as_bytes())));
    for (server, read) in [
        (&ended, ErrorCode::NetBrokeOff),
        (&silent, ErrorCode::NetTimeout),
        (&moved, ErrorCode::NetBrokeOff),
    ] {
        let time = if read == ErrorCode::NetTimeout { SHORT } else { PATIENCE };
        let guard = guard(open());
        let result = guard.fetch(within(time, get(server.url("/")))).await;
        assert_eq!(code(&result), Some(read), "{result:?}");
        let result = guard.fetch(within(time, post(server.url("/"), "pay"))).await;
        assert_eq!(code(&result), Some(ErrorCode::NetOutcomeUnknown), "{result:?}");
        assert_eq!(result.unwrap_err().retry_class(), RetryClass::Permanent);
    }
}
