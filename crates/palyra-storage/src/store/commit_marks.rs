//! `commit_marks`: which unit each connection committed last. Postgres only; see
//! `engine/postgres/marks.rs` for what it is for.

use palyra_common::time::Timestamp;

use crate::{Sql, StorageError, Tx, claim_sql, lock_sql, params, sql};

/// A row for a new connection, on its own before any unit.
pub(crate) const OPEN: Sql = sql!(
    "INSERT INTO commit_marks (slot, node, unit, at)
     VALUES ($1, $2, NULL, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))"
);

/// Marks a unit. It must fail, not pass over, when the row has been taken away; dividing by the
/// number of marked rows does that in one statement.
pub(crate) const MARK: Sql = sql!(
    "WITH marked AS (
         UPDATE commit_marks SET unit = $2,
             at = CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)
         WHERE slot = $1 RETURNING 1)
     SELECT 1 / count(*) FROM marked"
);

/// Which unit is marked, after any commit under way that has marked it; nobody marks another one
/// before this transaction has ended.
pub(crate) const HOLD: Sql = lock_sql!("SELECT unit FROM commit_marks WHERE slot = $1");

/// Takes the row away, after any commit under way that has marked it.
pub(crate) const TAKE: Sql = sql!("DELETE FROM commit_marks WHERE slot = $1 RETURNING unit");

/// Which unit is marked. Changes nothing, so that it can be asked again.
pub(crate) const READ: Sql = sql!("SELECT unit FROM commit_marks WHERE slot = $1");

const SWEEP: Sql = claim_sql!(
    "DELETE FROM commit_marks WHERE slot IN (
         SELECT slot FROM commit_marks WHERE at < $1 ORDER BY slot LIMIT $2",
    ")"
);

/// Removes rows of connections that have not committed since `before`. One that lives and is
/// swept notices at its next commit and makes a new row.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
