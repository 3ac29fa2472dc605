use palyra_common::time::Timestamp;
use palyra_common::{ErrorCode, StableErrorEnvelope};

use super::*;

fn host(text: &str) -> Result<String, TargetError> {
    text.parse::<Host>().map(|host| host.to_string())
}

#[test]
fn a_host_is_an_address_without_anything_else() {
    assert_eq!(host("http://127.0.0.1:7142").unwrap(), "http://127.0.0.1:7142");
    assert_eq!(host("http://[::1]:7142/").unwrap(), "http://[::1]:7142");
    assert_eq!(host("http://localhost:7142").unwrap(), "http://localhost:7142");
    assert_eq!(host("https://palyra.example").unwrap(), "https://palyra.example");
    for (text, why) in [
        ("127.0.0.1:7142", TargetError::Host),
        ("unix:///x", TargetError::Host),
        ("", TargetError::Host),
        ("https://anna:geheim@palyra.example", TargetError::HostHasMore),
        ("https://palyra.example/console", TargetError::HostHasMore),
        ("https://palyra.example?token=x", TargetError::HostHasMore),
    ] {
        assert_eq!(host(text), Err(why), "{text}");
    }
}

#[test]
fn a_token_does_not_travel_in_the_clear_to_another_machine() {
    for text in ["http://192.168.0.7:7142", "http://palyra.example", "http://localhost.evil"] {
        assert_eq!(host(text), Err(TargetError::HostIsPlain), "{text}");
    }
}

#[test]
fn a_token_is_one_word_and_never_printed() {
    let token: ApiToken = " ply_abcdefgh\n".parse().unwrap();
    assert_eq!(format!("{token:?}"), "ApiToken(…)");
    assert_eq!(token.header().to_str().unwrap(), "Bearer ply_abcdefgh");
    assert!(!format!("{:?}", token.header()).contains("abcdefgh"));
    for text in ["", "abc", "ply_a b", "ply_a\nb", "ply_ä"] {
        assert_eq!(text.parse::<ApiToken>().unwrap_err(), TargetError::Token, "{text:?}");
    }
}

#[test]
fn a_query_has_what_was_asked_for_and_nothing_else() {
    assert_eq!(EventQuery::default().pairs(), [("order", "newest_first".to_owned())]);
    let query = EventQuery {
        limit: Some(7),
        order: Order::OldestFirst,
        action: Some("token.".into()),
        since: Some(Timestamp::from_unix_millis(12)),
        ..EventQuery::default()
    };
    let expected =
        [("limit", "7"), ("order", "oldest_first"), ("action", "token."), ("since", "12")];
    assert_eq!(query.pairs(), expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn every_error_has_its_code() {
    let target = "the daemon at https://x".to_owned();
    let refused = StableErrorEnvelope::new(ErrorCode::AuthForbidden, "needs tokens:write");
    for (error, code) in [
        (ClientError::NotRunning { data_dir: "/d".into() }, "client/daemon_not_running"),
        (ClientError::NotPermitted { socket: "/d/s".into() }, "client/not_permitted"),
        (ClientError::PathTooLong { length: 200 }, "common/invalid_input"),
        (
            ClientError::Unreachable { target: target.clone(), what: "refused".into() },
            "client/unreachable",
        ),
        (ClientError::Unexpected { target, what: "status 502".into() }, "client/unexpected_answer"),
        (ClientError::Refused(Box::new(refused)), "auth/forbidden"),
    ] {
        assert_eq!(error.envelope().code(), code);
        assert_eq!(error.envelope().message(), error.to_string());
    }
}

#[test]
fn a_socket_that_cannot_be_opened_says_why() {
    use std::io::ErrorKind;
    let code = |length: usize, kind| {
        let error = client::not_connected("/".repeat(length).as_ref(), kind);
        error.map(|error| error.envelope().code().to_owned())
    };
    let told = |code: &str| Some(code.to_owned());
    assert_eq!(code(9, ErrorKind::NotFound), told("client/daemon_not_running"));
    assert_eq!(code(9, ErrorKind::ConnectionRefused), told("client/daemon_not_running"));
    assert_eq!(code(9, ErrorKind::PermissionDenied), told("client/not_permitted"));
    assert_eq!(code(9, ErrorKind::NotADirectory), told("common/invalid_input"));
    assert_eq!(code(200, ErrorKind::InvalidInput), told("common/invalid_input"));
    assert_eq!(code(9, ErrorKind::InvalidInput), None);
}

/// Whoever is told why is not to wait for a daemon that is there.
#[test]
fn a_refusal_with_a_reason_is_no_absence() {
    let is_absence =
        |code| ClientError::Refused(Box::new(StableErrorEnvelope::new(code, "why"))).is_absence();
    for code in [ErrorCode::StorageUnavailable, ErrorCode::StorageShuttingDown, ErrorCode::HttpBusy]
    {
        assert!(is_absence(code), "{code}");
    }
    for code in
        [ErrorCode::ChannelQueueFull, ErrorCode::StorageDiskFull, ErrorCode::StorageSizeLimit]
    {
        assert!(!is_absence(code), "{code}");
    }
}
