//! Runs that do a part of the work of another one, and end with it.

use palyra_common::ids::RunId;
use palyra_common::time::Timestamp;
use palyra_policy::run::RunState;
use palyra_storage::{Database, StorageError, Tx};

use super::TOPIC;
use super::signal::Signal;
use crate::error::GatewayError;
use crate::sessions::stop_at_rest;
use crate::store::{run_signals, runs};

/// Who stops a run whose parent has ended.
const BY: &str = "the run that it worked for";

/// The key of the conversation in which somebody else does what a call is about.
pub(super) fn key(parent: RunId, call: &str) -> String {
    format!("child:{parent}:{call}")
}

/// The calls of a run that others may work on.
pub(crate) fn given_away(state: &RunState) -> Vec<String> {
    state.begun().map(|call| call.call.id.clone()).collect()
}

/// Tells those who work on calls of a run that ends to stop. They are told, and no more: a child that
/// ends locks itself before its parent, and here the parent is locked already.
pub(crate) fn tell_to_stop(
    tx: &mut Tx<'_>,
    parent: RunId,
    calls: &[String],
    now: Timestamp,
) -> Result<(), StorageError> {
    for call in calls {
        for child in runs::open_under_key(tx, &key(parent, call), parent)? {
            run_signals::add(tx, child, &Signal::Abort { by: BY.to_owned() }, now)?;
            tx.notify(TOPIC);
        }
    }
    Ok(())
}

/// Tells all who work for a run that ends, whatever its calls are.
pub(super) fn tell_all_to_stop(
    tx: &mut Tx<'_>,
    parent: RunId,
    now: Timestamp,
) -> Result<(), StorageError> {
    for child in runs::open_below(tx, parent)? {
        run_signals::add(tx, child, &Signal::Abort { by: BY.to_owned() }, now)?;
        tx.notify(TOPIC);
    }
    Ok(())
}

/// Ends runs that were told to stop while nobody works on them.
pub(super) async fn end_those_at_rest(db: &Database, now: Timestamp) -> Result<(), StorageError> {
    for run in db.read(run_signals::stopped_at_rest).await? {
        let stop = move |tx: &mut Tx<'_>| stop_at_rest(tx, run, BY, now);
        match db.try_write(stop).await {
            Ok(()) => {}
            Err(GatewayError::Storage(error)) => return Err(error),
            Err(error) => tracing::warn!(%run, %error, "a run could not be stopped"),
        }
    }
    Ok(())
}
