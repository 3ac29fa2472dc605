//! What Postgres' errors mean to us.

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::statements::WrongShape;
use crate::StorageError;

/// An error, and whether the whole unit should be run again because of it.
pub(crate) struct Fault {
    pub(super) error: StorageError,
    pub(super) again: Option<Again>,
}

/// Why a unit is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// Two transactions were in each other's way; nothing is wrong with the connection.
    Conflict,
    /// The connection is gone or of no use.
    Reconnect,
}

pub(super) fn classify(error: Error) -> Fault {
    let Some(state) = error.code().cloned() else {
        return if error.source().is_some_and(|source| source.is::<WrongShape>()) {
            Fault::plain(StorageError::internal(crate::error::describe(&error)))
        } else {
            Fault::lost(Arc::new(error))
        };
    };
    let cause: crate::error::Cause = Arc::new(error);
    match state.code() {
        "40001" | "40P01" => {
            Fault { error: StorageError::Busy(cause), again: Some(Again::Conflict) }
        }
        // A schema change elsewhere made a prepared statement useless; a new connection has none.
        "0A000" | "26000" => Fault {
            error: StorageError::internal(crate::error::describe(&cause)),
            again: Some(Again::Reconnect),
        },
        "25006" => Fault::plain(StorageError::ReadOnly {
            path: PathBuf::from("the Postgres server"),
            cause,
        }),
        code => match &code[..2] {
            "08" | "57" => Fault::lost(cause),
            "23" => Fault::plain(StorageError::Constraint(cause)),
            "22" => {
                Fault::plain(StorageError::InvalidValue { what: crate::error::describe(&cause) })
            }
            "53" if state == SqlState::DISK_FULL => Fault::plain(StorageError::DiskFull(cause)),
            "53" => Fault::lost(cause),
            "55" => Fault { error: StorageError::Busy(cause), again: Some(Again::Conflict) },
            "28" | "3D" => Fault::plain(StorageError::Unavailable(cause)),
            "58" => Fault::plain(StorageError::Unavailable(cause)),
            "XX" => Fault::plain(StorageError::Corrupt(cause)),
            _ => Fault::plain(StorageError::internal(crate::error::describe(&cause))),
        },
    }
}

impl Fault {
    fn plain(error: StorageError) -> Self {
        Self { error, again: None }
    }

    /// The server has not answered in time. What it will do with what it was sent is not known.
    pub(super) fn silent(limit: Duration) -> Self {
        let silence = format!("no answer within {} seconds", limit.as_secs());
        Self::lost(Arc::new(std::io::Error::new(std::io::ErrorKind::TimedOut, silence)))
    }

    fn lost(cause: crate::error::Cause) -> Self {
        Self { error: StorageError::Unavailable(cause), again: Some(Again::Reconnect) }
    }
}
