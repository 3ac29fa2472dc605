//! What became of the messages of runs, on their tapes.

use palyra_common::ids::{EnvelopeId, RunId};
use palyra_common::tape::{DeliverySettled, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_connector_core::{Deliveries, Delivery, is_under_way};
use palyra_storage::{StorageError, Tx};

use crate::reply::run_of;
use crate::store::{runs, tape};
use crate::streams;

/// Adds to the tape of a run what became of a message of it. Needs no lease, and nothing else may be
/// added to the tape of a run that has ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct OntoTapes;

impl Deliveries for OntoTapes {
    fn lock(&self, tx: &mut Tx<'_>, messages: &[&EnvelopeId]) -> Result<(), StorageError> {
        let mut of_runs: Vec<RunId> = messages.iter().filter_map(|id| run_of(id)).collect();
        // A run that works for another one is the later of the two, and locked before it.
        of_runs.sort_unstable_by(|a, b| b.cmp(a));
        of_runs.dedup();
        of_runs.into_iter().try_for_each(|run| runs::lock_later(tx, run))
    }

    fn settled(
        &self,
        tx: &mut Tx<'_>,
        delivery: Delivery<'_>,
        at: Timestamp,
    ) -> Result<(), StorageError> {
        let Some(run) = run_of(delivery.envelope) else { return Ok(()) };
        let settled = TapeEvent::DeliverySettled(DeliverySettled {
            connector: delivery.connector.clone(),
            envelope: delivery.envelope.clone(),
            state: delivery.state,
        });
        runs::count_event(tx, run, at)?;
        tape::add_last(tx, run, &settled, at)?;
        tx.notify(streams::TOPIC);
        Ok(())
    }
}

/// Whether messages of a run are on their way, of which its tape will tell.
pub(crate) fn are_under_way(tx: &mut Tx<'_>, run: RunId) -> Result<bool, StorageError> {
    for sent in tape::enqueued(tx, run)? {
        if is_under_way(tx, &sent.connector, &sent.envelope)? {
            return Ok(true);
        }
    }
    Ok(false)
}
