//! `run_signals`: what others want the worker of a run to know.

use palyra_common::ids::{EventId, RunId};
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, new_id, params, sql, text};

use super::{from_text, to_json};
use crate::engine::Signal;

const ADD: Sql = sql!("INSERT INTO run_signals (id, run_id, signal, at) VALUES ($1, $2, $3, $4)");

const OF_RUN: Sql = sql!("SELECT id, signal FROM run_signals WHERE run_id = $1 ORDER BY id");

const ANY: Sql = sql!("SELECT count(*) FROM run_signals WHERE run_id = $1");

const REMOVE: Sql = sql!("DELETE FROM run_signals WHERE id = $1");

const FORGET: Sql = sql!("DELETE FROM run_signals WHERE run_id = $1");

/// Runs of a worker for which there is something.
const FOR_WORKER: Sql = sql!(
    "SELECT DISTINCT s.run_id FROM run_signals s JOIN runs r ON r.id = s.run_id WHERE r.worker = $1"
);

/// What is told to runs that have not ended, and that nobody will take.
const AT_REST: Sql = sql!(
    "SELECT s.run_id, s.signal FROM run_signals s JOIN runs r ON r.id = s.run_id
     WHERE r.worker IS NULL AND r.due_at IS NULL AND r.history IS NULL ORDER BY s.run_id"
);

pub(crate) fn add(
    tx: &mut Tx<'_>,
    run: RunId,
    signal: &Signal,
    now: Timestamp,
) -> Result<(), StorageError> {
    let id: EventId = new_id();
    tx.execute(&ADD, params![text(id), text(run), &to_json(signal)?, now]).map(drop)
}

/// The signals of a run with their ids, in the order in which they were given.
pub(crate) fn of_run(tx: &mut Tx<'_>, run: RunId) -> Result<Vec<(String, Signal)>, StorageError> {
    tx.query(&OF_RUN, params![text(run)], |row| {
        Ok((row.get(0)?, from_text(&row.get::<String>(1)?)?))
    })
}

pub(crate) fn remove(tx: &mut Tx<'_>, id: &str) -> Result<(), StorageError> {
    tx.execute_later(&REMOVE, params![id])
}

/// Forgets what nobody needs to know any more.
pub(crate) fn forget(tx: &mut Tx<'_>, run: RunId) -> Result<(), StorageError> {
    tx.execute_later(&FORGET, params![text(run)])
}

pub(crate) fn for_worker(tx: &mut Tx<'_>, worker: i64) -> Result<Vec<RunId>, StorageError> {
    tx.query(&FOR_WORKER, params![worker], |row| row.parse(0))
}

/// Runs that somebody stops, that have not ended, and that nobody will take.
pub(crate) fn stopped_at_rest(tx: &mut Tx<'_>) -> Result<Vec<RunId>, StorageError> {
    let told = tx.query(&AT_REST, params![], |row| {
        Ok((row.parse(0)?, from_text::<Signal>(&row.get::<String>(1)?)?))
    })?;
    let stops = |signal: &Signal| matches!(signal, Signal::Abort { .. });
    let mut runs: Vec<RunId> =
        told.into_iter().filter(|(_, signal)| stops(signal)).map(|(run, _)| run).collect();
    runs.dedup();
    Ok(runs)
}

pub(crate) fn any(tx: &mut Tx<'_>, run: RunId) -> Result<bool, StorageError> {
    Ok(tx.query_one(&ANY, params![text(run)], |row| row.get::<i64>(0))? > 0)
}
