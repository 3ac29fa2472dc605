//! The one thread that writes. It commits for everybody who is waiting, once.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::SqliteFile;
use super::connection::{classify, open_writer};
use super::log_size::LogSize;
use super::statements::{SqliteStatements, savepoint};
use crate::notify::{Bell, Topic};
use crate::tx::{SavepointStep, Tx, fails_everything};
use crate::unit::{UnitOfWork, Verdict};
use crate::{StorageError, crash_point, metrics};

/// The largest group. Bounds how long the first caller of a group waits for the last.
const GROUP_LIMIT: usize = 256;

pub(crate) struct Writer {
    pub(crate) file: SqliteFile,
    pub(crate) connection: Option<Connection>,
    pub(crate) units: mpsc::Receiver<Box<dyn UnitOfWork>>,
    pub(crate) bell: Arc<Bell>,
    /// They end when nobody can ask them any more.
    pub(crate) readers: Vec<JoinHandle<()>>,
}

/// A unit that ran, and whether what it wrote is part of the commit.
struct Ran {
    unit: Box<dyn UnitOfWork>,
    is_kept: bool,
    topics: Vec<Topic>,
}

/// The transaction cannot go on: what SQLite said, those who were in it, and how far it got.
struct Broken {
    error: StorageError,
    ran: Vec<Ran>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing of it can be in the log as committed: it was not asked to be, or its last frame
    /// is the one for which there was no space.
    NotLogged,
    /// The failure may have come after the frames were complete.
    MaybeLogged,
}

impl Writer {
    /// Works until the last handle is gone.
    pub(crate) fn run(mut self) {
        let mut ran = Vec::with_capacity(GROUP_LIMIT);
        let mut log_size = LogSize::of(self.file.path());
        while let Some(first) = self.units.blocking_recv() {
            match self.group(first, &mut ran) {
                Ok(()) => self.connection.iter().for_each(|open| log_size.committed(open)),
                Err(broken) => self.give_up(broken),
            }
        }
        self.end(&log_size);
    }

    /// Leaves one file that is the whole database. Only a connection that writes can empty the
    /// log, and SQLite takes the log away only with the last connection: readers end before.
    fn end(mut self, log_size: &LogSize) {
        for reader in self.readers.drain(..) {
            // A thread that panicked has nothing left to finish.
            let _ = reader.join();
        }
        match ready(&mut self.connection, &self.file) {
            Ok(connection) => log_size.empty(connection),
            Err(error) => tracing::warn!(error = %crate::error::describe(&error),
                "could not empty the write-ahead log; the next start reads it"),
        }
        if let Some(Err((_, error))) = self.connection.take().map(Connection::close) {
            tracing::warn!(%error, "could not close the database in order");
        }
    }

