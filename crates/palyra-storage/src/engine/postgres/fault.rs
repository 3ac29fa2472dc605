//! What Postgres' errors mean to us.

use std::error::Error as _;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::error::DbError;

use super::place::Place;
use super::statements::WrongShape;
use super::version::ServerVersion;
use crate::StorageError;
use crate::error::{Cause, describe};

/// The database, where its place is not known.
pub(super) const POSTGRES: &str = "the Postgres database";

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
    if let Some(said) = error.as_db_error() {
        return said_by_server(said.code().code(), Arc::new(Said::by(said)));
    }
    if error.source().is_some_and(|source| source.is::<WrongShape>()) || was_not_sent(&error) {
        return Fault::plain(StorageError::internal(describe(&error)));
    }
    if refused_here(&error) {
        return Fault::forbidden(Arc::new(error));
    }
    Fault::lost(Arc::new(error))
}

/// The driver itself has found that it cannot log in: no password where one is asked for, or a
/// way to log in that it does not know. It does not say so but in words.
fn refused_here(error: &Error) -> bool {
    matches!(error.to_string().as_str(), "invalid configuration" | "authentication error")
}

fn said_by_server(state: &str, cause: Cause) -> Fault {
    match state {
        "40001" | "40P01" => Fault::conflict(cause),
        // The statement took too long: most often it waited for others.
        "57014" => Fault::conflict(cause),
        // A schema change elsewhere made a prepared statement useless; a new connection has none.
        "0A000" | "26000" => {
            Fault { error: StorageError::internal(describe(&cause)), again: Some(Again::Reconnect) }
        }
        // It took too long to go on, so that the server has ended it and the connection.
        "25P03" | "25P04" => Fault::lost(cause),
        "25006" => Fault::plain(StorageError::ReadOnly { path: PathBuf::from(POSTGRES), cause }),
        // Our names are made once, under a lock. Whoever made this one is another program.
        "42P07" => {
            let (place, why) = (POSTGRES.to_owned(), describe(&cause));
            Fault::plain(StorageError::Foreign { place, why })
        }
        "42501" => Fault::forbidden(cause),
        "53100" => Fault::plain(StorageError::DiskFull(cause)),
        // Damaged data and a damaged index. Other codes of class XX are defects of a program.
        "XX001" | "XX002" => Fault::plain(StorageError::Corrupt(cause)),
        _ => match state.get(..2).unwrap_or_default() {
            "08" | "53" | "57" => Fault::lost(cause),
            "23" => Fault::plain(StorageError::Constraint(cause)),
            "22" => Fault::plain(StorageError::InvalidValue { what: describe(&cause) }),
            "55" => Fault::conflict(cause),
            "28" | "3D" | "3F" => Fault::forbidden(cause),
            "58" => Fault::plain(StorageError::Unavailable(cause)),
            _ => Fault::plain(StorageError::internal(describe(&cause))),
        },
    }
}

impl Fault {
    fn plain(error: StorageError) -> Self {
        Self { error, again: None }
    }

    fn forbidden(cause: Cause) -> Self {
        Self::plain(StorageError::Forbidden { place: POSTGRES.to_owned(), cause })
    }

    pub(super) fn too_old(version: ServerVersion) -> Self {
        Self::plain(StorageError::ServerTooOld { place: POSTGRES.to_owned(), version })
    }

    /// Says which server it was.
    pub(super) fn at(self, place: &Place) -> Self {
        Self { error: self.error.at_server(place.name()), ..self }
    }

    /// The server has not answered in time. What it will do with what it was sent is not known.
    pub(super) fn silent(limit: Duration) -> Self {
        let silence = format!("no answer within {} seconds", limit.as_secs());
        Self::lost(Arc::new(std::io::Error::new(std::io::ErrorKind::TimedOut, silence)))
    }

    fn conflict(cause: Cause) -> Self {
        Self { error: StorageError::Busy(cause), again: Some(Again::Conflict) }
    }

    fn lost(cause: Cause) -> Self {
        Self { error: StorageError::Unavailable(cause), again: Some(Again::Reconnect) }
    }
}

/// The driver could not make a message of it, as it is too large: the connection is as it was.
fn was_not_sent(error: &Error) -> bool {
    error.to_string() == "error encoding message to server"
}

/// What the server said, on one line and without the parts in which it repeats rows and
/// statements: detail, hint and context.
#[derive(Debug)]
struct Said {
    severity: String,
    message: String,
    state: String,
    table: Option<String>,
    constraint: Option<String>,
}

impl Said {
    fn by(error: &DbError) -> Self {
        Self {
            severity: error.severity().to_owned(),
            message: error.message().split_whitespace().collect::<Vec<_>>().join(" "),
            state: error.code().code().to_owned(),
            table: error.table().map(str::to_owned),
            constraint: error.constraint().map(str::to_owned),
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}", self.severity, self.message, self.state)?;
        if let Some(table) = &self.table {
            write!(f, ", table {table}")?;
        }
        if let Some(constraint) = &self.constraint {
            write!(f, ", constraint {constraint}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Said {}
