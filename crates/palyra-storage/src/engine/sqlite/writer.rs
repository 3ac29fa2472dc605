//! The one thread that writes. It commits for everybody who is waiting, once.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::SqliteFile;
use super::connection::{classify, open_writer};
use super::group::{Group, Ran};
use super::log_size::LogSize;
use super::statements::{SqliteStatements, statement};
use crate::database::Holding;
use crate::notify::Bell;
use crate::unit::UnitOfWork;
use crate::{StorageError, crash_point, metrics};

/// The largest group. Bounds how long the first caller of a group waits for the last.
const GROUP_LIMIT: usize = 256;

/// Which part of a commit's time may be waited for the callers of the last one.
const PATIENCE: u32 = 4;

/// And no longer, however slow the disk was. Who comes as late as this comes on their own.
const MOST_PATIENCE: Duration = Duration::from_millis(1);

pub(crate) struct Writer {
    pub(crate) file: SqliteFile,
    /// The last to go: nobody else may open the directory before the last commit is done.
    pub(crate) holding: Holding,
    pub(crate) connection: Option<Connection>,
    pub(crate) units: mpsc::Receiver<Box<dyn UnitOfWork>>,
    pub(crate) bell: Arc<Bell>,
    /// They end when nobody can ask them any more.
    pub(crate) readers: Vec<JoinHandle<()>>,
}

/// The group before. Callers who were answered together tend to come back together, so that it
/// pays to wait for as many of them, a little: a commit of its own would keep the late ones longer.
#[derive(Clone, Copy)]
struct LastGroup {
    callers: usize,
    took: Duration,
    answered: Instant,
}

/// How many a group waits for, and how long.
#[derive(Clone, Copy)]
struct Awaited {
    callers: usize,
    until: Instant,
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
        let mut last = None;
        while let Some(first) = self.units.blocking_recv() {
            match self.group(first, &mut ran, last) {
                Ok(group) => {
                    last = Some(group);
                    self.connection.iter().for_each(|open| log_size.committed(open));
                }
                Err(broken) => {
                    last = None;
                    self.give_up(broken);
                }
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
        match self.ready() {
            Ok(connection) => log_size.empty(connection),
            Err(error) => tracing::warn!(error = %crate::error::describe(&error),
                "could not empty the write-ahead log; the next start reads it"),
        }
        if let Some(Err((_, error))) = self.connection.take().map(Connection::close) {
            tracing::warn!(%error, "could not close the database in order");
        }
    }

    /// Runs `first` at once and then whatever has come in meanwhile, commits, answers. A caller who
    /// comes after a caller who was alone, or a while after others, waits for nobody.
    fn group(
        &mut self,
        first: Box<dyn UnitOfWork>,
        ran: &mut Vec<Ran>,
        last: Option<LastGroup>,
    ) -> Result<LastGroup, Broken> {
        let connection = match ready(&mut self.connection, &self.file, &mut self.holding) {
            Ok(connection) => connection,
            Err(error) => return Err(Broken::before_commit(error, vec![Ran::nothing(first)])),
        };
        let mut group = match Group::begin(connection, self.file.path(), ran) {
            Ok(group) => group,
            Err(error) => return Err(Broken::before_commit(error, vec![Ran::nothing(first)])),
        };
        let awaited = last.and_then(|last| last.awaited(Instant::now()));
        let mut next = Some(first);
        while let Some(unit) = next.take() {
            if !unit.is_abandoned()
                && let Err(error) = group.run(unit)
            {
                return Err(Broken::before_commit(error, std::mem::take(ran)));
            }
            let size = group.len();
            let more = |of: Awaited| size < of.callers && Instant::now() < of.until;
            let waits = || awaited.is_some_and(more);
            next = if size < GROUP_LIMIT { next_while(&mut self.units, waits) } else { None };
        }
        // Nothing is acknowledged that was written to a file which nobody finds again.
        if let Err(error) = self.holding.check() {
            return Err(Broken::before_commit(error, std::mem::take(ran)));
        }
        crash_point!("sqlite.before_commit");
        let begun = Instant::now();
        if let Err(error) = statement(connection, "COMMIT") {
            let stage = match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => Stage::NotLogged,
                Some(_) | None => Stage::MaybeLogged,
            };
            let error = classify(error, self.file.path());
            return Err(Broken { error, ran: std::mem::take(ran), stage });
        }
        let took = begun.elapsed();
        crash_point!("sqlite.after_commit");
        // Before the answers: whoever is answered finds their write counted.
        let kept = ran.iter().filter(|ran| ran.is_kept).count() as u64;
        if kept > 0 {
            metrics::committed(took, kept);
        }
        let callers = ran.len();
        for Ran { unit, topics, .. } in ran.drain(..) {
            unit.answer(None);
            topics.iter().for_each(|topic| self.bell.ring(topic.as_str()));
        }
        Ok(LastGroup { callers, took, answered: Instant::now() })
    }

