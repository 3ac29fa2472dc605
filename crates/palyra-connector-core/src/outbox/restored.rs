//! What a restored database would send.

use std::collections::BTreeSet;

use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};

use crate::store::{outbox, outbox_lanes};
use crate::{Deliveries, Delivery};

const WHY: &str = "it had not gone out when the backup was made that was restored";

/// Makes everything unknown that a restored database would send by itself, and says how many that
/// were: it may have gone out after the backup was made. No platform is asked, and no setting
/// decides; each of them waits for a human. So does what was held, which stays as it is.
pub(crate) fn doubt_what_came_back(
    tx: &mut Tx<'_>,
    deliveries: &dyn Deliveries,
    now: Timestamp,
) -> Result<u64, StorageError> {
    let parts = outbox::doubt_all(tx, now, WHY)?;
    let doubted = u64::try_from(parts.len()).unwrap_or(u64::MAX);
    // A message is told of once, however many parts it has.
    for (connector, envelope) in &BTreeSet::from_iter(parts) {
        let state = OutboxState::Unknown;
        deliveries.settled(tx, Delivery { connector, envelope, state }, now)?;
    }
    outbox_lanes::clear(tx)?;
    tx.notify(super::TOPIC);
    Ok(doubted)
}
