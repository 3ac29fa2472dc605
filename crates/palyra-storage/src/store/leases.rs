//! `leases`: who may do what only one worker at a time may do.

use palyra_common::ids::IncarnationId;
use palyra_common::time::Timestamp;

use super::counters;
use crate::value::text;
use crate::{Sql, StorageError, Tx, claim_sql, params, sql};

/// The token may come from before a pause in which others held the lease and gave it back; it must
/// not go back. That is why a lease that is given back keeps its row for a while.
const TAKE: Sql = sql!(
    "INSERT INTO leases (name, owner, token, expires_at, touched_at)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO UPDATE
     SET owner = EXCLUDED.owner, token = EXCLUDED.token, expires_at = EXCLUDED.expires_at,
         touched_at = EXCLUDED.touched_at
     WHERE leases.expires_at <= $5 AND leases.token < EXCLUDED.token
     RETURNING token"
);

const FENCE: Sql =
    sql!("UPDATE leases SET token = token WHERE name = $1 AND token = $2 AND expires_at > 0");

const RENEW: Sql = sql!(
    "UPDATE leases SET expires_at = $2, touched_at = $3
     WHERE owner = $1 AND expires_at > 0 RETURNING name, token"
);

const PROLONG: Sql = sql!(
    "UPDATE leases SET expires_at = $3, touched_at = $4
     WHERE name = $1 AND token = $2 AND expires_at > 0"
);

const RELEASE: Sql = sql!("UPDATE leases SET expires_at = 0 WHERE name = $1 AND token = $2");

const END_OVERDUE: Sql =
    sql!("UPDATE leases SET expires_at = 0 WHERE token = $1 AND expires_at <= $2");

const SWEEP: Sql = claim_sql!(
    "DELETE FROM leases WHERE name IN (
         SELECT name FROM leases WHERE expires_at < $1 AND touched_at < $1 ORDER BY name LIMIT $2",
    ")"
);

const RELEASE_EVERYTHING: Sql = sql!("DELETE FROM leases");

const HOLDER: Sql =
    sql!("SELECT owner, token, expires_at FROM leases WHERE name = $1 AND expires_at > 0");

const LIVES: Sql = sql!("SELECT count(*) FROM leases WHERE token = $1 AND expires_at > $2");

/// Who holds a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseHolder {
    /// The node incarnation.
    pub owner: IncarnationId,
    /// Its fencing token.
    pub token: i64,
    /// When others may try, by the clock that leases are kept by.
    pub expires_at: Timestamp,
}

/// Takes the lease if it is free or has expired. Returns the token.
pub(crate) fn take(
    tx: &mut Tx<'_>,
    name: &str,
    owner: IncarnationId,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<Option<i64>, StorageError> {
    let token = counters::next_token(tx)?;
    let params = params![name, text(owner), token, expires_at, now];
    tx.query_opt(&TAKE, params, |row| row.get(0))
}

/// Locks the row of the lease if it is still held under `token`, and says whether it is.
pub(crate) fn fence(tx: &mut Tx<'_>, name: &str, token: i64) -> Result<bool, StorageError> {
    Ok(tx.execute(&FENCE, params![name, token])? == 1)
}

/// Prolongs everything that `owner` holds. Returns what that is.
pub(crate) fn renew(
    tx: &mut Tx<'_>,
    owner: IncarnationId,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<Vec<(String, i64)>, StorageError> {
    let params = params![text(owner), expires_at, now];
    tx.query(&RENEW, params, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Prolongs one lease. Says whether it is still held under `token`.
pub(crate) fn prolong(
    tx: &mut Tx<'_>,
    name: &str,
    token: i64,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&PROLONG, params![name, token, expires_at, now])? == 1)
}

/// Removes rows of leases that nobody has held since `before`: longer than any pause between the
/// two statements of a taker.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}

pub(crate) fn release(tx: &mut Tx<'_>, name: &str, token: i64) -> Result<(), StorageError> {
    tx.execute(&RELEASE, params![name, token]).map(drop)
}

/// Ends a lease that has expired: its holder cannot renew it any more.
pub(crate) fn end_overdue(tx: &mut Tx<'_>, token: i64, now: Timestamp) -> Result<(), StorageError> {
    tx.execute(&END_OVERDUE, params![token, now]).map(drop)
}

/// For the one process that has the data directory to itself: whoever held a lease is dead.
pub(crate) fn release_everything(tx: &mut Tx<'_>) -> Result<u64, StorageError> {
    tx.execute(&RELEASE_EVERYTHING, params![])
}

pub(crate) fn holder(tx: &mut Tx<'_>, name: &str) -> Result<Option<LeaseHolder>, StorageError> {
    tx.query_opt(&HOLDER, params![name], |row| {
        Ok(LeaseHolder { owner: row.parse(0)?, token: row.get(1)?, expires_at: row.get(2)? })
    })
}

/// Whether a lease is held under this token.
pub(crate) fn lives(tx: &mut Tx<'_>, token: i64, now: Timestamp) -> Result<bool, StorageError> {
    Ok(tx.query_one(&LIVES, params![token, now], |row| row.get::<i64>(0))? > 0)
}