    /// After such an error SQLite may have rolled back and be in autocommit, so nothing of the
    /// connection is trusted again; closing it undoes the transaction.
    fn give_up(&mut self, broken: Broken) {
        let Broken { error, ran, stage } = broken;
        let error = self.file.name_limit(error);
        tracing::warn!(error = %crate::error::describe(&error), callers = ran.len(),
            "a group of writes failed");
        // Open until nothing is left to come back: with the last connection goes the index of the
        // log, which alone knows that what such a commit left in it does not count.
        let old = self.connection.take();
        let told = match stage {
            Stage::MaybeLogged if self.overwrite_leftovers().is_err() => {
                StorageError::CommitUnknown(Arc::new(error))
            }
            Stage::NotLogged | Stage::MaybeLogged => error,
        };
        drop(old);
        for Ran { unit, .. } in ran {
            unit.answer(Some(told.clone()));
        }
    }

    /// A commit that failed late (at its sync, or when the index of the log could not grow) has
    /// left complete frames in the log. This process knows that they do not count, but a recovery
    /// after a crash would take them for committed. A small write of our own overwrites them, and
    /// only then is *not written* certain.
    fn overwrite_leftovers(&mut self) -> Result<(), StorageError> {
        let path = self.file.path().to_owned();
        let (connection, path) = (self.ready()?, &path);
        crate::store::schema::touch(&mut SqliteStatements::new(connection, path))
    }
}

impl Writer {
    fn ready(&mut self) -> Result<&Connection, StorageError> {
        ready(&mut self.connection, &self.file, &mut self.holding)
    }
}

impl LastGroup {
    /// What a group waits for that begins now: nobody, if this one was a while ago.
    fn awaited(&self, now: Instant) -> Option<Awaited> {
        let patience = (self.took / PATIENCE).min(MOST_PATIENCE);
        let recent = now.saturating_duration_since(self.answered) < MOST_PATIENCE;
        recent.then(|| Awaited { callers: self.callers, until: now + patience })
    }
}

impl Broken {
    fn before_commit(error: StorageError, ran: Vec<Ran>) -> Self {
        Self { error, ran, stage: Stage::NotLogged }
    }
}

/// The next unit, if one is there or comes in time.
fn next_while(
    units: &mut mpsc::Receiver<Box<dyn UnitOfWork>>,
    waits: impl Fn() -> bool,
) -> Option<Box<dyn UnitOfWork>> {
    loop {
        match units.try_recv() {
            Ok(unit) => return Some(unit),
            Err(TryRecvError::Empty) if waits() => std::thread::yield_now(),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
        }
    }
}

fn ready<'a>(
    connection: &'a mut Option<Connection>,
    file: &SqliteFile,
    holding: &mut Holding,
) -> Result<&'a Connection, StorageError> {
    match connection {
        Some(connection) => Ok(connection),
        none => {
            // SQLite would make one that is not there.
            holding.check()?;
            Ok(none.insert(open_writer(file)?))
        }
    }
}

#[cfg(test)]
mod tests;
