//! `journal` and its one-row head: the audit trail.

use palyra_common::time::Timestamp;

use crate::journal::{Hash, JournalEvent, Recorded};
use crate::value::text;
use crate::{Row, Sql, StorageError, Tx, params, sql};

/// Locks the head: from here on this transaction is the next to commit among those that record.
const ADVANCE: Sql = sql!(
    "UPDATE journal_head SET seq = seq + $1 WHERE id = 1
     RETURNING seq, segment, segment_first_seq, segment_opened_at, hash"
);

const SET_HEAD: Sql = sql!(
    "UPDATE journal_head SET segment = $1, segment_first_seq = $2, segment_opened_at = $3,
         hash = $4
     WHERE id = 1"
);

const READ_HEAD: Sql = sql!(
    "SELECT seq, segment, segment_first_seq, segment_opened_at, hash FROM journal_head
     WHERE id = 1"
);

const INSERT: Sql = sql!(
    "INSERT INTO journal (seq, segment, event_id, at, actor, action, subject, origin, outcome,
         detail, content_digest, content_salt, hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
);

const AFTER: Sql = sql!(
    "SELECT seq, segment, event_id, at, actor, action, subject, origin, outcome, detail,
         content_digest, content_salt, hash
     FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2"
);

const FORGET_SALT: Sql = sql!("UPDATE journal SET content_salt = NULL WHERE event_id = $1");

/// Entries of segments that have a tombstone.
const DELETE_PRUNED: Sql = sql!(
    "DELETE FROM journal WHERE seq IN (
         SELECT seq FROM journal WHERE seq <= (
             SELECT coalesce(max(last_seq), 0) FROM journal_segments
             WHERE pruned_at IS NOT NULL)
         ORDER BY seq LIMIT $1)"
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

fn read_head(row: &Row<'_>) -> Result<Head, StorageError> {
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
    tx.query_one(&ADVANCE, params![count], read_head)
}

pub(crate) fn head(tx: &mut Tx<'_>) -> Result<Head, StorageError> {
    tx.query_one(&READ_HEAD, params![], read_head)
}

pub(crate) fn set_head(tx: &mut Tx<'_>, head: &Head) -> Result<(), StorageError> {
    let Head { segment, segment_first_seq, segment_opened_at, hash, seq: _ } = head;
    let params = params![*segment, *segment_first_seq, *segment_opened_at, hash.as_slice()];
    tx.execute(&SET_HEAD, params).map(drop)
}

pub(crate) fn insert(tx: &mut Tx<'_>, recorded: &Recorded) -> Result<(), StorageError> {
    let Recorded { seq, segment, event, hash } = recorded;
    let content = event.content.as_ref();
    let params = params![
        *seq,
        *segment,
        text(event.id),
        event.at,
        &event.actor,
        &event.action,
        &event.subject,
        &event.origin,
        &event.outcome,
        &event.detail,
        content.map(|content| content.digest.as_slice()),
        content.and_then(|content| content.salt.as_ref()).map(|salt| salt.as_slice()),
        hash.as_slice(),
    ];
    tx.execute(&INSERT, params).map(drop)
}

pub(crate) fn after(tx: &mut Tx<'_>, seq: i64, limit: u32) -> Result<Vec<Recorded>, StorageError> {
    tx.query(&AFTER, params![seq, limit], |row| {
        let digest: Option<Hash> = row.get(10)?;
        let salt = row.get(11)?;
        Ok(Recorded {
            seq: row.get(0)?,
            segment: row.get(1)?,
            event: JournalEvent {
                id: row.parse(2)?,
                at: row.get(3)?,
                actor: row.get(4)?,
                action: row.get(5)?,
                subject: row.get(6)?,
                origin: row.get(7)?,
                outcome: row.get(8)?,
                detail: row.get(9)?,
                content: digest.map(|digest| crate::journal::ContentDigest { digest, salt }),
            },
            hash: row.get(12)?,
        })
    })
}

pub(crate) fn forget_salt(
    tx: &mut Tx<'_>,
    event: palyra_common::ids::EventId,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&FORGET_SALT, params![text(event)])? == 1)
}

/// Removes up to `limit` entries of segments that have a tombstone. Segments go in order, so
/// all entries up to the last tombstone belong to such.
pub(crate) fn delete_pruned(tx: &mut Tx<'_>, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&DELETE_PRUNED, params![limit])
}
