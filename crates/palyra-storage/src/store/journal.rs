//! `journal`: the entries of the audit trail.

use palyra_common::time::Timestamp;

use crate::journal::{Filter, Hash, JournalEvent, Order, Recorded};
use crate::value::{Row, text};
use crate::{Sql, StorageError, Tx, params, sql};

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

/// Both ends of the scan are given, so that a filter which fits nothing costs no more than one
/// which fits all. `$4` ends in a dot to mean every action that begins with it.
const MATCHING_UP: Sql = sql!(
    "SELECT seq, segment, event_id, at, actor, action, subject, origin, outcome, detail,
         content_digest, content_salt, hash
     FROM journal WHERE seq >= $1 AND seq <= $2 AND ($3 = '' OR actor = $3)
         AND ($4 = '' OR action = $4 OR ($5 <> '' AND substr(action, 1, length($5)) = $5))
         AND ($6 = '' OR subject = $6) AND at >= $7 AND at < $8
     ORDER BY seq LIMIT $9"
);

const MATCHING_DOWN: Sql = sql!(
    "SELECT seq, segment, event_id, at, actor, action, subject, origin, outcome, detail,
         content_digest, content_salt, hash
     FROM journal WHERE seq >= $1 AND seq <= $2 AND ($3 = '' OR actor = $3)
         AND ($4 = '' OR action = $4 OR ($5 <> '' AND substr(action, 1, length($5)) = $5))
         AND ($6 = '' OR subject = $6) AND at >= $7 AND at < $8
     ORDER BY seq DESC LIMIT $9"
);

const FORGET_SALT: Sql = sql!("UPDATE journal SET content_salt = NULL WHERE event_id = $1");

const DELETE_THROUGH: Sql = sql!(
    "DELETE FROM journal WHERE seq IN (
         SELECT seq FROM journal WHERE seq <= $1 ORDER BY seq LIMIT $2)"
);

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

pub(crate) const TABLE: &str = "journal";

/// The columns of [`read`], in its order.
pub(crate) const COLUMNS: &[&str] = &[
    "seq",
    "segment",
    "event_id",
    "at",
    "actor",
    "action",
    "subject",
    "origin",
    "outcome",
    "detail",
    "content_digest",
    "content_salt",
    "hash",
];

pub(crate) fn after(tx: &mut Tx<'_>, seq: i64, limit: u32) -> Result<Vec<Recorded>, StorageError> {
    tx.query(&AFTER, params![seq, limit], read)
}

/// Entries numbered `from` to `to` that fit the filter, at most `limit`.
pub(crate) fn matching(
    tx: &mut Tx<'_>,
    (from, to): (i64, i64),
    filter: &Filter,
    order: Order,
    limit: u32,
) -> Result<Vec<Recorded>, StorageError> {
    let sql = match order {
        Order::OldestFirst => &MATCHING_UP,
        Order::NewestFirst => &MATCHING_DOWN,
    };
    let prefix = if filter.action.ends_with('.') { filter.action.as_str() } else { "" };
    let params = params![
        from,
        to,
        &filter.actor,
        &filter.action,
        prefix,
        &filter.subject,
        filter.since.unwrap_or(Timestamp::from_unix_millis(i64::MIN)),
        filter.until.unwrap_or(Timestamp::from_unix_millis(i64::MAX)),
        limit,
    ];
    tx.query(sql, params, read)
}

/// A whole row.
pub(crate) fn read(row: &Row<'_>) -> Result<Recorded, StorageError> {
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
}

pub(crate) fn forget_salt(
    tx: &mut Tx<'_>,
    event: palyra_common::ids::EventId,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&FORGET_SALT, params![text(event)])? == 1)
}

/// Removes up to `limit` entries, the oldest first, numbered up to `through`.
pub(crate) fn delete_through(
    tx: &mut Tx<'_>,
    through: i64,
    limit: u32,
) -> Result<u64, StorageError> {
    tx.execute(&DELETE_THROUGH, params![through, limit])
}
