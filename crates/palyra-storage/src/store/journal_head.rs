//! `journal_head`: the one row that says where the chain ends.

use palyra_common::time::Timestamp;

use crate::journal::Hash;
use crate::{Row, Sql, StorageError, Tx, params, sql};

/// Locks the head: from here on this transaction is the next to commit among those that record.
const ADVANCE: Sql = sql!(
    "UPDATE journal_head SET seq = seq + $1 WHERE id = 1
     RETURNING seq, segment, segment_first_seq, segment_opened_at, hash"
);

const SET: Sql = sql!(
    "UPDATE journal_head SET segment = $1, segment_first_seq = $2, segment_opened_at = $3,
         hash = $4
     WHERE id = 1"
);

const READ: Sql = sql!(
    "SELECT seq, segment, segment_first_seq, segment_opened_at, hash FROM journal_head
     WHERE id = 1"
);

/// Where the chain ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: i64,
    pub(crate) segment: i64,
    pub(crate) segment_first_seq: i64,
    pub(crate) segment_opened_at: Timestamp,
    pub(crate) hash: Hash,
}

pub(crate) const TABLE: &str = "journal_head";

/// The columns of [`read_row`], in its order.
pub(crate) const COLUMNS: &[&str] =
    &["seq", "segment", "segment_first_seq", "segment_opened_at", "hash"];

pub(crate) fn read_row(row: &Row<'_>) -> Result<Head, StorageError> {
    Ok(Head {
        seq: row.get(0)?,
        segment: row.get(1)?,
        segment_first_seq: row.get(2)?,
        segment_opened_at: row.get(3)?,
        hash: row.get(4)?,
    })
}

/// Takes `count` numbers and locks the head. What is returned already has the last of them.
pub(crate) fn advance(tx: &mut Tx<'_>, count: i64) -> Result<Head, StorageError> {
    tx.query_one(&ADVANCE, params![count], read_row)
}

/// Where the chain ends at this moment. Locks nothing.
pub(crate) fn read(tx: &mut Tx<'_>) -> Result<Head, StorageError> {
    tx.query_one(&READ, params![], read_row)
}

pub(crate) fn set(tx: &mut Tx<'_>, head: &Head) -> Result<(), StorageError> {
    let Head { segment, segment_first_seq, segment_opened_at, hash, seq: _ } = head;
    let params = params![*segment, *segment_first_seq, *segment_opened_at, hash.as_slice()];
    tx.execute(&SET, params).map(drop)
}
