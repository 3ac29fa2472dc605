//! The handle through which everything reads and writes.

mod examine;
mod lock;
mod open;
mod survey;
mod threads;
mod traces;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use palyra_common::ids::IncarnationId;
use tokio::sync::{mpsc, watch};

pub(crate) use lock::{DirectoryLock, Holding};
pub use open::{DATABASE_FILE, OpenOptions};
pub use survey::{SchemaFound, Survey};
pub(crate) use traces::has_blobs;

use crate::engine::EngineKind;
use crate::engine::export::Origin;
use crate::engine::sqlite::SqliteFile;
use crate::lease::Held;
use crate::migrate::SchemaState;
use crate::notify::{Bell, Subscription, Topic};
use crate::store::schema;
use crate::tx::Tx;
use crate::unit::{UnitOfWork, unit};
use crate::{StorageError, crash_point};

/// An open database. Cheap to clone; all clones are the same database.
///
/// A unit of work is a closure that may be run more than once, so it has no effect but on its
/// transaction: it never waits, never does IO and never looks at the clock. It reads what it
/// depends on inside itself. What must happen after the commit is returned from it.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    engine: EngineKind,
    origin: Origin,
    incarnation: IncarnationId,
    queues: RwLock<Option<Queues>>,
    bell: Arc<Bell>,
    held_leases: Held,
    closed: watch::Sender<bool>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

struct Queues {
    writes: mpsc::Sender<Box<dyn UnitOfWork>>,
    reads: mpsc::Sender<Box<dyn UnitOfWork>>,
}

#[derive(Clone, Copy)]
enum Queue {
    Writes,
    Reads,
}

impl Database {
    /// Runs a unit of work and commits it. Returns after the commit is on the disk.
    ///
    /// The unit is kept whole or not at all. If the caller stops waiting (drops the future) the
    /// unit may or may not be committed.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StorageError>
    where
        F: Fn(&mut Tx<'_>) -> Result<T, StorageError> + Send + 'static,
        T: Send + 'static,
    {
        self.try_write(work).await
    }

    /// The same for a unit with refusals of its own: its error undoes it.
    pub async fn try_write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
    {
        let (unit, answer) = unit(work);
        self.submit(Queue::Writes, unit).await?;
        let result = answer.await.unwrap_or_else(|_| Err(StorageError::ShuttingDown.into()));
        crash_point!("write.after_answer");
        result
    }

    /// Runs a unit of work that only reads, on one consistent state of the database.
    pub async fn read<T, F>(&self, work: F) -> Result<T, StorageError>
    where
        F: Fn(&mut Tx<'_>) -> Result<T, StorageError> + Send + 'static,
        T: Send + 'static,
    {
        let (unit, answer) = unit(work);
        self.submit(Queue::Reads, unit).await?;
        answer.await.unwrap_or(Err(StorageError::ShuttingDown))
    }

    /// Waits for changes of a topic from now on.
    pub fn subscribe(&self, topic: Topic) -> Subscription {
        self.0.bell.subscribe(topic)
    }

    /// Which engine holds the data.
    pub fn engine(&self) -> EngineKind {
        self.0.engine
    }

    /// This run of this node: the owner of its leases.
    pub fn incarnation(&self) -> IncarnationId {
        self.0.incarnation
    }

    /// How many units of work wait to be written.
    pub(crate) fn waiting_writes(&self) -> usize {
        let queues = self.0.queues.read().unwrap_or_else(PoisonError::into_inner);
        queues.as_ref().map_or(0, |queues| queues.writes.max_capacity() - queues.writes.capacity())
    }

    /// Where its data is, for connections of their own.
    pub(crate) fn origin(&self) -> &Origin {
        &self.0.origin
    }

    /// Whether [`Database::close`] was called.
    pub(crate) fn is_closed(&self) -> bool {
        *self.0.closed.borrow()
    }

    pub(crate) fn held_leases(&self) -> &Held {
        &self.0.held_leases
    }

    /// The schema that the database has now.
    pub async fn schema(&self) -> Result<SchemaState, StorageError> {
        self.read(schema::read).await
    }

    /// How many bytes more fit below `storage.max_bytes`. None: it limits nothing here.
    pub async fn room(&self) -> Result<Option<u64>, StorageError> {
        let Origin::Sqlite(SqliteFile { max_bytes: Some(most), .. }) = self.origin() else {
            return Ok(None);
        };
        let most = *most;
        self.read(move |tx| schema::room(tx, most)).await.map(Some)
    }

    /// The version of SQLite or of the Postgres server, in its own words.
    pub async fn engine_version(&self) -> Result<String, StorageError> {
        self.read(schema::engine_version).await
    }

    /// Finishes what was submitted, refuses what comes after, and returns when every thread has
    /// ended and the data directory is free again.
    pub async fn close(&self) {
        drop(self.0.queues.write().unwrap_or_else(PoisonError::into_inner).take());
        self.0.closed.send_replace(true);
        let threads =
            std::mem::take(&mut *self.0.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                // A thread that panicked has nothing left to finish.
                let _ = thread.join();
            }
        });
        let _ = joined.await;
    }

    async fn submit(&self, queue: Queue, unit: Box<dyn UnitOfWork>) -> Result<(), StorageError> {
        let (sender, unit) = {
            let queues = self.0.queues.read().unwrap_or_else(PoisonError::into_inner);
            let queues = queues.as_ref().ok_or(StorageError::ShuttingDown)?;
            let sender = match queue {
                Queue::Writes => &queues.writes,
                Queue::Reads => &queues.reads,
            };
            match sender.try_send(unit) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Full(unit)) => (sender.clone(), unit),
                Err(mpsc::error::TrySendError::Closed(_)) => {
                    return Err(StorageError::ShuttingDown);
                }
            }
        };
        sender.send(unit).await.map_err(|_| StorageError::ShuttingDown)
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("engine", &self.0.engine)
            .field("incarnation", &self.0.incarnation)
            .finish_non_exhaustive()
    }
}
