use std::collections::BTreeSet;

use serde_json::json;

use super::{ErrorCode, StableErrorEnvelope};

#[test]
fn wire_values_are_unique_and_well_formed() {
    let mut seen = BTreeSet::new();
    for code in ErrorCode::ALL {
        let wire = code.as_str();
        let (domain, reason) = wire.split_once('/').unwrap();
        for part in [domain, reason] {
            let well_formed = part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            assert!(well_formed && !part.is_empty(), "{wire}");
        }
        assert!(seen.insert(wire), "{wire} is listed twice");
    }
}

#[test]
fn every_code_says_what_it_means_and_what_to_do() {
    for code in ErrorCode::ALL {
        let (meaning, hint) = (code.meaning(), code.hint());
        assert!(meaning.starts_with(char::is_lowercase), "{code}: {meaning}");
        assert!(!meaning.ends_with('.'), "{code}: {meaning}");
        assert!(hint.starts_with(char::is_uppercase) && hint.ends_with('.'), "{code}: {hint}");
        for text in [meaning, hint] {
            assert!(!text.contains('|') && !text.contains('\n'), "{code} breaks the table");
        }
    }
}

#[test]
fn a_code_reads_back_from_its_wire_value_and_from_nothing_else() {
    for code in ErrorCode::ALL {
        assert_eq!(code.as_str().parse(), Ok(*code));
        let json = serde_json::to_string(code).unwrap();
        assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
    }
    let refused = "Storage/Busy".parse::<ErrorCode>().unwrap_err();
    assert_eq!(refused.to_string(), "unknown error code \"Storage/Busy\"");
}

#[test]
fn what_passes_by_itself_is_retryable() {
    let retryable: Vec<_> = ErrorCode::ALL.iter().filter(|code| code.retryable()).collect();
    let expected = [
        &ErrorCode::StorageUnavailable,
        &ErrorCode::StorageBusy,
        &ErrorCode::StorageDiskFull,
        &ErrorCode::StorageSizeLimit,
        &ErrorCode::StorageShuttingDown,
        &ErrorCode::HttpSlow,
        &ErrorCode::HttpBusy,
        &ErrorCode::StreamSlowReader,
        &ErrorCode::ChannelQueueFull,
        &ErrorCode::ChannelNotHere,
        &ErrorCode::ChannelPlatformFailed,
        &ErrorCode::NetNoAddress,
        &ErrorCode::NetUnreachable,
        &ErrorCode::NetBusy,
        &ErrorCode::NetTimeout,
        &ErrorCode::NetBrokeOff,
        &ErrorCode::ClientUnreachable,
        &ErrorCode::ModelsRateLimited,
        &ErrorCode::ModelsOverloaded,
        &ErrorCode::ModelsUnreachable,
        &ErrorCode::ModelsCutOff,
        &ErrorCode::ModelsTimedOut,
        &ErrorCode::ModelsMalformedAnswer,
        &ErrorCode::ModelsPaused,
        &ErrorCode::ModelsAllUnavailable,
        &ErrorCode::ChatCutOff,
        &ErrorCode::BlobUnavailable,
    ];
    assert_eq!(retryable, expected);
}

/// A daemon that met it at its start has ended; one that met it at work has not.
#[test]
fn what_passes_by_itself_is_not_promised_to_a_daemon_that_has_ended() {
    for code in
        [ErrorCode::StorageUnavailable, ErrorCode::StorageDiskFull, ErrorCode::BlobUnavailable]
    {
        let hint = code.hint();
        assert!(hint.contains("goes on by itself") && hint.contains("start it again"), "{hint}");
    }
}

#[test]
fn the_envelope_has_the_agreed_shape() {
    let envelope = StableErrorEnvelope::new(ErrorCode::CommonConflict, "run 01 is finished");
    let bare = json!({
        "code": "common/conflict",
        "message": "run 01 is finished",
        "recovery_hint": ErrorCode::CommonConflict.hint(),
        "retryable": false,
    });
    assert_eq!(serde_json::to_value(&envelope).unwrap(), bare);

    let mut detailed = bare;
    detailed["details"] = json!({"phase": "completed"});
    let envelope = envelope.with_details(json!({"phase": "completed"}));
    assert_eq!(serde_json::to_value(&envelope).unwrap(), detailed);
    assert_eq!(serde_json::from_value::<StableErrorEnvelope>(detailed).unwrap(), envelope);
}

#[test]
fn a_code_of_a_newer_daemon_is_still_readable() {
    let newer: StableErrorEnvelope = serde_json::from_value(json!({
        "code": "quantum/entangled",
        "message": "the cat is both",
        "recovery_hint": "Look.",
        "retryable": true,
    }))
    .unwrap();
    assert_eq!(newer.code(), "quantum/entangled");
    assert_eq!(newer.known_code(), None);
    assert_eq!(newer.recovery_hint(), "Look.");
    assert!(newer.retryable());
}

/// `docs/errors.md` is generated; this fails without the generator having been run, and names the
/// codes rather than a differing line.
#[test]
fn the_documentation_lists_exactly_the_registry() {
    let documented: Vec<_> = include_str!("../../../../docs/errors.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| row.split('`').next().unwrap())
        .collect();
    let registered: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(documented, registered, "run `cargo xtask codegen`");
}
