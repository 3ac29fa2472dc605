//! What can go wrong, said so that a caller knows whether to try again and a person what to do.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::text::shell_word;

use crate::engine::postgres::version::ServerVersion;

/// The error underneath. Shared, because one failure can fail a whole group of callers.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// A failed read or write. Unless it is [`StorageError::CommitUnknown`], nothing was written.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The server cannot be reached, or was lost and not found again in time; or the disk or the
    /// data directory fails.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Cause),
    /// Others were in the way for longer than this write was tried: another program that holds
    /// the file, transactions that locked the same rows, a node that migrates.
    #[error("the database is busy")]
    Busy(#[source] Cause),
    /// No space left.
    #[error("the disk that holds the database is full")]
    DiskFull(#[source] Cause),
    /// The file is as large as it may become.
    #[error("{} has reached storage.max_bytes, which is {max_bytes}", path.display())]
    SizeLimit {
        /// The file.
        path: PathBuf,
        /// The option.
        max_bytes: u64,
        /// What SQLite said.
        #[source]
        cause: Cause,
    },
    /// The file or its directory cannot be written.
    #[error("{} cannot be written", path.display())]
    ReadOnly {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: Cause,
    },
    /// The file is damaged, or is no database.
    #[error("the database file is damaged or is not a database")]
    Corrupt(#[source] Cause),
    /// The server does not accept the login, or the login may not do what is needed.
    #[error("{place} refuses the login, or does not allow it what Palyra needs")]
    Forbidden {
        /// Which server.
        place: String,
        /// What it said.
        #[source]
        cause: Cause,
    },
    /// The server does not know what Palyra needs.
    #[error(
        "{place} is of Postgres {version}, and Palyra needs {}.{} or newer",
        ServerVersion::OLDEST.0, ServerVersion::OLDEST.1
    )]
    ServerTooOld {
        /// Which server.
        place: String,
        /// Its version.
        version: ServerVersion,
    },
    /// There is a database, and it is not Palyra's. Nothing was changed.
    #[error("{place} belongs to another program: {why}")]
    Foreign {
        /// Which file, or which database of which server.
        place: String,
        /// What shows it.
        why: String,
    },
    /// The schema was written by a newer release.
    #[error("the database has schema {found}, this program knows schemas up to {known}")]
    NewerSchema {
        /// Version found in the database.
        found: i64,
        /// Newest version that this program knows.
        known: i64,
    },
    /// The same of a SQLite file of which a copy was kept before it was migrated.
    #[error(
        "the database has schema {found}, this program knows schemas up to {known}; to go back to \
         the copy from before, run `{}`",
        going_back(copy)
    )]
    NewerSchemaThanCopy {
        /// Version found in the database.
        found: i64,
        /// Newest version that this program knows.
        known: i64,
        /// The copy, which this program can use.
        copy: PathBuf,
    },
    /// A migration could not be carried out. The database is as before it.
    #[error("the migration to schema {version} failed")]
    Migration {
        /// The version that was being made.
        version: i64,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// Another process works on this data directory.
    #[error("another process is using the data directory {}", path.display())]
    Locked {
        /// The data directory.
        path: PathBuf,
    },
    /// There is no database in the data directory, and there was one.
    #[error("{} is missing or empty, but {} shows that there was a database", path.display(), trace.display())]
    DatabaseGone {
        /// The file.
        path: PathBuf,
        /// What is left.
        trace: PathBuf,
    },
    /// The file of the database is not the one that was opened.
    #[error("{} was moved, deleted or replaced while it was in use", path.display())]
    DatabaseTaken {
        /// Where it was.
        path: PathBuf,
    },
    /// There is no database in the data directory, and none was told of elsewhere.
    #[error("{} shows that the database is on a server, and storage.url names none", trace.display())]
    DatabaseElsewhere {
        /// What shows it.
        trace: PathBuf,
    },
    /// The file of the database is a link.
    #[error("{} is a link", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
    },
    /// A restore into this data directory was begun and not finished.
    #[error("a restore was begun here and not finished, as {} shows", path.display())]
    UnfinishedRestore {
        /// What it left.
        path: PathBuf,
    },
    /// A copy was about to become the database of this data directory, and that was not finished.
    #[error("going back to a copy was begun here and not finished, as {} shows", path.display())]
    UnfinishedReturn {
        /// What it left.
        path: PathBuf,
    },
    /// The connection broke or the disk failed during COMMIT, or at the last step of a restore, and the
    /// outcome could not be learnt.
    #[error("it is not known whether the last write was committed")]
    CommitUnknown(#[source] Cause),
    /// A unique key, foreign key or check refused the row.
    #[error("a rule of the database refused the row")]
    Constraint(#[source] Cause),
    /// The lease is held under a newer fencing token.
    #[error("the lease {name} is no longer held under token {token}")]
    StaleLease {
        /// Which lease.
        name: String,
        /// The token that was refused.
        token: i64,
    },
    /// A value has the wrong shape.
    #[error("invalid value: {what}")]
    InvalidValue {
        /// What is wrong, on what.
        what: String,
    },
    /// The database handle was closed.
    #[error("the database is shutting down")]
    ShuttingDown,
    /// A defect: a statement that does not fit the schema, or a unit that panicked.
    #[error("internal storage error: {what}")]
    Internal {
        /// What happened.
        what: String,
    },
}

impl StorageError {
    /// A defect, in words.
    pub fn internal(what: impl Into<String>) -> Self {
        StorageError::Internal { what: what.into() }
    }

    /// The same, naming the server that it is about. Once is enough.
    pub(crate) fn at_server(self, name: &str) -> Self {
        let named = |cause: Cause| if cause.is::<At>() { cause } else { at(name, cause) };
        match self {
            StorageError::Unavailable(cause) => StorageError::Unavailable(named(cause)),
            StorageError::Busy(cause) => StorageError::Busy(named(cause)),
            StorageError::DiskFull(cause) => StorageError::DiskFull(named(cause)),
            StorageError::Corrupt(cause) => StorageError::Corrupt(named(cause)),
            StorageError::ReadOnly { cause, .. } => {
                StorageError::ReadOnly { path: name.into(), cause }
            }
            StorageError::Forbidden { cause, .. } => {
                StorageError::Forbidden { place: name.into(), cause }
            }
            StorageError::Foreign { why, .. } => StorageError::Foreign { place: name.into(), why },
            StorageError::ServerTooOld { version, .. } => {
                StorageError::ServerTooOld { place: name.into(), version }
            }
            other => other,
        }
    }

    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            StorageError::Unavailable(_) => ErrorCode::StorageUnavailable,
            StorageError::Busy(_) => ErrorCode::StorageBusy,
            StorageError::DiskFull(_) => ErrorCode::StorageDiskFull,
            StorageError::SizeLimit { .. } => ErrorCode::StorageSizeLimit,
            StorageError::ReadOnly { .. } => ErrorCode::StorageReadOnly,
            StorageError::Corrupt(_) => ErrorCode::StorageCorrupt,
            StorageError::Forbidden { .. } => ErrorCode::StorageForbidden,
            StorageError::Foreign { .. } => ErrorCode::StorageForeign,
            StorageError::ServerTooOld { .. } => ErrorCode::StorageServerTooOld,
            StorageError::NewerSchema { .. } | StorageError::NewerSchemaThanCopy { .. } => {
                ErrorCode::StorageNewerSchema
            }
            StorageError::Migration { .. } => ErrorCode::StorageMigrationFailed,
            StorageError::Locked { .. } => ErrorCode::StorageLocked,
            StorageError::DatabaseGone { .. }
            | StorageError::DatabaseTaken { .. }
            | StorageError::DatabaseElsewhere { .. } => ErrorCode::StorageDatabaseGone,
            StorageError::Linked { .. } => ErrorCode::StorageLinked,
            StorageError::UnfinishedRestore { .. } => ErrorCode::StorageUnfinishedRestore,
            StorageError::UnfinishedReturn { .. } => ErrorCode::StorageUnfinishedReturn,
            StorageError::CommitUnknown(_) => ErrorCode::StorageCommitUnknown,
            StorageError::Constraint(_) => ErrorCode::StorageConstraint,
            StorageError::StaleLease { .. } => ErrorCode::StorageStaleLease,
            StorageError::InvalidValue { .. } => ErrorCode::StorageInvalidValue,
            StorageError::ShuttingDown => ErrorCode::StorageShuttingDown,
            StorageError::Internal { .. } => ErrorCode::StorageInternal,
        }
    }

    /// Whether the same call may succeed later. An unknown commit is not tried again blindly:
    /// that would be a second write.
    pub fn retry_class(&self) -> RetryClass {
        retry_class(self.code())
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), describe(self))
    }
}

/// The command that puts a copy back, as a shell reads it.
fn going_back(copy: &Path) -> String {
    let word = |path: &Path| shell_word(&path.display().to_string()).into_owned();
    let folder = copy.parent().map(word).unwrap_or_default();
    format!("palyra --data-dir {folder} backup restore {}", word(copy))
}

/// What the registry says of a code, as a class.
pub(crate) fn retry_class(code: ErrorCode) -> RetryClass {
    if code.retryable() { RetryClass::TransientNetwork } else { RetryClass::Permanent }
}

/// What an error is about, before what went wrong.
#[derive(Debug, thiserror::Error)]
#[error("{place}")]
struct At {
    place: String,
    #[source]
    cause: Cause,
}

/// The cause, with the file or server that it is about.
pub(crate) fn at(place: impl Into<String>, cause: Cause) -> Cause {
    Arc::new(At { place: place.into(), cause })
}

/// The error and its chain of causes on one line.
pub fn describe(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        next = cause.source();
    }
    line
}

#[cfg(test)]
mod tests;
