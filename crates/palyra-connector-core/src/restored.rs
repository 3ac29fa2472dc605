//! What a restored database would do again.

use palyra_common::runtime_contracts::{ConnectorEventKind, OutboxState, RouteReason};
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};

use crate::Deliveries;
use crate::connectors::note;
use crate::outbox::doubt_what_came_back;
use crate::store::{connector_resume, connectors, inbound_events, outbox};

/// So many of the messages that are set aside are named one by one.
const NAMED: u32 = 100;

/// What became of the messages of a restored database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CameBack {
    /// Messages that had not gone out, and may have since.
    pub in_doubt: u64,
    /// Messages that wait for an approval, as they did before.
    pub held: u64,
    /// Messages that had come in and were not decided, and may have been answered since.
    pub set_aside: u64,
}

/// Keeps a restored database from doing by itself what may have been done after the backup was
/// made: to send a message, or to answer one. Both wait for a human.
pub fn settle_what_came_back(
    tx: &mut Tx<'_>,
    deliveries: &dyn Deliveries,
    now: Timestamp,
) -> Result<CameBack, StorageError> {
    let in_doubt = doubt_what_came_back(tx, deliveries, now)?;
    // The platform would send again what came after the backup, and has been answered since.
    connector_resume::clear(tx)?;
    let mut held = 0;
    for connector in connectors::all(tx)? {
        let count = outbox::aside::count(tx, &connector.id, OutboxState::Held, u32::MAX)?;
        held += count.max(0).unsigned_abs();
    }
    Ok(CameBack { in_doubt, held, set_aside: set_aside(tx, now)? })
}

/// Decides that nobody answers what was undecided, and names it among the events of its connector:
/// its text may soon be too old to be kept.
fn set_aside(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StorageError> {
    for event in inbound_events::undecided(tx, NAMED)?.iter().rev() {
        if connectors::one(tx, &event.connector)?.is_some() {
            let inbound_events::Undecided { message, sender, conversation, received_at, .. } =
                event;
            let detail = format!(
                "{message} of {sender} in {conversation}, which came in at {received_at}: it was \
                 undecided in the backup that was restored, and may have been answered since"
            );
            let kind = ConnectorEventKind::MessageSetAside;
            note(tx, &event.connector, kind, Some(detail), now)?;
        }
    }
    inbound_events::ignore_undecided(tx, RouteReason::Restored)
}
