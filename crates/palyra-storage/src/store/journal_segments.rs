//! `journal_segments`: sealed parts of the journal. The row stays when the entries are pruned.

use palyra_common::time::Timestamp;

use crate::journal::Hash;
use crate::{Row, Sql, StorageError, Tx, params, sql};

const SEAL: Sql = sql!(
    "INSERT INTO journal_segments (segment, first_seq, last_seq, final_hash, sealed_at, pruned_at)
     VALUES ($1, $2, $3, $4, $5, NULL)"
);

const ALL: Sql = sql!(
    "SELECT segment, first_seq, last_seq, final_hash, sealed_at, pruned_at
     FROM journal_segments ORDER BY segment"
);

const OLDEST_KEPT: Sql = sql!(
    "SELECT segment, first_seq, last_seq, final_hash, sealed_at, pruned_at
     FROM journal_segments WHERE pruned_at IS NULL ORDER BY segment LIMIT 1"
);

const PRUNED_THROUGH: Sql =
    sql!("SELECT coalesce(max(last_seq), 0) FROM journal_segments WHERE pruned_at IS NOT NULL");

const PRUNE: Sql = sql!("UPDATE journal_segments SET pruned_at = $2 WHERE segment = $1");

/// A sealed segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 1.
    pub segment: i64,
    /// The number of its first entry.
    pub first_seq: i64,
    /// The number of its last entry.
    pub last_seq: i64,
    /// The hash of its last entry, on which the next segment builds.
    pub final_hash: Hash,
    /// When it was sealed.
    pub sealed_at: Timestamp,
    /// When its entries were removed.
    pub pruned_at: Option<Timestamp>,
}

pub(crate) fn seal(tx: &mut Tx<'_>, sealed: &Segment) -> Result<(), StorageError> {
    let Segment { segment, first_seq, last_seq, final_hash, sealed_at, pruned_at: _ } = sealed;
    let params = params![*segment, *first_seq, *last_seq, final_hash.as_slice(), *sealed_at];
    tx.execute(&SEAL, params).map(drop)
}

/// All segments ever sealed. One is sealed a day or every ten thousand entries, so they are few.
pub(crate) fn all(tx: &mut Tx<'_>) -> Result<Vec<Segment>, StorageError> {
    tx.query(&ALL, params![], read)
}

pub(crate) fn oldest_kept(tx: &mut Tx<'_>) -> Result<Option<Segment>, StorageError> {
    tx.query_opt(&OLDEST_KEPT, params![], read)
}

/// The last entry of the last segment that has a tombstone. Segments go in order, so all entries
/// up to it belong to such.
pub(crate) fn pruned_through(tx: &mut Tx<'_>) -> Result<i64, StorageError> {
    tx.query_one(&PRUNED_THROUGH, params![], |row| row.get(0))
}

pub(crate) const TABLE: &str = "journal_segments";

/// The columns of [`read`], in its order.
pub(crate) const COLUMNS: &[&str] =
    &["segment", "first_seq", "last_seq", "final_hash", "sealed_at", "pruned_at"];

pub(crate) fn read(row: &Row<'_>) -> Result<Segment, StorageError> {
    Ok(Segment {
        segment: row.get(0)?,
        first_seq: row.get(1)?,
        last_seq: row.get(2)?,
        final_hash: row.get(3)?,
        sealed_at: row.get(4)?,
        pruned_at: row.get(5)?,
    })
}

pub(crate) fn mark_pruned(
    tx: &mut Tx<'_>,
    segment: i64,
    at: Timestamp,
) -> Result<(), StorageError> {
    tx.execute(&PRUNE, params![segment, at]).map(drop)
}
