//! Why a request came to nothing.

use std::error::Error as _;
use std::path::PathBuf;

use palyra_common::data_dir::LONGEST_PATH;
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use thiserror::Error;

/// Why a request came to nothing.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens on the socket of the data directory.
    #[error("no daemon runs on {}", data_dir.display())]
    NotRunning {
        /// The data directory.
        data_dir: PathBuf,
    },
    /// The socket, or the folder that it is in, belongs to another user.
    #[error("this user may not open {}", socket.display())]
    NotPermitted {
        /// The socket.
        socket: PathBuf,
    },
    /// No socket can have a path of this length.
    #[error(
        "the path of the data directory has {length} bytes, and at most {LONGEST_PATH} leave room \
         for the socket in it; choose a shorter one with --data-dir"
    )]
    PathTooLong {
        /// The length of the path of the data directory.
        length: usize,
    },
    /// What should be the data directory is a file, or is below one.
    #[error("{} is not a folder; choose a data directory with --data-dir", data_dir.display())]
    NotAFolder {
        /// What should be the data directory.
        data_dir: PathBuf,
    },
    /// No connection, or it broke, or the answer took too long.
    #[error("{target} could not be reached: {what}")]
    Unreachable {
        /// Which daemon.
        target: String,
        /// What happened.
        what: String,
    },
    /// The daemon answered with an error.
    #[error("{}", .0.message())]
    Refused(Box<StableErrorEnvelope>),
    /// What answered does not speak as a daemon of this version does.
    #[error("{target} answered with {what}")]
    Unexpected {
        /// Which daemon.
        target: String,
        /// What it said instead.
        what: String,
    },
}

impl ClientError {
    /// The error as every surface shows it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        let own = |code| StableErrorEnvelope::new(code, self.to_string());
        match self {
            Self::NotRunning { .. } => own(ErrorCode::ClientDaemonNotRunning),
            Self::NotPermitted { .. } => own(ErrorCode::ClientNotPermitted),
            Self::PathTooLong { .. } | Self::NotAFolder { .. } => {
                own(ErrorCode::CommonInvalidInput)
            }
            Self::Unreachable { .. } => own(ErrorCode::ClientUnreachable),
            Self::Refused(envelope) => (**envelope).clone(),
            Self::Unexpected { .. } => own(ErrorCode::ClientUnexpectedAnswer),
        }
    }

    /// Whether a daemon that was there before may be there again later, as after a restart. What stands
    /// before it while it is away may answer in its place: a proxy. A daemon that is there and has a
    /// reason to refuse is not away, also where the same may be accepted later.
    pub fn is_absence(&self) -> bool {
        match self {
            Self::NotRunning { .. } | Self::Unreachable { .. } | Self::Unexpected { .. } => true,
            Self::Refused(envelope) => matches!(
                envelope.known_code(),
                Some(
                    ErrorCode::StorageUnavailable
                        | ErrorCode::StorageBusy
                        | ErrorCode::StorageShuttingDown
                        | ErrorCode::HttpSlow
                        | ErrorCode::HttpBusy
                )
            ),
            Self::NotPermitted { .. } | Self::PathTooLong { .. } | Self::NotAFolder { .. } => false,
        }
    }

    /// Whether the same request can succeed later.
    pub fn retry_class(&self) -> RetryClass {
        if self.envelope().retryable() {
            RetryClass::TransientNetwork
        } else {
            RetryClass::Permanent
        }
    }
}

/// The last cause in the chain, which is the one that says something.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "there was no answer in time".into();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// What the system said about the connection, if it was the system that refused it.
pub(crate) fn io_kind(error: &reqwest::Error) -> Option<std::io::ErrorKind> {
    let mut cause = error.source();
    while let Some(deeper) = cause {
        if let Some(io) = deeper.downcast_ref::<std::io::Error>() {
            return Some(io.kind());
        }
        cause = deeper.source();
    }
    None
}
