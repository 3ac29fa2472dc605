//! Nothing that a server does takes more time or memory than was granted.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_net::{Grant, NetConfig, Request};

use crate::server::{Connection, Server, ok, redirect, wait_for_the_end};
use crate::world::{SHORT, code, get, guard, open, post, within};

/// Much shorter than what is allowed.
const STEP: std::time::Duration = std::time::Duration::from_millis(10);

fn up_to(max_bytes: u64, request: Request) -> Request {
    let grant = Grant { max_bytes, ..request.grant.clone() };
    Request { grant, ..request }
}

#[tokio::test]
async fn headers_that_never_come_end_with_the_time() {
    let server = Server::start(|_, out| wait_for_the_end(out));
    let result = guard(open()).fetch(within(SHORT, get(server.url("/")))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTimeout));
    assert!(result.unwrap_err().was_sent());
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_ends_with_the_time() {
    let server = Server::start(|_, out| {
        let _ = out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
        wait_for_the_end(out);
    });
    let result = guard(open()).fetch(within(SHORT, get(server.url("/")))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTimeout));
}

/// Each byte comes soon enough by itself: the time is that of all.
#[tokio::test]
async fn time_is_not_begun_anew_by_a_byte() {
    let dripping = Server::start(|_, out| {
        let mut alive = out.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_ok();
        while alive {
            alive = out.write_all(b".").and_then(|()| out.flush()).is_ok();
            std::thread::sleep(STEP);
        }
    });
    let result = guard(open()).fetch(within(SHORT, get(dripping.url("/")))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTimeout));
}

/// So does each redirect. There are more than fit into the time, and fewer than are allowed.
#[tokio::test]
async fn time_is_not_begun_anew_by_a_redirect() {
    let server = Server::start(|_, out| {
        std::thread::sleep(3 * STEP);
        drop(out.write_all(redirect(302, "/again").as_bytes()));
    });
    let config = NetConfig { max_redirects: 20, ..open() };
    let result = guard(config).fetch(within(SHORT, get(server.url("/")))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTimeout), "{result:?}");
}

#[tokio::test]
async fn the_configuration_limits_what_is_granted() {
    let silent = Server::start(|_, out| wait_for_the_end(out));
    let config = NetConfig { max_time: SHORT, max_bytes: 3, ..open() };
    let result = guard(config.clone()).fetch(get(silent.url("/"))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTimeout));
    let four = Server::answering(ok("four"));
    // Its time may be over first on a slow machine, so it has more.
    let config = NetConfig { max_time: Duration::from_mins(2), ..config };
    let result = guard(config).fetch(get(four.url("/"))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTooLarge));
}

#[tokio::test]
async fn a_body_that_is_announced_as_too_large_is_not_read() {
    let server = Server::start(|_, out| {
        let _ = out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n");
        wait_for_the_end(out);
    });
    let result = guard(open()).fetch(up_to(1_000, get(server.url("/")))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTooLarge));
}

#[tokio::test]
async fn an_endless_body_ends_at_the_limit() {
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffff\r\n",
    ] {
        let sent = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&sent);
        let server = Server::start(move |_, out| {
            let _ = out.write_all(head.as_bytes());
            while out.write_all(&[b'x'; 8 << 10]).is_ok() {
                count.fetch_add(8 << 10, Ordering::SeqCst);
            }
        });
        let result = guard(open()).fetch(up_to(100_000, get(server.url("/")))).await;
        assert_eq!(code(&result), Some(ErrorCode::NetTooLarge), "{result:?}");
        assert!(sent.load(Ordering::SeqCst) > 0);
    }
}

#[tokio::test]
async fn a_small_answer_that_unpacks_to_a_large_one_is_stopped() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        encoder.write_all(&[0; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100_000);
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length";
    let answer = [format!("{head}: {}\r\n\r\n", bomb.len()).as_bytes(), &bomb[..]].concat();
    let server = Server::answering(answer);
    let result = guard(open()).fetch(up_to(1 << 20, get(server.url("/")))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTooLarge));
}

#[tokio::test]
async fn what_is_packed_is_unpacked_and_told_as_unpacked() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&b"hello ".repeat(1_000)).unwrap();
    let packed = encoder.finish().unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\ncontent-length";
    let answer = [format!("{head}: {}\r\n\r\n", packed.len()).as_bytes(), &packed[..]].concat();
    let server = Server::answering(answer);
    let answer = guard(open()).fetch(get(server.url("/"))).await.unwrap();
    assert_eq!(answer.body, b"hello ".repeat(1_000));
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.header("content-length"), None);
}

#[tokio::test]
async fn large_headers_are_refused() {
    let long = format!("HTTP/1.1 200 OK\r\nx-a: {}\r\n\r\n", "a".repeat(3_000));
    let server = Server::answering(long);
    let config = NetConfig { max_header_bytes: 2_048, ..open() };
    let result = guard(config).fetch(get(server.url("/"))).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTooLarge));
    assert_eq!(guard(open()).fetch(get(server.url("/"))).await.unwrap().status, 200);
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    fn endless(out: &mut dyn Connection, line: &[u8]) {
        let _ = out.write_all(b"HTTP/1.1 200 OK\r\n");
        while out.write_all(line).is_ok() {}
    }
    let many = Server::start(|_, out| endless(out, b"x-a: a\r\n"));
    let long = Server::start(|_, out| endless(out, &[b'a'; 1 << 10]));
    for server in [many, long] {
        let result = guard(open()).fetch(get(server.url("/"))).await;
        assert_eq!(code(&result), Some(ErrorCode::NetBadAnswer), "{result:?}");
    }
}

#[tokio::test]
async fn a_redirect_with_a_large_body_is_followed_without_reading_it() {
    let server = Server::start(|asked, out| match asked.path() {
        "/" => {
            let _ = out.write_all(b"HTTP/1.1 302 Found\r\nlocation: /next\r\n\r\n");
            while out.write_all(&[b'x'; 8 << 10]).is_ok() {}
        }
        _ => drop(out.write_all(ok("here").as_bytes())),
    });
    let answer = guard(open()).fetch(up_to(10, get(server.url("/")))).await.unwrap();
    assert_eq!(answer.body, "here");
}

#[tokio::test]
async fn a_large_request_is_not_sent() {
    let server = Server::answering(ok(""));
    let config = NetConfig { max_request_bytes: 3, ..open() };
    let result = guard(config).fetch(post(server.url("/"), "four")).await;
    assert_eq!(code(&result), Some(ErrorCode::NetRequestRefused));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn who_finds_no_room_waits_no_longer_than_allowed() {
    let server = Server::start(|_, out| wait_for_the_end(out));
    let guard = guard(NetConfig { max_at_once: 1, ..open() });
    let first = guard.fetch(get(server.url("/")));
    let second = async {
        // The first one has the room as soon as it has connected.
        while server.connections() == 0 {
            tokio::task::yield_now().await;
        }
        guard.fetch(within(SHORT, get(server.url("/")))).await
    };
    let result = tokio::select! {
        first = first => panic!("{first:?}"),
        second = second => second,
    };
    assert_eq!(code(&result), Some(ErrorCode::NetBusy));
    assert!(!result.unwrap_err().was_sent());
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn room_is_given_back() {
    let server = Server::answering(redirect(302, "ftp://nowhere.example/"));
    let guard = guard(NetConfig { max_at_once: 1, ..open() });
    for _ in 0..3 {
        let result = guard.fetch(get(server.url("/"))).await;
        assert_eq!(code(&result), Some(ErrorCode::NetRedirectRefused));
    }
}
