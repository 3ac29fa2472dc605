//! The event feed: what happened, numbered in the order of commits.

use palyra_common::time::Timestamp;
use serde_json::Value;

use crate::notify::Topic;
use crate::store::{counters, events as rows};
use crate::{Database, StorageError, Tx};

/// Rung when the feed has grown.
pub const TOPIC: Topic = Topic::new("events");

/// The most events that one page holds.
pub const PAGE_LIMIT: u32 = 1_000;

/// The counter that numbers the feed.
const COUNTER: &str = "events";

/// An event to be added by [`Tx::emit`].
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// When it happened.
    pub at: Timestamp,
    /// What happened: `connector.started`.
    pub kind: String,
    /// To what: `connector:echo`.
    pub subject: String,
    /// What a reader needs to know besides.
    pub body: Value,
}

/// An event of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number. A reader that has seen number n has been able to see every smaller one.
    pub seq: i64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub kind: String,
    /// To what.
    pub subject: String,
    /// Details.
    pub body: Value,
}

/// A part of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Events after the cursor, oldest first.
    pub events: Vec<Event>,
    /// Events up to this number are no longer kept. A reader whose cursor is smaller has missed
    /// some and must look at the state itself.
    pub pruned_through: i64,
}

/// Reads what came after `cursor` (0 for everything that is kept).
pub async fn page_after(db: &Database, cursor: i64, limit: u32) -> Result<Page, StorageError> {
    let limit = limit.min(PAGE_LIMIT);
    db.read(move |tx| {
        let pruned_through = match rows::first(tx)? {
            Some(first) => first - 1,
            None => counters::last(tx, COUNTER)?,
        };
        Ok(Page { events: rows::after(tx, cursor, limit)?, pruned_through })
    })
    .await
}

/// The number of the newest event: where a reader starts that wants only what comes.
pub async fn newest(db: &Database) -> Result<i64, StorageError> {
    db.read(|tx| counters::last(tx, COUNTER)).await
}

pub(crate) fn append(tx: &mut Tx<'_>, events: &[NewEvent]) -> Result<(), StorageError> {
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let first = counters::take(tx, COUNTER, count)?;
    for (seq, event) in (first..).zip(events) {
        rows::insert(tx, seq, event)?;
    }
    Ok(())
}

/// Removes up to `limit` events, the oldest first, that are older than `before` or not among the
/// newest `keep`. Says how many.
pub(crate) fn prune(
    tx: &mut Tx<'_>,
    before: Timestamp,
    keep: i64,
    limit: u32,
) -> Result<u64, StorageError> {
    let beyond = counters::last(tx, COUNTER)?.saturating_sub(keep);
    rows::prune(tx, before, beyond, limit)
}
