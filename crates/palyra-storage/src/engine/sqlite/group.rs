//! The units that are committed together.
//!
//! Few have anything to undo, so they run one after the other in the transaction as it is. One that
//! refuses after it has written makes the group start over with a savepoint for each unit, so that
//! its failure undoes nobody else's work.

use std::path::Path;

use rusqlite::Connection;

use super::connection::classify;
use super::statements::{SqliteStatements, statement};
use crate::StorageError;
use crate::notify::Topic;
use crate::tx::{Tx, fails_everything};
use crate::unit::{UnitOfWork, Verdict};

/// A unit that ran, and whether what it wrote is part of the commit.
pub(super) struct Ran {
    pub(super) unit: Box<dyn UnitOfWork>,
    pub(super) is_kept: bool,
    pub(super) topics: Vec<Topic>,
}

impl Ran {
    pub(super) fn nothing(unit: Box<dyn UnitOfWork>) -> Self {
        Self { unit, is_kept: false, topics: Vec::new() }
    }
}

/// A transaction with those who are in it so far.
pub(super) struct Group<'a> {
    connection: &'a Connection,
    path: &'a Path,
    ran: &'a mut Vec<Ran>,
    apart: bool,
}

impl<'a> Group<'a> {
    pub(super) fn begin(
        connection: &'a Connection,
        path: &'a Path,
        ran: &'a mut Vec<Ran>,
    ) -> Result<Self, StorageError> {
        let group = Self { connection, path, ran, apart: false };
        group.statement("BEGIN IMMEDIATE").map(|()| group)
    }

    pub(super) fn len(&self) -> usize {
        self.ran.len()
    }

    /// Runs a unit, which is among those that ran afterwards. An error is the end of the transaction.
    pub(super) fn run(&mut self, unit: Box<dyn UnitOfWork>) -> Result<(), StorageError> {
        if self.apart {
            return self.run_apart(unit);
        }
        if self.decide(unit)?.wrote_in_vain {
            self.start_over()?;
        }
        Ok(())
    }

    fn start_over(&mut self) -> Result<(), StorageError> {
        self.apart = true;
        self.statement("ROLLBACK")?;
        self.statement("BEGIN IMMEDIATE")?;
        let mut again = std::mem::take(self.ran).into_iter();
        while let Some(Ran { unit, .. }) = again.next() {
            if let Err(error) = self.run_apart(unit) {
                self.ran.extend(again.map(|rest| Ran::nothing(rest.unit)));
                return Err(error);
            }
        }
        Ok(())
    }

    fn run_apart(&mut self, unit: Box<dyn UnitOfWork>) -> Result<(), StorageError> {
        if let Err(error) = self.statement("SAVEPOINT unit") {
            self.ran.push(Ran::nothing(unit));
            return Err(error);
        }
        if !self.decide(unit)?.is_kept {
            self.statement("ROLLBACK TO unit")?;
        }
        // With all that is inside of it: a unit that panicked may have left one of its own open.
        self.statement("RELEASE unit")
    }

    fn decide(&mut self, mut unit: Box<dyn UnitOfWork>) -> Result<Decided, StorageError> {
        let mut statements = SqliteStatements::new(self.connection, self.path);
        let mut tx = Tx::new(&mut statements);
        let verdict = unit.run(&mut tx);
        let fatal = tx.spoilt().filter(|error| fails_everything(error)).cloned();
        let (is_kept, topics) = match verdict {
            Verdict::Keep(after) => (true, after.topics),
            Verdict::Undo => (false, Vec::new()),
        };
        self.ran.push(Ran { unit, is_kept, topics });
        match fatal.filter(|_| !is_kept) {
            Some(error) => Err(error),
            None if self.connection.is_autocommit() => {
                Err(StorageError::internal("SQLite left the transaction by itself"))
            }
            None => Ok(Decided { is_kept, wrote_in_vain: statements.wrote && !is_kept }),
        }
    }

    fn statement(&self, text: &'static str) -> Result<(), StorageError> {
        statement(self.connection, text).map_err(|error| classify(error, self.path))
    }
}

struct Decided {
    is_kept: bool,
    /// It refused after it had written.
    wrote_in_vain: bool,
}
