//! `events`: the feed that consoles and hooks follow by cursor.

use palyra_common::time::Timestamp;

use crate::events::{Event, NewEvent};
use crate::{Sql, StorageError, Tx, claim_sql, params, sql};

const INSERT: Sql =
    sql!("INSERT INTO events (seq, at, kind, subject, body) VALUES ($1, $2, $3, $4, $5)");

const AFTER: Sql =
    sql!("SELECT seq, at, kind, subject, body FROM events WHERE seq > $1 ORDER BY seq LIMIT $2");

const FIRST: Sql = sql!("SELECT seq FROM events ORDER BY seq LIMIT 1");

const LAST: Sql = sql!("SELECT value FROM counters WHERE name = 'events'");

const PRUNE_OLD: Sql = claim_sql!(
    "DELETE FROM events WHERE seq IN (
         SELECT seq FROM events WHERE at < $1 ORDER BY at LIMIT $2",
    ")"
);

const PRUNE_MANY: Sql = claim_sql!(
    "DELETE FROM events WHERE seq IN (
         SELECT seq FROM events WHERE seq <= $1 ORDER BY seq LIMIT $2",
    ")"
);

pub(crate) fn insert(tx: &mut Tx<'_>, seq: i64, event: &NewEvent) -> Result<(), StorageError> {
    let NewEvent { at, kind, subject, body } = event;
    let body = body.to_string();
    tx.execute(&INSERT, params![seq, *at, kind, subject, &body]).map(drop)
}

pub(crate) fn after(tx: &mut Tx<'_>, seq: i64, limit: u32) -> Result<Vec<Event>, StorageError> {
    tx.query(&AFTER, params![seq, limit], |row| {
        Ok(Event {
            seq: row.get(0)?,
            at: row.get(1)?,
            kind: row.get(2)?,
            subject: row.get(3)?,
            body: row.parse(4)?,
        })
    })
}

/// The number of the oldest event that is still there.
pub(crate) fn first(tx: &mut Tx<'_>) -> Result<Option<i64>, StorageError> {
    tx.query_opt(&FIRST, params![], |row| row.get(0))
}

/// The number of the newest event ever, pruned or not.
pub(crate) fn last(tx: &mut Tx<'_>) -> Result<i64, StorageError> {
    tx.query_one(&LAST, params![], |row| row.get(0))
}

/// Removes some events, up to `limit` that are older than `before` and as many not among the newest `keep`.
pub(crate) fn prune(
    tx: &mut Tx<'_>,
    before: Timestamp,
    keep: i64,
    limit: u32,
) -> Result<u64, StorageError> {
    let through = last(tx)?.saturating_sub(keep);
    let old = tx.execute(&PRUNE_OLD, params![before, limit])?;
    let many = tx.execute(&PRUNE_MANY, params![through, limit])?;
    Ok(old + many)
}
