//! What a restored database would send.

use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};

use crate::store::{outbox, outbox_lanes};

const WHY: &str = "it had not gone out when the backup was made that was restored";

/// Makes everything unknown that a restored database would send by itself, and says how many that
/// were: it may have gone out after the backup was made. No platform is asked, and no setting
/// decides; each of them waits for a human. So does what was held, which stays as it is.
pub(crate) fn doubt_what_came_back(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StorageError> {
    let doubted = outbox::doubt_all(tx, now, WHY)?;
    outbox_lanes::clear(tx)?;
    tx.notify(super::TOPIC);
    Ok(doubted)
}
