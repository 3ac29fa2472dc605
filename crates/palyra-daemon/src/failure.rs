//! Why the daemon did not start, or had to stop, told to a person.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use palyra_common::error::Exit;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_identity::AuthError;
use palyra_storage::StorageError;
use palyra_storage::backup::BackupError;
use palyra_storage::blob::BlobError;

#[derive(Debug)]
pub(crate) enum Failure {
    Storage(StorageError),
    /// A setting that a part cannot work with.
    Refused(StableErrorEnvelope),
    Blobs(BlobError),
    Backup(BackupError),
    Access(AuthError),
    /// A mistake in the configuration file.
    Config {
        path: PathBuf,
        what: String,
    },
    /// A file of the daemon that cannot be written.
    Unwritable {
        path: PathBuf,
        error: std::io::Error,
    },
    /// A file that somebody else is changing.
    Busy {
        path: PathBuf,
        waited: Duration,
    },
    /// A file that was named and cannot be read.
    Unreadable {
        path: PathBuf,
        error: std::io::Error,
    },
    UnknownKey {
        place: String,
        key: String,
        nearest: Option<String>,
    },
    /// A value that an option cannot have.
    Option {
        what: String,
    },
    NoDataDir,
    /// A listener that could not be opened, or must not be.
    Listen(StableErrorEnvelope),
    /// Something without which the daemon must not go on.
    ServiceEnded(&'static str),
    AskedTwice,
    /// A stop that took too long.
    StoppedLate {
        limit: Duration,
        left: Vec<&'static str>,
    },
    Startup(anyhow::Error),
}

impl Failure {
    /// What storage says of options and variables that it cannot work with.
    pub(crate) fn of_option(error: StorageError) -> Self {
        match error {
            StorageError::InvalidValue { what } => Self::Option { what },
            other => Self::Refused(other.envelope()),
        }
    }

    /// The failure as users of every surface see it.
    pub(crate) fn envelope(&self) -> StableErrorEnvelope {
        let new = |code, what: String| StableErrorEnvelope::new(code, what);
        match self {
            Self::Storage(error) => error.envelope(),
            Self::Blobs(error) => error.envelope(),
            Self::Backup(error) => error.envelope(),
            Self::Access(error) => error.envelope(),
            Self::Refused(envelope) | Self::Listen(envelope) => envelope.clone(),
            Self::Config { path, what } => {
                new(ErrorCode::ConfigInvalid, format!("{}: {what}", path.display()))
            }
            Self::Unwritable { path, error } => {
                let code = match error.kind() {
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                        ErrorCode::StorageReadOnly
                    }
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ErrorCode::StorageDiskFull,
                    _ => ErrorCode::DaemonFailed,
                };
                new(code, format!("{} cannot be written: {error}", path.display()))
            }
            Self::Busy { path, waited } => {
                let what = format!(
                    "{} is being changed by another command or the daemon, which has not finished \
                     within {} s; nothing was changed",
                    path.display(),
                    waited.as_secs()
                );
                new(ErrorCode::CommonConflict, what)
            }
            Self::Unreadable { path, error } => {
                let what = format!("{} cannot be read: {error}", path.display());
                new(ErrorCode::CommonInvalidInput, what)
            }
            Self::UnknownKey { place, key, nearest } => {
                let nearest = nearest.as_ref().map(|key| format!("; did you mean {key}?"));
                let nearest = nearest.unwrap_or_default();
                let what = if key.contains('.') { "an option" } else { "a section" };
                let what = format!("{place}: {key} is not {what}{nearest}");
                new(ErrorCode::ConfigUnknownKey, what)
            }
            Self::Option { what } => new(ErrorCode::ConfigInvalid, what.clone()),
            Self::NoDataDir => new(
                ErrorCode::ConfigInvalid,
                "there is no data directory, because HOME is not set; give one with --data-dir"
                    .into(),
            ),
            Self::ServiceEnded(name) => {
                let what = format!("stopped because a service of the daemon has ended: {name}");
                new(ErrorCode::DaemonFailed, what)
            }
            Self::AskedTwice => unfinished("it was asked twice"),
            Self::StoppedLate { limit, left } => {
                let (limit, left) = (limit.as_secs(), left.join(", "));
                unfinished(&format!("that took longer than {limit} s; still at work: {left}"))
            }
            Self::Startup(error) => new(ErrorCode::DaemonFailed, format!("{error:#}")),
        }
    }

    /// As of every command.
    pub(crate) fn exit(&self) -> Exit {
        Exit::of(&self.envelope())
    }
}

fn unfinished(why: &str) -> StableErrorEnvelope {
    let what = format!("stopped before its work was finished, because {why}");
    StableErrorEnvelope::new(ErrorCode::DaemonStopped, what)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let envelope = self.envelope();
        writeln!(f, "palyrad: {}", envelope.message())?;
        writeln!(f, "  code: {}", envelope.code())?;
        writeln!(f, "  what to do: {}", envelope.recovery_hint())
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<BlobError> for Failure {
    fn from(error: BlobError) -> Self {
        Self::Blobs(error)
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        Self::Backup(error)
    }
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        Self::Access(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Startup(error)
    }
}
