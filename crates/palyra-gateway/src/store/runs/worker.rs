//! Who works on runs, and what there is to be worked on.

use palyra_common::ids::RunId;
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, claim_sql, params, sql, text};

use super::{Run, columns, read};

const CLAIM: Sql = claim_sql!(
    "UPDATE runs SET worker = $1, due_at = NULL, changed_at = $2 WHERE id IN (
         SELECT id FROM runs WHERE due_at <= $2 ORDER BY due_at LIMIT $3",
    concat!(") RETURNING ", columns!())
);

const OF_WORKER: Sql =
    sql!(concat!("SELECT ", columns!(), " FROM runs WHERE worker = $1 ORDER BY id"));

/// Those that it has not begun, and those with which it has just begun.
const NEW_OF_WORKER: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM runs WHERE worker = $1 AND phase = 'queued' ORDER BY id"
));

const WORKERS: Sql = sql!("SELECT DISTINCT worker FROM runs WHERE worker IS NOT NULL");

const FREE: Sql = sql!(
    "UPDATE runs SET worker = NULL, due_at = $2, recoveries = recoveries + 1 WHERE worker = $1"
);

/// Something went wrong with it that will not pass by itself.
const STUMBLE: Sql =
    sql!("UPDATE runs SET recoveries = recoveries + 1 WHERE id = $1 AND worker = $2");

const GIVE_BACK: Sql =
    sql!("UPDATE runs SET worker = NULL, due_at = $3 WHERE id = $1 AND worker = $2");

const NEXT_DUE: Sql = sql!("SELECT min(due_at) FROM runs WHERE due_at IS NOT NULL");

pub(crate) fn claim(
    tx: &mut Tx<'_>,
    worker: i64,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Run>, StorageError> {
    tx.query(&CLAIM, params![worker, now, limit], read)
}

pub(crate) fn of_worker(tx: &mut Tx<'_>, worker: i64) -> Result<Vec<Run>, StorageError> {
    tx.query(&OF_WORKER, params![worker], read)
}

/// Runs of a worker that it may not know of yet: they were born as its own.
pub(crate) fn new_of_worker(tx: &mut Tx<'_>, worker: i64) -> Result<Vec<Run>, StorageError> {
    tx.query(&NEW_OF_WORKER, params![worker], read)
}

/// Everybody who has a run.
pub(crate) fn workers(tx: &mut Tx<'_>) -> Result<Vec<i64>, StorageError> {
    tx.query(&WORKERS, params![], |row| row.get(0))
}

/// Takes all runs from a worker that is gone.
pub(crate) fn free(tx: &mut Tx<'_>, worker: i64, now: Timestamp) -> Result<u64, StorageError> {
    tx.execute(&FREE, params![worker, now])
}

/// Counts that a worker could not work on its run.
pub(crate) fn stumble(tx: &mut Tx<'_>, run: RunId, worker: i64) -> Result<(), StorageError> {
    tx.execute(&STUMBLE, params![text(run), worker]).map(drop)
}

/// Gives a run back: one that was not begun, or that a worker has to leave in order.
pub(crate) fn give_back(
    tx: &mut Tx<'_>,
    run: RunId,
    worker: i64,
    due_at: Timestamp,
) -> Result<(), StorageError> {
    tx.execute(&GIVE_BACK, params![text(run), worker, due_at]).map(drop)
}

pub(crate) fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StorageError> {
    tx.query_one(&NEXT_DUE, params![], |row| row.get(0))
}
