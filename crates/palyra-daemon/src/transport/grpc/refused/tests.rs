use serde_json::{Value, json};

use super::*;

fn of(code: ErrorCode) -> Status {
    refused(&StableErrorEnvelope::new(code, "a message"))
}

/// What a program reads.
fn told(status: &Status) -> (String, Value) {
    let code = status.metadata().get(CODE).unwrap().to_str().unwrap().to_owned();
    let error = status.metadata().get_bin(ERROR).unwrap().to_bytes().unwrap();
    (code, serde_json::from_slice(&error).unwrap())
}

#[test]
fn an_error_has_the_nearest_code_and_says_what_it_is_to_programs() {
    for (stable, code) in [
        (ErrorCode::CommonInvalidInput, Code::InvalidArgument),
        (ErrorCode::HttpMalformed, Code::InvalidArgument),
        (ErrorCode::AuthRequired, Code::Unauthenticated),
        (ErrorCode::AuthRevoked, Code::Unauthenticated),
        (ErrorCode::AuthForbidden, Code::PermissionDenied),
        (ErrorCode::CommonNotFound, Code::NotFound),
        (ErrorCode::CommonConflict, Code::FailedPrecondition),
        (ErrorCode::HttpTooLarge, Code::OutOfRange),
        (ErrorCode::HttpBusy, Code::ResourceExhausted),
        (ErrorCode::StreamSlowReader, Code::ResourceExhausted),
        (ErrorCode::HttpSlow, Code::DeadlineExceeded),
        (ErrorCode::StorageShuttingDown, Code::Unavailable),
        (ErrorCode::ModelsRateLimited, Code::Unavailable),
        // Trying again is of no use.
        (ErrorCode::StorageReadOnly, Code::FailedPrecondition),
        (ErrorCode::StorageCommitUnknown, Code::Unknown),
        (ErrorCode::StorageCorrupt, Code::DataLoss),
        (ErrorCode::StorageInternal, Code::Internal),
    ] {
        let status = of(stable);
        assert_eq!(status.code(), code, "{stable}");
        let (told, error) = told(&status);
        assert_eq!(told, stable.as_str());
        assert_eq!(error["code"], stable.as_str());
        assert_eq!(error["retryable"], json!(stable.retryable()));
        assert!(!error["recovery_hint"].as_str().unwrap().is_empty());
        assert!(status.message().contains(stable.as_str()), "{status:?}");
    }
}

#[test]
fn no_error_is_a_success_or_larger_than_a_client_takes() {
    for stable in ErrorCode::ALL {
        let envelope = StableErrorEnvelope::new(*stable, "x\u{1f980}".repeat(10_000))
            .with_details(json!({ "all": "y".repeat(10_000) }));
        let status = refused(&envelope);
        assert_ne!(status.code(), Code::Ok, "{stable}");
        let (told, error) = told(&status);
        assert_eq!(told, stable.as_str());
        assert!(error.get("details").is_none(), "{stable}");
        assert!(serde_json::to_vec(&error).unwrap().len() < 2 * MAX_ENVELOPE_BYTES + 2_000);
    }
}

#[test]
fn what_the_transport_refuses_has_a_stable_code() {
    let large = completed(Status::out_of_range("decoded message length too large"));
    assert_eq!((large.code(), &*told(&large).0), (Code::OutOfRange, "http/too_large"));
    let broken = completed(Status::internal("failed to decode Protobuf message"));
    assert_eq!((broken.code(), &*told(&broken).0), (Code::InvalidArgument, "http/malformed"));
    let ours = of(ErrorCode::StorageInternal);
    assert_eq!(completed(ours.clone()).code(), ours.code());
    assert_eq!(completed(Status::cancelled("gone")).code(), Code::Cancelled);
}
