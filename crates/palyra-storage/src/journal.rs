//! `JournalStore`: who did what to what, with which outcome, in a chain that cannot be changed
//! unnoticed.

mod chain;
mod search;
mod verify;

use palyra_common::ids::EventId;
use palyra_common::time::{Duration, Timestamp};

pub(crate) use chain::append;
pub use chain::{ContentDigest, Hash};
pub use search::{Filter, Found, Order};
pub(crate) use verify::Walk;
pub use verify::{ChainFault, FaultKind, Verified};

use crate::notify::Topic;
use crate::retention::Step;
use crate::store::journal as rows;
use crate::store::journal_head::{self as head_row, Head};
use crate::store::journal_segments as segments;
pub use crate::store::journal_segments::Segment;
use crate::{Database, StorageError, Tx};

/// Rung when the journal has grown.
pub const TOPIC: Topic = Topic::new("journal");

/// The most entries that one page holds.
pub const PAGE_LIMIT: u32 = 1_000;

/// A segment is sealed after so many entries.
pub const SEGMENT_ENTRIES: i64 = 10_000;

/// A segment is sealed after so much time, if it holds anything.
pub const SEGMENT_AGE: Duration = Duration::from_days(1);

/// An entry to be added by [`Tx::record`]. It holds ids and digests, never content: content can
/// then be purged without a hole in the chain. Secrets are redacted before they come here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEvent {
    /// Its key: recording it twice is refused.
    pub id: EventId,
    /// When.
    pub at: Timestamp,
    /// Who: a principal.
    pub actor: String,
    /// Did what: `token.revoked`.
    pub action: String,
    /// To what.
    pub subject: String,
    /// From where: a surface or an address.
    pub origin: String,
    /// With which outcome.
    pub outcome: String,
    /// Further ids, as a JSON object.
    pub detail: String,
    /// What the content was, without holding it.
    pub content: Option<ContentDigest>,
}

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its number, in the order of commits, without gaps.
    pub seq: i64,
    /// The segment that it belongs to.
    pub segment: i64,
    /// What was recorded.
    pub event: JournalEvent,
    /// The hash over this entry and, through the one before, all earlier ones.
    pub hash: Hash,
}

/// The audit journal. Entries are added by [`Tx::record`] in the transaction that they are about.
#[derive(Debug, Clone)]
pub struct JournalStore {
    db: Database,
}

impl JournalStore {
    /// The journal of a database.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Looks for entries that fit `filter`, from number `from` on in the order given. Bounded: a
    /// page may be short and yet not the last, which [`Found::next`] tells.
    pub async fn search(
        &self,
        filter: Filter,
        order: Order,
        from: Option<i64>,
        limit: u32,
    ) -> Result<Found, StorageError> {
        search::search(&self.db, filter, order, from, limit).await
    }

    /// Entries after `cursor` (0 for all that are kept), oldest first.
    pub async fn page_after(&self, cursor: i64, limit: u32) -> Result<Vec<Recorded>, StorageError> {
        let limit = limit.min(PAGE_LIMIT);
        self.db.read(move |tx| rows::after(tx, cursor, limit)).await
    }

    /// The sealed segments, oldest first.
    pub async fn segments(&self) -> Result<Vec<Segment>, StorageError> {
        self.db.read(segments::all).await
    }

    /// Seals the open segment. Says whether there was anything in it.
    pub async fn seal(&self, now: Timestamp) -> Result<bool, StorageError> {
        self.db.write(move |tx| seal_open_segment(tx, now, Duration::from_millis(0))).await
    }

    /// Checks the whole chain, page by page, while others go on recording.
    pub async fn verify(&self) -> Result<Verified, StorageError> {
        verify::verify(&self.db).await
    }

    /// Forgets the salt of an entry's content digest, because the content was purged: what is
    /// left can no longer be compared with a guess. The chain stays whole.
    pub async fn forget_salt(&self, event: EventId) -> Result<bool, StorageError> {
        self.db.write(move |tx| rows::forget_salt(tx, event)).await
    }
}

/// One step of retention: removes entries, and seals what is old enough. Says how many entries
/// were removed.
pub(crate) fn step(tx: &mut Tx<'_>, told: Step) -> Result<u64, StorageError> {
    let removed = prune(tx, told)?;
    // Last, because whoever has the head keeps everybody else from recording until the commit.
    seal_open_segment(tx, told.now, SEGMENT_AGE)?;
    Ok(removed)
}

/// Seals the open segment if it holds anything and is at least `age` old. Takes the head only
/// then.
fn seal_open_segment(tx: &mut Tx<'_>, now: Timestamp, age: Duration) -> Result<bool, StorageError> {
    let due = |head: &Head| {
        head.seq >= head.segment_first_seq && now.since(head.segment_opened_at) >= age
    };
    if !due(&head_row::read(tx)?) {
        return Ok(false);
    }
    // Somebody else may have sealed it before the head was ours.
    let head = head_row::advance(tx, 0)?;
    if !due(&head) {
        return Ok(false);
    }
    let next = chain::seal(tx, &head, head.seq, now)?;
    head_row::set(tx, &next)?;
    Ok(true)
}

/// Chooses the oldest sealed segment that may go, leaves its tombstone, and removes entries of
/// such segments. The tombstone comes first: a check of the chain never meets half a segment.
fn prune(tx: &mut Tx<'_>, told: Step) -> Result<u64, StorageError> {
    let Step { now, before, count, limit } = told;
    let newest = head_row::read(tx)?.seq;
    let kept = segments::oldest_kept(tx)?;
    let goes = |kept: &Segment| kept.sealed_at < before || kept.last_seq <= newest - count;
    if let Some(kept) = kept.filter(goes) {
        segments::mark_pruned(tx, kept.segment, now)?;
    }
    let through = segments::pruned_through(tx)?;
    rows::delete_through(tx, through, limit)
}
