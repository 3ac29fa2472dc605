//! Errors as gRPC tells them: the nearest code of gRPC, and in the trailing metadata what programs go
//! by. `gateway.proto` says so to those who call.

use axum::http::StatusCode;
use palyra_common::ids::RunId;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

use crate::transport::http::{Refusal, status_of};

/// The stable code.
pub(super) const CODE: &str = "palyra-code";
/// The whole envelope.
const ERROR: &str = "palyra-error-bin";
/// Which run a stream has followed.
const RUN: &str = "palyra-run-id";
/// The last entry that it has told of.
const LAST_SEQ: &str = "palyra-last-seq";

/// What fits into the metadata that every client takes.
const MAX_ENVELOPE_BYTES: usize = 4 << 10;
const MAX_MESSAGE_CHARS: usize = 1_000;

/// Whether it was done is not known.
const IN_DOUBT: [ErrorCode; 2] = [ErrorCode::StorageCommitUnknown, ErrorCode::NetOutcomeUnknown];
/// What is stored is damaged.
const DAMAGED: [ErrorCode; 4] = [
    ErrorCode::StorageCorrupt,
    ErrorCode::JournalBrokenChain,
    ErrorCode::BlobCorrupt,
    ErrorCode::VaultDamaged,
];

/// An error with the nearest code of gRPC.
pub(super) fn refused(envelope: &StableErrorEnvelope) -> Status {
    let what = format!("{envelope}: {}", envelope.recovery_hint());
    let mut metadata = MetadataMap::new();
    describe(&mut metadata, envelope);
    Status::with_metadata(code_of(envelope), shortened(&what), metadata)
}

/// Writes into the metadata of a status what it is about.
fn describe(metadata: &mut MetadataMap, envelope: &StableErrorEnvelope) {
    if let Ok(code) = MetadataValue::try_from(envelope.code()) {
        metadata.insert(CODE, code);
    }
    let whole = serde_json::to_vec(envelope).unwrap_or_default();
    let json = if whole.len() <= MAX_ENVELOPE_BYTES {
        whole
    } else {
        let short = StableErrorEnvelope::shortened(envelope, MAX_MESSAGE_CHARS);
        serde_json::to_vec(&short).unwrap_or_default()
    };
    metadata.insert_bin(ERROR, MetadataValue::from_bytes(&json));
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_MESSAGE_CHARS).collect()
}

/// The same, with where to attach again.
pub(super) fn at_entry(mut status: Status, run: RunId, seq: i64) -> Status {
    if let Ok(run) = MetadataValue::try_from(run.to_string()) {
        status.metadata_mut().insert(RUN, run);
    }
    status.metadata_mut().insert(LAST_SEQ, MetadataValue::from(seq));
    status
}

/// As [`refused`].
pub(super) fn refusal(refusal: &Refusal) -> Status {
    refused(refusal.envelope())
}

/// What the transport refuses by itself, with the stable code of that.
pub(super) fn completed(status: Status) -> Status {
    if status.metadata().contains_key(CODE) {
        return status;
    }
    let (code, stable) = match status.code() {
        Code::OutOfRange | Code::ResourceExhausted => (Code::OutOfRange, ErrorCode::HttpTooLarge),
        Code::Unimplemented => (Code::Unimplemented, ErrorCode::CommonNotFound),
        // A message that cannot be read, or is packed in a way that is not understood.
        Code::Internal | Code::InvalidArgument => (Code::InvalidArgument, ErrorCode::HttpMalformed),
        // Of the other side, which is gone or does not want the answer any more.
        _ => return status,
    };
    let envelope = StableErrorEnvelope::new(stable, shortened(status.message()));
    let what = format!("{envelope}: {}", envelope.recovery_hint());
    let mut metadata = status.metadata().clone();
    describe(&mut metadata, &envelope);
    Status::with_metadata(code, shortened(&what), metadata)
}

fn code_of(envelope: &StableErrorEnvelope) -> Code {
    let Some(stable) = envelope.known_code() else { return Code::Internal };
    if IN_DOUBT.contains(&stable) {
        return Code::Unknown;
    }
    if DAMAGED.contains(&stable) {
        return Code::DataLoss;
    }
    match status_of(stable) {
        StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::InvalidArgument,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => Code::PermissionDenied,
        StatusCode::NOT_FOUND | StatusCode::GONE => Code::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => Code::Unimplemented,
        // Trying again changes nothing before something else has changed.
        StatusCode::CONFLICT => Code::FailedPrecondition,
        StatusCode::PAYLOAD_TOO_LARGE => Code::OutOfRange,
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => Code::DeadlineExceeded,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE if envelope.retryable() => {
            Code::Unavailable
        }
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => Code::FailedPrecondition,
        _ => Code::Internal,
    }
}

#[cfg(test)]
mod tests;
