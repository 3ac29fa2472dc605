//! Watching runs: what is on the tape, then what comes, without a gap and nothing twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use palyra_common::ids::RunId;
use palyra_common::tape::TapeEntry;
use palyra_policy::run::is_final;
use palyra_storage::{Database, EngineKind, StorageError, Topic};
use tokio::sync::watch;

use crate::store::{runs, tape};

/// Rung on other nodes when a tape has grown.
pub(crate) const TOPIC: Topic = Topic::new("tape");
/// Events that are read at once.
const PAGE: u32 = 256;
/// How often to look without having been told.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_secs(2);

/// Those who watch. Cheap to clone.
#[derive(Clone)]
pub struct Streams(Arc<Inner>);

struct Inner {
    db: Database,
    watched: Mutex<HashMap<RunId, watch::Sender<u64>>>,
}

impl Streams {
    /// Nobody watches yet.
    pub fn new(db: Database) -> Self {
        Self(Arc::new(Inner { db, watched: Mutex::default() }))
    }

    /// Tells those who watch a run that its tape has grown.
    pub(crate) fn touch(&self, run: RunId) {
        let watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watched.get(&run) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Watches a run from the event behind `after` on.
    pub fn follow(&self, run: RunId, after: i64) -> Follow {
        let mut watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let touched = watched.entry(run).or_insert_with(|| watch::channel(0).0).subscribe();
        let others = match self.0.db.engine() {
            EngineKind::Sqlite => None,
            EngineKind::Postgres => Some(self.0.db.subscribe(TOPIC)),
        };
        Follow { streams: self.clone(), run, after, touched, others, ended: false }
    }

    fn forget(&self, run: RunId) {
        let mut watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.get(&run).is_some_and(|sender| sender.receiver_count() <= 1) {
            watched.remove(&run);
        }
    }
}

/// One who watches a run.
pub struct Follow {
    streams: Streams,
    run: RunId,
    after: i64,
    touched: watch::Receiver<u64>,
    others: Option<palyra_storage::Subscription>,
    ended: bool,
}

impl Follow {
    /// The next events; empty once the run has ended and everything was read. Cancel safe.
    pub async fn next(&mut self) -> Result<Vec<TapeEntry>, StorageError> {
        loop {
            self.touched.mark_unchanged();
            let (run, after) = (self.run, self.after);
            let read = move |tx: &mut palyra_storage::Tx<'_>| {
                let events = tape::after(tx, run, after, PAGE)?;
                let ended = runs::one(tx, run)?.is_none_or(|run| is_final(run.phase));
                Ok((events, ended))
            };
            let (events, ended) = self.streams.0.db.read(read).await?;
            if let Some(last) = events.last() {
                self.after = last.seq;
                return Ok(events);
            }
            if ended || self.ended {
                self.ended = true;
                return Ok(Vec::new());
            }
            let elsewhere = async {
                match &mut self.others {
                    Some(others) => others.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.touched.changed() => {}
                () = elsewhere => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.streams.forget(self.run);
    }
}
