//! The client against answers that no daemon of ours gives: cut off, too large, of somebody else.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure is the verdict")]

mod follow;
mod runs;

use std::path::Path;

use palyra_client::{ApiToken, Client, ClientError, Target};
use palyra_common::data_dir::SOCKET;
use palyra_testkit::fs::ScratchDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

fn local(data_dir: &Path) -> Client {
    Client::new(Target::Local { data_dir: data_dir.to_owned() }).unwrap()
}

/// Reads the head of one request, answers with `answer` as it stands, and gives back the head.
async fn answer(
    mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin,
    answer: impl AsRef<[u8]>,
) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).await.unwrap(), 1, "the request broke off");
        head.push(byte[0]);
    }
    // Whoever has read enough may have gone.
    let _ = stream.write_all(answer.as_ref()).await;
    let _ = stream.shutdown().await;
    String::from_utf8(head).unwrap()
}

/// What the client makes of `response` to a request for the status.
async fn status_of(response: impl AsRef<[u8]>) -> ClientError {
    let folder = ScratchDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let serve = async { answer(listener.accept().await.unwrap().0, response).await };
    let client = local(folder.path());
    let (got, head) = tokio::join!(client.status(), serve);
    assert!(head.starts_with("GET /admin/v1/status HTTP/1.1\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
    got.unwrap_err()
}

fn with_body(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn without_a_socket_or_a_listener_no_daemon_runs() {
    let folder = ScratchDir::new().unwrap();
    let missing = local(folder.path()).status().await.unwrap_err();
    assert_eq!(missing.envelope().code(), "client/daemon_not_running");
    drop(UnixListener::bind(folder.path().join(SOCKET)).unwrap());
    let stale = local(folder.path()).status().await.unwrap_err();
    assert_eq!(stale.envelope().code(), "client/daemon_not_running");
    assert!(stale.to_string().contains(folder.path().to_str().unwrap()), "{stale}");
}

#[tokio::test]
async fn what_the_daemon_says_is_kept_word_for_word() {
    let body = r#"{"code":"quantum/entangled","message":"the cat is both",
                   "recovery_hint":"Look.","retryable":true}"#;
    let envelope = status_of(with_body("409 Conflict", body)).await.envelope();
    assert_eq!(envelope.code(), "quantum/entangled");
    assert_eq!((envelope.message(), envelope.recovery_hint()), ("the cat is both", "Look."));
}

#[tokio::test]
async fn what_is_not_ours_is_unexpected_and_not_repeated() {
    for response in [
        with_body("502 Bad Gateway", "<html>geheim</html>"),
        with_body("200 OK", "<html>geheim</html>"),
        with_body("200 OK", r#"{"status":"ok"}"#),
        with_body("302 Found", ""),
    ] {
        let error = status_of(&response).await;
        assert_eq!(error.envelope().code(), "client/unexpected_answer", "{response}");
        assert!(!error.to_string().contains("geheim"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let mut response = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    response.resize(response.len() + (17 << 20), b' ');
    let error = status_of(response).await;
    assert_eq!(error.envelope().code(), "client/unexpected_answer");
    assert!(error.to_string().contains("more than 16 MiB"), "{error}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_unreachable() {
    let error = status_of("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"ver").await;
    assert_eq!(error.envelope().code(), "client/unreachable");
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error() {
    let folder = ScratchDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let broken = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    let serve = async { answer(listener.accept().await.unwrap().0, broken).await };
    let client = local(folder.path());
    let read = async {
        let mut stream = client.backup().await.unwrap();
        assert_eq!(stream.chunk().await.unwrap().unwrap(), "half");
        stream.chunk().await.unwrap_err()
    };
    let (error, _) = tokio::join!(read, serve);
    assert_eq!(error.envelope().code(), "client/unreachable");
}

#[tokio::test]
async fn a_token_goes_to_the_host_and_segments_are_escaped() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let token: ApiToken = "ply_abc".parse().unwrap();
    let client = Client::new(Target::Remote { host, token: Some(token) }).unwrap();
    let serve = async {
        answer(listener.accept().await.unwrap().0, "HTTP/1.1 204 No Content\r\n\r\n").await
    };
    let (deleted, head) = tokio::join!(client.delete_secret("agent:a/b", "x?y"), serve);
    deleted.unwrap();
    assert!(head.starts_with("DELETE /admin/v1/secrets/agent:a%2Fb/x%3Fy HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer ply_abc\r\n"), "{head}");
}

/// The path would lose such a segment, and a deletion would name the folder above.
#[tokio::test]
async fn dots_alone_name_nothing_else() {
    for (name, sent) in [("..", "%252E%252E"), (".", "%252E")] {
        let folder = ScratchDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let gone = "HTTP/1.1 204 No Content\r\n\r\n";
        let serve = async { answer(listener.accept().await.unwrap().0, gone).await };
        let client = local(folder.path());
        let (_, head) = tokio::join!(client.delete_secret("global", name), serve);
        let line = format!("DELETE /admin/v1/secrets/global/{sent} HTTP/1.1\r\n");
        assert!(head.starts_with(&line), "{head}");
    }
}

#[tokio::test]
async fn a_daemon_that_says_nothing_is_not_waited_for() {
    let folder = ScratchDir::new().unwrap();
    let _silent = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let error = local(folder.path()).channels().await.unwrap_err();
    assert_eq!(error.envelope().code(), "client/unreachable");
    assert!(error.to_string().contains("`palyra daemon stop --force`"), "{error}");
}

/// It answers when it was asked twice whether it is there, however long that takes.
#[tokio::test]
async fn work_that_takes_its_time_is_waited_for() {
    let folder = ScratchDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let serve = async {
        let asked = listener.accept().await.unwrap().0;
        for _ in 0..2 {
            let health = answer(listener.accept().await.unwrap().0, with_body("200 OK", "{}"));
            assert!(health.await.starts_with("GET /healthz HTTP/1.1\r\n"));
        }
        answer(asked, "HTTP/1.1 204 No Content\r\n\r\n").await
    };
    let client = local(folder.path());
    let (deleted, _) = tokio::join!(client.delete_secret("global", "x"), serve);
    deleted.unwrap();
}

/// A break says nothing; whoever made the backup does, if it still knows.
#[tokio::test]
async fn a_backup_that_breaks_off_has_the_reason_of_the_daemon() {
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let error = |code: &str| {
        format!(r#"{{"code":"{code}","message":"m","recovery_hint":"h","retryable":false}}"#)
    };
    let became = |error: &str| format!(r#"{{"id":"{id}","ended":true{error}}}"#);
    let failed = became(&format!(r#","error":{}"#, error("storage/corrupt")));
    for (said, told) in [
        (with_body("200 OK", &failed), "storage/corrupt"),
        (with_body("200 OK", &became("")), "client/unreachable"),
        (with_body("404 Not Found", &error("common/not_found")), "client/unreachable"),
        (with_body("401 Unauthorized", &error("auth/revoked")), "auth/revoked"),
        (with_body("503 Service Unavailable", &error("storage/busy")), "storage/busy"),
        (String::new(), "client/unreachable"),
    ] {
        let folder = ScratchDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\npalyra-backup-id: {id}\r\n");
        let half = format!("{head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n");
        let serve = async {
            answer(listener.accept().await.unwrap().0, half).await;
            answer(listener.accept().await.unwrap().0, &said).await
        };
        let client = local(folder.path());
        let read = async {
            let mut stream = client.backup().await.unwrap();
            assert_eq!(stream.chunk().await.unwrap().unwrap(), "half");
            stream.chunk().await.unwrap_err()
        };
        let (error, asked) = tokio::join!(read, serve);
        assert!(asked.starts_with(&format!("GET /admin/v1/backups/{id} HTTP/1.1\r\n")), "{asked}");
        assert_eq!(error.envelope().code(), told, "{said}");
    }
}
