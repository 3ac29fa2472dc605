//! `counters`: numbers that follow the order of commits, and fencing tokens.

use crate::{Sql, StorageError, Tx, params, sql};

const ADVANCE: Sql = sql!("UPDATE counters SET value = value + $2 WHERE name = $1 RETURNING value");

const LAST: Sql = sql!("SELECT value FROM counters WHERE name = $1");

/// A token is only ever compared with others of the same lease, and the row of that lease is
/// written under a condition that tokens grow. So a sequence serves where nodes share a
/// database: it does not make them wait for each other.
const NEXT_TOKEN: Sql = sql!(
    sqlite: "UPDATE counters SET value = value + 1 WHERE name = 'fencing' RETURNING value",
    postgres: "SELECT nextval('fencing_tokens')",
);

/// A sequence does not follow transactions, so this is at least the largest token that the
/// transaction can see.
const LAST_TOKEN: Sql = sql!(
    sqlite: "SELECT value FROM counters WHERE name = 'fencing'",
    postgres: "SELECT last_value FROM fencing_tokens",
);

const SET_TOKEN: Sql = sql!(
    sqlite: "INSERT INTO counters (name, value) VALUES ('fencing', $1)",
    postgres: "SELECT setval('fencing_tokens', $1)",
);

/// Not a counter: a row that only a restored database has, until somebody has looked. A copy that was
/// kept of one has it already.
const MARK_RESTORED: Sql =
    sql!("INSERT INTO counters (name, value) VALUES ('restored', 1) ON CONFLICT (name) DO NOTHING");

/// Of several nodes that look at once, one finds it.
const TAKE_RESTORED: Sql = sql!("DELETE FROM counters WHERE name = 'restored'");

/// Takes `count` numbers and returns the first. The row stays locked until the transaction
/// ends, so this comes last in it.
pub(crate) fn take(tx: &mut Tx<'_>, name: &str, count: i64) -> Result<i64, StorageError> {
    let last: i64 = tx.query_one(&ADVANCE, params![name, count], |row| row.get(0))?;
    Ok(last - count + 1)
}

/// The last number that was taken and committed. Locks nothing.
pub(crate) fn last(tx: &mut Tx<'_>, name: &str) -> Result<i64, StorageError> {
    tx.query_one(&LAST, params![name], |row| row.get(0))
}

/// A token larger than any given before.
pub(crate) fn next_token(tx: &mut Tx<'_>) -> Result<i64, StorageError> {
    tx.query_one(&NEXT_TOKEN, params![], |row| row.get(0))
}

/// A number that no token given so far is larger than.
pub(crate) fn last_token(tx: &mut Tx<'_>) -> Result<i64, StorageError> {
    tx.query_one(&LAST_TOKEN, params![], |row| row.get(0))
}

/// Makes every token to come larger than `last`, in a database that has given none.
pub(crate) fn set_last_token(tx: &mut Tx<'_>, last: i64) -> Result<(), StorageError> {
    // A sequence starts at 1.
    tx.query(&SET_TOKEN, params![last.max(1)], |_| Ok(())).map(drop)
}

/// Writes down that the database was restored.
pub(crate) fn mark_restored(tx: &mut Tx<'_>) -> Result<(), StorageError> {
    tx.execute(&MARK_RESTORED, params![]).map(drop)
}

/// Says whether that is written down, and takes it away.
pub(crate) fn take_restored(tx: &mut Tx<'_>) -> Result<bool, StorageError> {
    Ok(tx.execute(&TAKE_RESTORED, params![])? == 1)
}
