//! Watching runs: what is on the tape, then what comes, without a gap and nothing twice.
//!
//! What a worker of this node has committed is handed to those who watch, so that however many they
//! are, nobody reads it again. What others have written is read once for all of them, by one of those
//! who wait. The tape is read by whoever comes, has fallen behind, or has missed something.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use palyra_common::ids::RunId;
use palyra_common::tape::{TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_policy::run::is_final;
use palyra_storage::{Database, StorageError, Subscription, Topic, Tx};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::deliveries::are_under_way;
use crate::store::tape::TapeLine;
use crate::store::{runs, tape};

#[cfg(test)]
mod tests;

/// Rung when a tape has grown: on the nodes that are not handed what was added.
pub(crate) const TOPIC: Topic = Topic::new("tape");
/// Events that are read at once.
const PAGE: u32 = 256;
/// Commits that somebody may be behind before they read the tape again.
const BEHIND: usize = 32;
/// How often to look without having been told.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often at most, however often it rings.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(20);

/// Those who watch. Cheap to clone.
#[derive(Clone)]
pub struct Streams(Arc<Inner>);

struct Inner {
    db: Database,
    watched: Mutex<HashMap<RunId, Watched>>,
    /// Had by the one of those who wait that looks for all of them.
    lookout: tokio::sync::Mutex<Lookout>,
}

/// What was added to a tape.
type Added = Arc<[TapeEntry]>;

struct Watched {
    sender: broadcast::Sender<Added>,
    /// The last event that everybody who watches has, or is handed. Nothing: nobody has read the tape.
    through: Option<i64>,
}

struct Lookout {
    told: Subscription,
    looked_at: Instant,
    /// When to look again.
    due_at: Instant,
}

impl Streams {
    /// Nobody watches yet.
    pub fn new(db: Database) -> Self {
        let now = Instant::now();
        let (told, looked_at, due_at) = (db.subscribe(TOPIC), now, now + LOOK_EVERY);
        let lookout = tokio::sync::Mutex::new(Lookout { told, looked_at, due_at });
        Self(Arc::new(Inner { db, watched: Mutex::default(), lookout }))
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<RunId, Watched>> {
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands those who watch a run what was just committed, with the numbers from `first` on.
    pub(crate) fn tell(&self, run: RunId, first: i64, events: Vec<TapeEvent>, at: Timestamp) {
        if let Some(watched) = self.watched().get_mut(&run) {
            let entry = |(seq, event)| TapeEntry { seq, at, event };
            watched.hand((first..).zip(events).map(entry).collect());
        }
    }

    /// Watches a run from the event behind `after` on.
    pub fn follow(&self, run: RunId, after: i64) -> Follow {
        let mut watched = self.watched();
        let new = || Watched { sender: broadcast::channel(BEHIND).0, through: None };
        let added = watched.entry(run).or_insert_with(new).sender.subscribe();
        Follow { streams: self.clone(), run, after, added: Some(added), at: At::Tape }
    }

    /// Looks for what others have written, for all who watch. Never returns. Cancel safe: somebody else
    /// who waits goes on with it.
    async fn look_out(&self) {
        let mut lookout = self.0.lookout.lock().await;
        loop {
            let Lookout { told, looked_at, due_at } = &mut *lookout;
            tokio::select! {
                () = told.changed() => *due_at = (*looked_at + LOOK_AT_MOST_EVERY).min(*due_at),
                () = tokio::time::sleep_until(*due_at) => {
                    if let Err(error) = self.look().await {
                        tracing::warn!(%error, "what is watched could not be read; trying again");
                    }
                    (*looked_at, *due_at) = (Instant::now(), Instant::now() + LOOK_EVERY);
                }
            }
        }
    }

    async fn look(&self) -> Result<(), StorageError> {
        let known = |(run, watched): (&RunId, &Watched)| Some((*run, watched.through?));
        let watched: Vec<(RunId, i64)> = self.watched().iter().filter_map(known).collect();
        let read = move |tx: &mut Tx<'_>| {
            let mut found = Vec::new();
            for (run, through) in &watched {
                found.push((*run, tape::after(tx, *run, *through, PAGE)?));
            }
            Ok(found)
        };
        let found = self.0.db.read(read).await?;
        let mut watched = self.watched();
        for (run, entries) in found.into_iter().filter(|(_, entries)| !entries.is_empty()) {
            if let Some(watched) = watched.get_mut(&run) {
                watched.hand(entries.into());
            }
        }
        Ok(())
    }
}

impl Watched {
    fn hand(&mut self, added: Added) {
        self.through = self.through.max(added.last().map(|entry| entry.seq));
        // Nobody may be there any more.
        let _ = self.sender.send(added);
    }
}

/// An event in a form in which somebody watches.
trait Entry: Sized + Send + 'static {
    /// Events behind `after`, in order.
    fn after(
        tx: &mut Tx<'_>,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Self>, StorageError>;

    /// What is handed over.
    fn of(entry: TapeEntry) -> Result<Self, StorageError>;

    /// Its number.
    fn seq(&self) -> i64;
}

impl Entry for TapeEntry {
    fn after(
        tx: &mut Tx<'_>,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Self>, StorageError> {
        tape::after(tx, run, after, limit)
    }

    fn of(entry: TapeEntry) -> Result<Self, StorageError> {
        Ok(entry)
    }

    fn seq(&self) -> i64 {
        self.seq
    }
}

impl Entry for TapeLine {
    fn after(
        tx: &mut Tx<'_>,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Self>, StorageError> {
        tape::lines_after(tx, run, after, limit)
    }

    fn of(entry: TapeEntry) -> Result<Self, StorageError> {
        tape::line(entry)
    }

    fn seq(&self) -> i64 {
        self.seq
    }
}

/// Where somebody who watches gets the next events from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// There may be more on the tape.
    Tape,
    /// What comes next is handed over.
    End,
    /// Nothing comes any more.
    Over,
}

/// One who watches a run.
pub struct Follow {
    streams: Streams,
    run: RunId,
    after: i64,
    /// There until it is dropped.
    added: Option<broadcast::Receiver<Added>>,
    at: At,
}

impl Follow {
    /// The next events; empty once the run has ended, nothing that it has sent is under way, and
    /// everything was read. Cancel safe.
    pub async fn next(&mut self) -> Result<Vec<TapeEntry>, StorageError> {
        self.next_as().await
    }

    /// The same, as it is passed on. Cancel safe.
    pub async fn next_lines(&mut self) -> Result<Vec<TapeLine>, StorageError> {
        self.next_as().await
    }

    async fn next_as<E: Entry>(&mut self) -> Result<Vec<E>, StorageError> {
        loop {
            match self.at {
                At::Over => return Ok(Vec::new()),
                At::Tape => {
                    let events: Vec<E> = self.read().await?;
                    if let Some(last) = events.last() {
                        self.after = last.seq();
                        return Ok(events);
                    }
                }
                At::End => match self.handed().await {
                    Some(events) => return events.into_iter().map(E::of).collect(),
                    None => self.at = At::Tape,
                },
            }
        }
    }

    /// What is on the tape.
    async fn read<E: Entry>(&mut self) -> Result<Vec<E>, StorageError> {
        let (run, after) = (self.run, self.after);
        let read = move |tx: &mut Tx<'_>| {
            let (events, place) = (E::after(tx, run, after, PAGE)?, runs::place(tx, run)?);
            // What became of its messages follows the end of a run.
            let more = match place {
                Some((_, phase)) if !is_final(phase) => true,
                Some(_) if events.is_empty() => are_under_way(tx, run)?,
                Some(_) | None => false,
            };
            Ok((events, place.filter(|_| more)))
        };
        let (events, open) = self.streams.0.db.read(read).await?;
        self.at = match open {
            _ if events.len() >= PAGE as usize => At::Tape,
            Some((next, _)) => {
                if let Some(watched) = self.streams.watched().get_mut(&run) {
                    // Others may have read less of it.
                    let last = next - 1;
                    watched.through = Some(watched.through.map_or(last, |all| all.min(last)));
                }
                At::End
            }
            None if events.is_empty() => At::Over,
            None => At::Tape,
        };
        Ok(events)
    }

    /// What is handed over next. Nothing: the tape is to be read.
    async fn handed(&mut self) -> Option<Vec<TapeEntry>> {
        loop {
            let added = tokio::select! {
                added = self.added.as_mut()?.recv() => added.ok()?,
                () = self.streams.look_out() => continue,
            };
            let may_be_last = |entry: &TapeEntry| {
                matches!(entry.event, TapeEvent::RunFinished(_) | TapeEvent::DeliverySettled(_))
            };
            if added.iter().any(may_be_last) {
                self.at = At::Tape;
            }
            // What was read before it was handed over is not shown again.
            let new = added.iter().filter(|entry| entry.seq > self.after);
            let new: Vec<TapeEntry> = new.cloned().collect();
            let (Some(first), Some(last)) = (new.first(), new.last()) else {
                if self.at == At::Tape { return None } else { continue }
            };
            // Something before it was not handed over, or is superseded.
            if first.seq != self.after + 1 {
                return None;
            }
            self.after = last.seq;
            return Some(new);
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let mut watched = self.streams.watched();
        // Of several who leave at once, the last one sees that it is.
        self.added = None;
        if watched.get(&self.run).is_some_and(|watched| watched.sender.receiver_count() == 0) {
            watched.remove(&self.run);
        }
    }
}
