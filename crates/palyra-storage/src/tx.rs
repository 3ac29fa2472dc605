//! The transaction that a unit of work sees.

use palyra_common::time::Timestamp;

use crate::events::{self, NewEvent};
use crate::journal::{self, JournalEvent};
use crate::notify::Topic;
use crate::value::{Param, Row};
use crate::{Sql, StorageError};

/// What an engine does for a transaction. One implementation per engine.
pub(crate) trait Statements {
    fn execute(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<u64, StorageError>;

    fn execute_many(&mut self, sql: &Sql, sets: &[&[Param<'_>]]) -> Result<Vec<u64>, StorageError>;

    /// A statement that may be kept back until another one, a savepoint or the commit is sent.
    fn execute_later(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<(), StorageError>;

    /// Sends what is kept back.
    fn send_kept(&mut self) -> Result<(), StorageError>;

    fn query(
        &mut self,
        sql: &Sql,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    fn savepoint(&mut self, step: SavepointStep) -> Result<(), StorageError>;

    /// The clock by which leases are kept: on one machine the caller's own, among nodes the
    /// one clock that all of them share.
    fn lease_time(&mut self, told: Timestamp) -> Result<Timestamp, StorageError>;
}

/// Savepoints nest by name reuse: `RELEASE` and `ROLLBACK TO` take the innermost one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SavepointStep {
    Open,
    Keep,
    Undo,
}

/// A transaction, handed to the closure given to [`Database::write`](crate::Database::write) or
/// [`Database::read`](crate::Database::read).
///
/// Both engines behave alike: after a statement has failed the transaction is spoilt, every
/// further statement is refused and nothing of it is kept, unless the failure happened inside
/// [`Tx::savepoint`], which undoes only its own part.
pub struct Tx<'a> {
    statements: &'a mut dyn Statements,
    spoilt: Option<StorageError>,
    after: AfterCommit,
    events: Vec<NewEvent>,
    journal: Vec<JournalEvent>,
}

/// What to tell others once the transaction is committed.
#[derive(Debug, Default)]
pub(crate) struct AfterCommit {
    pub(crate) topics: Vec<Topic>,
    /// Those that this node knows of already.
    pub(crate) topics_of_others: Vec<Topic>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(statements: &'a mut dyn Statements) -> Self {
        Self {
            statements,
            spoilt: None,
            after: AfterCommit::default(),
            events: Vec::new(),
            journal: Vec::new(),
        }
    }

    /// Runs a statement and says how many rows it changed.
    pub fn execute(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<u64, StorageError> {
        self.guarded(params, |statements| statements.execute(sql, params))
    }

    /// Runs a statement once for each set of parameters, in one trip where the engine is far away,
    /// and says how many rows each of them changed.
    pub fn execute_many<'p, S>(
        &mut self,
        sql: &Sql,
        sets: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u64>, StorageError>
    where
        S: AsRef<[Param<'p>]>,
    {
        let sets: Vec<S> = sets.into_iter().collect();
        let sets: Vec<&[Param<'p>]> = sets.iter().map(AsRef::as_ref).collect();
        self.guarded(sets.iter().copied().flatten(), |statements| {
            statements.execute_many(sql, &sets)
        })
    }

    /// Runs a statement of which nobody wants to know how many rows it changed. Where the engine is
    /// far away it travels with the next one that is waited for, or with the commit; if it fails, so
    /// does that one.
    pub fn execute_later(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<(), StorageError> {
        self.guarded(params, |statements| statements.execute_later(sql, params))
    }

    /// All rows of a result. Their order is that of the statement's `ORDER BY` and otherwise
    /// none: match rows of a `RETURNING` by key.
    pub fn query<T>(
        &mut self,
        sql: &Sql,
        params: &[Param<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StorageError>,
    ) -> Result<Vec<T>, StorageError> {
        let mut rows = Vec::new();
        self.guarded(params, |statements| {
            statements.query(sql, params, &mut |row| {
                rows.push(read(row)?);
                Ok(())
            })
        })?;
        Ok(rows)
    }

    /// The only row of a result, or none. More than one is a defect of the statement.
    pub fn query_opt<T>(
        &mut self,
        sql: &Sql,
        params: &[Param<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StorageError>,
    ) -> Result<Option<T>, StorageError> {
        let mut rows = self.query(sql, params, read)?;
        let row = rows.pop();
        if rows.is_empty() {
            Ok(row)
        } else {
            Err(self.spoil(StorageError::internal("a statement gave more than one row")))
        }
    }

    /// The only row of a result that always has one.
    pub fn query_one<T>(
        &mut self,
        sql: &Sql,
        params: &[Param<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        match self.query_opt(sql, params, read)? {
            Some(row) => Ok(row),
            None => Err(self.spoil(StorageError::internal("a statement gave no row"))),
        }
    }

    /// Runs `part` so that its failure undoes only what it did: afterwards the transaction is
    /// as it was before, and can go on.
    pub fn savepoint<T, E: From<StorageError>>(
        &mut self,
        part: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.step(SavepointStep::Open)?;
        let (events, journal) = (self.events.len(), self.journal.len());
        let (topics, others) = (self.after.topics.len(), self.after.topics_of_others.len());
        let outcome = part(self);
        if outcome.is_ok() {
            // What was kept back is part of it. If that fails the part is spoilt, as is seen below.
            let _ = self.guarded(&[], |statements| statements.send_kept());
        }
        // A swallowed failure inside `part` still spoils it: on Postgres there is nothing to keep.
        let outcome = match self.spoilt.take() {
            Some(error) if fails_everything(&error) => return Err(self.spoil(error).into()),
            Some(error) => outcome.and(Err(error.into())),
            None => outcome,
        };
        if outcome.is_ok() {
            self.step(SavepointStep::Keep)?;
        } else {
            self.events.truncate(events);
            self.journal.truncate(journal);
            self.after.topics.truncate(topics);
            self.after.topics_of_others.truncate(others);
            self.step(SavepointStep::Undo)?;
        }
        outcome
    }

    /// Wakes those who wait for `topic`, once and only if this transaction is committed.
    pub fn notify(&mut self, topic: Topic) {
        if !self.after.topics.contains(&topic) {
            self.after.topics.push(topic);
        }
    }

    /// The same on other nodes alone: those who wait here are told in another way.
    pub fn notify_others(&mut self, topic: Topic) {
        if !self.after.topics_of_others.contains(&topic) {
            self.after.topics_of_others.push(topic);
        }
    }

    /// Adds an event to the feed. It is written as the last thing of the transaction, so that
    /// numbers follow the order of commits.
    pub fn emit(&mut self, event: NewEvent) {
        self.events.push(event);
    }

    /// Adds an entry to the audit journal. Written last, like [`Tx::emit`].
    pub fn record(&mut self, event: JournalEvent) {
        self.journal.push(event);
    }

    /// The time by which leases are judged. `told` is what the caller's clock says.
    pub(crate) fn lease_time(&mut self, told: Timestamp) -> Result<Timestamp, StorageError> {
        self.guarded(&[], |statements| statements.lease_time(told))
    }

    /// Writes what was left for the end: feed, then journal, always in this order, so that two
    /// transactions never wait for each other.
    pub(crate) fn finish(&mut self) -> Result<AfterCommit, StorageError> {
        if let Some(error) = &self.spoilt {
            return Err(error.clone());
        }
        let events = std::mem::take(&mut self.events);
        if !events.is_empty() {
            events::append(self, &events)?;
            self.notify(events::TOPIC);
        }
        let journal = std::mem::take(&mut self.journal);
        if !journal.is_empty() {
            journal::append(self, &journal)?;
            self.notify(journal::TOPIC);
        }
        Ok(std::mem::take(&mut self.after))
    }

    pub(crate) fn spoilt(&self) -> Option<&StorageError> {
        self.spoilt.as_ref()
    }

    fn step(&mut self, step: SavepointStep) -> Result<(), StorageError> {
        self.guarded(&[], |statements| statements.savepoint(step))
    }

    fn guarded<'p, T>(
        &mut self,
        params: impl IntoIterator<Item = &'p Param<'p>>,
        run: impl FnOnce(&mut dyn Statements) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        if let Some(error) = &self.spoilt {
            return Err(error.clone());
        }
        let checked = params.into_iter().try_for_each(Param::check);
        let outcome = checked.and_then(|()| run(self.statements));
        outcome.map_err(|error| self.spoil(error))
    }

    fn spoil(&mut self, error: StorageError) -> StorageError {
        self.spoilt = Some(error.clone());
        error
    }
}

/// Whether an error means that the transaction itself is gone, so that not even a savepoint can
/// be rolled back to. A constraint, a defect or a refused value concerns one unit alone.
pub(crate) fn fails_everything(error: &StorageError) -> bool {
    match error {
        StorageError::Unavailable(_)
        | StorageError::Busy(_)
        | StorageError::DiskFull(_)
        | StorageError::SizeLimit { .. }
        | StorageError::ReadOnly { .. }
        | StorageError::Corrupt(_)
        | StorageError::CommitUnknown(_)
        | StorageError::ShuttingDown => true,
        StorageError::Forbidden { .. }
        | StorageError::Foreign { .. }
        | StorageError::ServerTooOld { .. }
        | StorageError::NewerSchema { .. }
        | StorageError::NewerSchemaThanCopy { .. }
        | StorageError::Migration { .. }
        | StorageError::Locked { .. }
        | StorageError::UnfinishedRestore { .. }
        | StorageError::UnfinishedReturn { .. }
        | StorageError::DatabaseGone { .. }
        | StorageError::DatabaseTaken { .. }
        | StorageError::DatabaseElsewhere { .. }
        | StorageError::Linked { .. }
        | StorageError::Constraint(_)
        | StorageError::StaleLease { .. }
        | StorageError::InvalidValue { .. }
        | StorageError::Internal { .. } => false,
    }
}
