//! Why the daemon did not start, or had to stop, told to a person.

use std::path::PathBuf;
use std::process::ExitCode;

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_storage::StorageError;
use palyra_storage::blob::BlobError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{}", told(&error.envelope()))]
    Storage {
        #[from]
        error: StorageError,
    },
    /// A setting that storage cannot work with.
    #[error("{}", told(&error.envelope()))]
    Refused { error: StorageError },
    #[error("{}", told(&error.envelope()))]
    Blobs {
        #[from]
        error: BlobError,
    },
    #[error("{}", told(&StableErrorEnvelope::new(
        ErrorCode::CommonInvalidInput, format!("{}: {what}", path.display()))))]
    Config { path: PathBuf, what: String },
    #[error("{}", told(&StableErrorEnvelope::new(
        ErrorCode::CommonInvalidInput,
        "there is no data directory, because HOME is not set; give one with --data-dir")))]
    NoDataDir,
    #[error("{}", told(&StableErrorEnvelope::new(
        ErrorCode::CommonInvalidInput, format!("--log {directive}: {what}"))))]
    Log { directive: String, what: String },
    #[error("palyrad: stopped because the service that renews its leases has ended\n")]
    KeeperGone,
    #[error("palyrad: stopped before its work was finished, because it was asked twice\n")]
    AskedTwice,
    #[error("palyrad could not start: {0:#}\n")]
    Startup(anyhow::Error),
}

impl Failure {
    /// 2 for what the operator asked wrongly, 1 for everything else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Config { .. }
            | Failure::Refused { .. }
            | Failure::NoDataDir
            | Failure::Log { .. } => ExitCode::from(2),
            Failure::Storage { .. }
            | Failure::Blobs { .. }
            | Failure::KeeperGone
            | Failure::AskedTwice
            | Failure::Startup(_) => ExitCode::FAILURE,
        }
    }
}

fn told(envelope: &StableErrorEnvelope) -> String {
    let (code, message) = (envelope.code(), envelope.message());
    format!("palyrad: {message}\n  code: {code}\n  what to do: {}\n", envelope.recovery_hint())
}
