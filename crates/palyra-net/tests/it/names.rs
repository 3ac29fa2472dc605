//! Names are looked up once for each request, and a connection goes to what was judged.

use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_net::NetConfig;

use crate::server::{Server, ok, redirect};
use crate::world::{Names, code, get, guard, open, with_names};

#[tokio::test]
async fn a_name_is_looked_up_once_and_its_address_is_used() {
    let server = Server::answering(ok("hello"));
    let names = Arc::new(Names::default().with("a.example", &[&["127.0.0.1"]]));
    let url = format!("http://A.example.:{}/", server.port());
    let answer = with_names(open(), &names).fetch(get(url)).await.unwrap();
    assert_eq!(answer.body, "hello");
    assert_eq!(names.questions(), ["a.example"]);
    let host = format!("a.example:{}", server.port());
    assert_eq!(server.asked()[0].header("host"), Some(host.as_str()));
}

/// The one server listens on an address that is open, the name moves to one that is not.
#[tokio::test]
async fn a_name_that_moves_inside_is_refused_from_then_on() {
    let server = Server::answering(ok("hello"));
    let inside: &[&str] = &["127.0.0.2"];
    let names = Arc::new(Names::default().with("a.example", &[&["127.0.0.1"], inside]));
    let guard = with_names(open(), &names);
    let url = format!("http://a.example:{}/", server.port());
    assert_eq!(guard.fetch(get(url.clone())).await.unwrap().body, "hello");
    for _ in 0..2 {
        let result = guard.fetch(get(url.clone())).await;
        assert_eq!(code(&result), Some(ErrorCode::NetAddressRefused));
    }
    assert_eq!((server.connections(), names.questions().len()), (1, 3));
}

/// Were it looked up a second time between judging and connecting, that would go inside.
#[tokio::test]
async fn a_second_answer_is_never_asked_for() {
    let inside = Server::answering(ok("secret"));
    let names = Arc::new(Names::default().with("a.example", &[&["127.0.0.2"], &["127.0.0.1"]]));
    let config = NetConfig { allow: vec!["127.0.0.2".into()], ..NetConfig::default() };
    let url = format!("http://a.example:{}/", inside.port());
    let result = with_names(config, &names).fetch(get(url)).await;
    // Nobody listens on the one that was judged.
    assert_eq!(code(&result), Some(ErrorCode::NetUnreachable), "{result:?}");
    assert_eq!((inside.connections(), names.questions().len()), (0, 1));
}

#[tokio::test]
async fn a_redirect_is_looked_up_anew() {
    let server = Server::answering(redirect(302, "/next"));
    let names =
        Arc::new(Names::default().with("a.example", &[&["127.0.0.1"], &["169.254.169.254"]]));
    let url = format!("http://a.example:{}/", server.port());
    let result = with_names(open(), &names).fetch(get(url)).await;
    assert_eq!(code(&result), Some(ErrorCode::NetAddressRefused));
    assert_eq!((server.connections(), names.questions().len()), (1, 2));
}

#[tokio::test]
async fn one_address_inside_is_enough_to_refuse_a_name() {
    let server = Server::answering(ok("hello"));
    for answer in [
        &["127.0.0.1", "10.0.0.1"][..],
        &["10.0.0.1", "127.0.0.1"],
        &["127.0.0.1", "::1"],
        &["127.0.0.1", "::ffff:169.254.169.254"],
        &["127.0.0.1", "1.1.1.1", "0.0.0.0"],
    ] {
        let names = Arc::new(Names::default().with("mixed.example", &[answer]));
        let url = format!("http://mixed.example:{}/", server.port());
        let result = with_names(open(), &names).fetch(get(url)).await;
        assert_eq!(code(&result), Some(ErrorCode::NetAddressRefused), "{answer:?}");
        assert!(!result.unwrap_err().was_sent());
    }
    assert_eq!(server.connections(), 0);
}

/// Without a word of the operator this machine is out of reach, however it is written.
#[tokio::test]
async fn nobody_reaches_this_machine_unless_it_is_named() {
    let server = Server::answering(ok("secret"));
    let names = Arc::new(
        Names::default().with("a.example", &[&["127.0.0.1"]]).with("localhost", &[&["127.0.0.1"]]),
    );
    let guard = with_names(NetConfig::default(), &names);
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "１２７.0.0.1",
        "%31%32%37.0.0.1",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "LOCALHOST.",
        "a.example",
    ] {
        let result = guard.fetch(get(format!("http://{host}:{}/", server.port()))).await;
        assert_eq!(code(&result), Some(ErrorCode::NetAddressRefused), "{host}: {result:?}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_can_be_opened_by_itself() {
    let server = Server::answering(ok("hello"));
    let names = Arc::new(
        Names::default()
            .with("nas.home.arpa", &[&["127.0.0.1"]])
            .with("other.home.arpa", &[&["127.0.0.1"]]),
    );
    let config = NetConfig { allow: vec!["nas.home.arpa".into()], ..NetConfig::default() };
    let guard = with_names(config, &names);
    let url = |host: &str| format!("http://{host}:{}/", server.port());
    assert_eq!(guard.fetch(get(url("nas.home.arpa"))).await.unwrap().status, 200);
    for host in ["other.home.arpa", "127.0.0.1"] {
        let result = guard.fetch(get(url(host))).await;
        assert_eq!(code(&result), Some(ErrorCode::NetAddressRefused), "{host}");
    }
}

#[tokio::test]
async fn a_name_without_an_address_has_sent_nothing() {
    let result = guard(open()).fetch(get("http://nowhere.example/")).await;
    assert_eq!(code(&result), Some(ErrorCode::NetNoAddress), "{result:?}");
    assert!(!result.unwrap_err().was_sent());
}