    /// Runs `first` at once and then whatever has come in meanwhile, commits, answers. Nobody
    /// waits for a group to fill: alone, a caller is a group of one.
    fn group(&mut self, first: Box<dyn UnitOfWork>, ran: &mut Vec<Ran>) -> Result<(), Broken> {
        let connection = match ready(&mut self.connection, &self.file) {
            Ok(connection) => connection,
            Err(error) => return Err(Broken::before_commit(error, vec![Ran::nothing(first)])),
        };
        let fault = |error| classify(error, self.file.path());
        if let Err(error) = statement(connection, "BEGIN IMMEDIATE") {
            return Err(Broken::before_commit(fault(error), vec![Ran::nothing(first)]));
        }
        let mut next = Some(first);
        while let Some(unit) = next.take() {
            if !unit.is_abandoned()
                && let Err(error) = run_unit(connection, &self.file, unit, ran)
            {
                return Err(Broken::before_commit(error, std::mem::take(ran)));
            }
            if ran.len() < GROUP_LIMIT {
                next = self.units.try_recv().ok();
            }
        }
        crash_point!("sqlite.before_commit");
        let begun = Instant::now();
        if let Err(error) = statement(connection, "COMMIT") {
            let stage = match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => Stage::NotLogged,
                Some(_) | None => Stage::MaybeLogged,
            };
            return Err(Broken { error: fault(error), ran: std::mem::take(ran), stage });
        }
        let took = begun.elapsed();
        crash_point!("sqlite.after_commit");
        // Before the answers: whoever is answered finds their write counted.
        let kept = ran.iter().filter(|ran| ran.is_kept).count() as u64;
        if kept > 0 {
            metrics::committed(took, kept);
        }
        for Ran { unit, topics, .. } in ran.drain(..) {
            unit.answer(None);
            topics.iter().for_each(|topic| self.bell.ring(topic.as_str()));
        }
        Ok(())
    }

    /// After such an error SQLite may have rolled back and be in autocommit, so nothing of the
    /// connection is trusted again; closing it undoes the transaction.
    fn give_up(&mut self, broken: Broken) {
        let Broken { error, ran, stage } = broken;
        let error = self.file.name_limit(error);
        tracing::warn!(error = %crate::error::describe(&error), callers = ran.len(),
            "a group of writes failed");
        self.connection = None;
        let told = match stage {
            Stage::MaybeLogged if self.overwrite_leftovers().is_err() => {
                StorageError::CommitUnknown(Arc::new(error))
            }
            Stage::NotLogged | Stage::MaybeLogged => error,
        };
        for Ran { unit, .. } in ran {
            unit.answer(Some(told.clone()));
        }
    }

    /// A commit that failed late (at its sync, or when the index of the log could not grow) has
    /// left complete frames in the log. This process knows that they do not count, but a recovery
    /// after a crash would take them for committed. A small write of our own overwrites them, and
    /// only then is *not written* certain.
    fn overwrite_leftovers(&mut self) -> Result<(), StorageError> {
        let connection = ready(&mut self.connection, &self.file)?;
        let path = self.file.path();
        crate::store::schema::touch(&mut SqliteStatements { connection, path })
    }
}

impl Broken {
    fn before_commit(error: StorageError, ran: Vec<Ran>) -> Self {
        Self { error, ran, stage: Stage::NotLogged }
    }
}

impl Ran {
    fn nothing(unit: Box<dyn UnitOfWork>) -> Self {
        Self { unit, is_kept: false, topics: Vec::new() }
    }
}

fn ready<'a>(
    connection: &'a mut Option<Connection>,
    file: &SqliteFile,
) -> Result<&'a Connection, StorageError> {
    match connection {
        Some(connection) => Ok(connection),
        none => Ok(none.insert(open_writer(file)?)),
    }
}

/// Runs one unit inside its own savepoint, so that its failure undoes nobody else's work.
fn run_unit(
    connection: &Connection,
    file: &SqliteFile,
    mut unit: Box<dyn UnitOfWork>,
    ran: &mut Vec<Ran>,
) -> Result<(), StorageError> {
    let fault = |error| classify(error, file.path());
    let mut statements = SqliteStatements { connection, path: file.path() };
    let opened = savepoint(connection, SavepointStep::Open).map_err(fault);
    let mut tx = Tx::new(&mut statements);
    let outcome = opened.and_then(|()| match unit.run(&mut tx) {
        Verdict::Keep(after) => {
            savepoint(connection, SavepointStep::Keep).map_err(fault)?;
            Ok(Some(after.topics))
        }
        Verdict::Undo => match tx.spoilt().filter(|error| fails_everything(error)) {
            Some(error) => Err(error.clone()),
            None => {
                savepoint(connection, SavepointStep::Undo).map_err(fault)?;
                Ok(None)
            }
        },
    });
    match outcome {
        Ok(Some(topics)) => ran.push(Ran { unit, is_kept: true, topics }),
        Ok(None) => ran.push(Ran::nothing(unit)),
        Err(error) => {
            ran.push(Ran::nothing(unit));
            return Err(error);
        }
    }
    if connection.is_autocommit() {
        return Err(StorageError::internal("SQLite left the transaction by itself"));
    }
    Ok(())
}

fn statement(connection: &Connection, text: &'static str) -> rusqlite::Result<()> {
    connection.prepare_cached(text)?.execute([]).map(drop)
}
