//! What can go wrong with a backup.

use std::io;
use std::path::{Path, PathBuf};

use palyra_common::error::{ErrorCode, StableErrorEnvelope};

use crate::StorageError;
use crate::blob::BlobError;
use crate::engine::sqlite::migrate::from_io;
use crate::error::describe;
use crate::journal::ChainFault;

/// A backup that could not be made, is not whole, or could not be restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The file is not a whole backup, or not one that this program can read.
    #[error("the backup cannot be used: {what}")]
    Invalid {
        /// What is wrong with it.
        what: String,
    },
    /// The backup is whole, and the journal in it does not match its own hash chain.
    #[error("the backup is whole, but was made of a database with a broken journal")]
    Journal(#[source] ChainFault),
    /// A copy of a database that cannot be put back there.
    #[error("{} cannot be put back: {what}", file.display())]
    Misplaced {
        /// The copy.
        file: PathBuf,
        /// Why not.
        what: String,
    },
    /// The place to restore to holds data already.
    #[error("{} holds data already", place.display())]
    TargetInUse {
        /// Which file, folder or server.
        place: PathBuf,
    },
    /// The backup could not be written.
    #[error("the backup could not be written")]
    Output(#[source] io::Error),
    /// The backup could not be read.
    #[error("the backup could not be read")]
    Input(#[source] io::Error),
    /// The database could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Blobs could not be read or written.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

impl BackupError {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        BackupError::Invalid { what: what.into() }
    }

    pub(super) fn misplaced(file: &Path, what: impl Into<String>) -> Self {
        BackupError::Misplaced { file: file.to_owned(), what: what.into() }
    }

    /// What an error of reading a backup means: what the layers above the file say is about what
    /// it holds, what the system says is about the disk.
    pub(super) fn reading(error: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        match error.kind() {
            UnexpectedEof => Self::invalid("it is cut off"),
            InvalidData | InvalidInput | Other => Self::invalid(error.to_string()),
            _ => BackupError::Input(error),
        }
    }

    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            BackupError::Invalid { .. } => ErrorCode::BackupInvalid,
            BackupError::Journal(fault) => fault.code(),
            BackupError::Misplaced { .. } => ErrorCode::CommonInvalidInput,
            BackupError::TargetInUse { .. } => ErrorCode::BackupTargetInUse,
            BackupError::Output(error) | BackupError::Input(error) => {
                from_io(Path::new(""), error.kind().into()).code()
            }
            BackupError::Storage(error) => error.code(),
            BackupError::Blob(error) => error.code(),
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), describe(self))
    }
}
