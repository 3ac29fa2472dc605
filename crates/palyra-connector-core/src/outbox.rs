//! The queue of what goes out.

mod attempt;
mod change;
mod dead;
mod enqueue;
mod human;
mod look;
mod many;
mod restored;
mod settle;

use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::time::Clock;
use palyra_policy::backoff::Chance;
use palyra_storage::{Database, Topic};

use crate::Deliveries;

pub use attempt::{Attempt, Begun, Due, Report, Settled};
pub use dead::DeadLetterRecord;
pub use enqueue::{Enqueued, check_same, enqueue};
pub use look::{PartView, QueueView, is_under_way};
pub use many::MAX_REPLAYED;
pub(crate) use restored::doubt_what_came_back;

/// Told when something may be due in an outbox.
pub(crate) const TOPIC: Topic = Topic::new("outbox");

/// Where chance comes from.
pub trait Dice: Send + Sync {
    /// A number, every value as likely as any other.
    fn roll(&self) -> Chance;
}

/// Chance from the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDice;

impl Dice for SystemDice {
    fn roll(&self) -> Chance {
        Chance(getrandom::u64().unwrap_or_default())
    }
}

/// The queues of all connectors. Cheap to clone.
///
/// Whoever holds the lease of a connector makes its attempts: [`Outbox::due`], [`Outbox::begin`],
/// then the attempts themselves, then [`Outbox::settle`]. Everything else may be done by anybody.
#[derive(Clone)]
pub struct Outbox {
    db: Database,
    clock: Arc<dyn Clock>,
    dice: Arc<dyn Dice>,
    deliveries: Arc<dyn Deliveries>,
}

impl Outbox {
    /// The queues in `db`. What becomes of messages is told to `deliveries`.
    pub fn new(
        db: Database,
        clock: Arc<dyn Clock>,
        dice: Arc<dyn Dice>,
        deliveries: Arc<dyn Deliveries>,
    ) -> Self {
        Self { db, clock, dice, deliveries }
    }

    /// Waits for something that may be due in any outbox.
    pub fn subscribe(&self) -> palyra_storage::Subscription {
        self.db.subscribe(TOPIC)
    }

    /// The connectors that have something due.
    pub async fn due_connectors(&self) -> Result<Vec<ConnectorId>, palyra_storage::StorageError> {
        let now = self.clock.now();
        self.db.read(move |tx| crate::store::outbox_lanes::due_connectors(tx, now)).await
    }

    /// When the next entry of a connector is due. Nothing: none is, or the connector is paused.
    pub async fn next_due(
        &self,
        connector: &ConnectorId,
    ) -> Result<Option<palyra_common::time::Timestamp>, palyra_storage::StorageError> {
        let connector = connector.clone();
        let next_due = move |tx: &mut palyra_storage::Tx<'_>| {
            let queue = crate::store::connectors::queue(tx, &connector)?;
            match queue.is_some_and(|queue| queue.open) {
                true => crate::store::outbox_lanes::next_due(tx, &connector),
                false => Ok(None),
            }
        };
        self.db.read(next_due).await
    }
}
