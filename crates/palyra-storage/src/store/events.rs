//! `events`: the feed that consoles and hooks follow by cursor.

use palyra_common::time::Timestamp;

use crate::events::{Event, NewEvent};
use crate::{Sql, StorageError, Tx, params, sql};

const INSERT: Sql =
    sql!("INSERT INTO events (seq, at, kind, subject, body) VALUES ($1, $2, $3, $4, $5)");

const AFTER: Sql =
    sql!("SELECT seq, at, kind, subject, body FROM events WHERE seq > $1 ORDER BY seq LIMIT $2");

const FIRST: Sql = sql!("SELECT seq FROM events ORDER BY seq LIMIT 1");

/// Looks at no more rows than one step may remove, whatever their times are.
const OLDEST: Sql = sql!("SELECT seq, at FROM events ORDER BY seq LIMIT $1");

/// No row may be passed over because somebody else has locked it: that would leave a hole.
const PRUNE: Sql = sql!("DELETE FROM events WHERE seq <= $1");

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

/// Removes up to `limit` of the oldest events, as far as all of them are from before `before` or
/// numbered up to `beyond`.
///
/// Times are told by callers and need not follow the numbers. An old event behind a new one
/// stays until that goes too, so that what is gone is always a beginning of the feed: a reader is
/// told where it ends, and would not see a hole after it.
pub(crate) fn prune(
    tx: &mut Tx<'_>,
    before: Timestamp,
    beyond: i64,
    limit: u32,
) -> Result<u64, StorageError> {
    let oldest: Vec<(i64, Timestamp)> =
        tx.query(&OLDEST, params![limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let goes = |(seq, at): &(i64, Timestamp)| *at < before || *seq <= beyond;
    match oldest.into_iter().take_while(goes).last() {
        Some((through, _)) => tx.execute(&PRUNE, params![through]),
        None => Ok(0),
    }
}
