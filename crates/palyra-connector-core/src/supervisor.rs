//! Runs adapters, each on its own: one that hangs, floods or dies delays no other.

mod drain;
mod here;
mod lives;
mod platforms;
mod pulse;
mod status;
mod worker;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use palyra_common::time::Clock;
use palyra_storage::Database;
use palyra_storage::lease::Leases;
use tokio::time::MissedTickBehavior;

use crate::adapter::AdapterRegistry;
use crate::{Connectors, Deliveries, Dice, Inbound, InboundSink, Outbox, Outgoing};
use here::Here;
use lives::Lives;
pub use platforms::Platforms;
pub use pulse::Pulse;
pub use status::Statuses;

/// How often to look without having been told: a notice can be missed, and a lease can be lost.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// Messages that are decided in one transaction when that was not possible as they came in.
const DECIDED_TOGETHER: u32 = 32;

/// What a supervisor works with.
pub struct SupervisorOptions {
    /// The database.
    pub db: Database,
    /// The leases of this node, which somebody renews.
    pub leases: Leases,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub dice: Arc<dyn Dice>,
    /// Makes adapters.
    pub adapters: Arc<dyn AdapterRegistry>,
    /// Takes what comes in.
    pub sink: Arc<dyn InboundSink>,
    /// Cleans what is said about what comes in, and what platforms say.
    pub outgoing: Arc<dyn Outgoing>,
    /// Told what becomes of messages.
    pub deliveries: Arc<dyn Deliveries>,
    /// How long requests of another node may still be on their way when its lease has run out.
    /// Nothing: as long as an attempt of that connector may take.
    pub takeover_grace: Option<Duration>,
}

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) db: Database,
    pub(crate) leases: Leases,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dice: Arc<dyn Dice>,
    pub(crate) adapters: Arc<dyn AdapterRegistry>,
    pub(crate) connectors: Connectors,
    pub(crate) outbox: Outbox,
    pub(crate) inbound: Inbound,
    pub(crate) statuses: Statuses,
    pub(crate) outgoing: Arc<dyn Outgoing>,
    here: Here,
    /// The places of what comes in, whichever adapter hands it over.
    positions: Arc<AtomicI64>,
    pub(crate) takeover_grace: Option<Duration>,
}

/// Runs the connectors that this node has the leases of.
pub struct ConnectorSupervisor {
    shared: Arc<Shared>,
    pulse: Pulse,
}

impl ConnectorSupervisor {
    /// A supervisor that does not run yet.
    pub fn new(options: SupervisorOptions) -> Self {
        let SupervisorOptions { db, leases, clock, dice, adapters, sink, .. } = options;
        let SupervisorOptions { outgoing, deliveries, takeover_grace, .. } = options;
        let here = Here::default();
        let shared = Shared {
            connectors: Connectors::new(db.clone(), clock.clone()),
            outbox: Outbox::new(db.clone(), clock.clone(), dice.clone(), deliveries),
            inbound: Inbound::new(db.clone(), clock.clone(), dice.clone(), sink, outgoing.clone()),
            statuses: Statuses::new(db.clone(), clock.clone(), here.clone()),
            outgoing,
            here,
            positions: Arc::default(),
            db,
            leases,
            clock,
            dice,
            adapters,
            takeover_grace,
        };
        let pulse = Pulse::new(shared.clock.now());
        Self { shared: Arc::new(shared), pulse }
    }

    /// What comes in, for whoever else hands messages over.
    pub fn inbound(&self) -> Inbound {
        self.shared.inbound.clone()
    }

    /// How connectors do, for whoever asks.
    pub fn statuses(&self) -> Statuses {
        self.shared.statuses.clone()
    }

    /// The platforms of what runs here, for whoever asks them.
    pub fn platforms(&self) -> Platforms {
        Platforms::new(self.shared.here.clone(), self.shared.outgoing.clone())
    }

    /// Whether it works, for whoever asks.
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Runs until `shutdown`, then lets what is under way end and gives the leases back.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let mut rows = self.shared.connectors.subscribe();
        let mut queues = self.shared.outbox.subscribe();
        let mut lives = Lives::new(self.shared.clone());
        let mut deciding = tokio::spawn(decide_waiting(self.shared.clone()));
        tokio::pin!(shutdown);
        // Not from one round to the next: while something is sent, rounds are shorter than that.
        let mut looks = tokio::time::interval(LOOK_AT_LEAST_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.pulse.beat(self.shared.clock.now());
            let looked = tokio::select! {
                () = queues.changed() => lives.wake_due().await,
                () = rows.changed() => lives.look().await,
                _ = looks.tick() => lives.look().await,
                ended = lives.ended() => lives.has_ended(ended).await,
                ended = &mut deciding => {
                    tracing::error!(?ended, "nobody decides about messages any more");
                    break;
                }
                () = &mut shutdown => break,
            };
            if let Err(error) = looked {
                tracing::warn!(%error, "the connectors could not be read; trying again");
                tokio::time::sleep(LOOK_AT_LEAST_EVERY).await;
            }
        }
        deciding.abort();
        lives.stop().await;
    }
}

/// Decides about what could not be decided as it came in.
async fn decide_waiting(shared: Arc<Shared>) {
    let mut told = shared.inbound.subscribe();
    loop {
        let wait = match shared.inbound.decide_waiting(DECIDED_TOGETHER).await {
            Ok((_, next)) => next.map(|next| next.since(shared.clock.now()).into()),
            Err(error) => {
                tracing::warn!(%error, "messages could not be decided; trying again");
                Some(LOOK_AT_LEAST_EVERY)
            }
        };
        // Another node may have died with something undecided, which nobody tells.
        let wait = wait.unwrap_or(LOOK_AT_LEAST_EVERY * 10).max(Duration::from_millis(10));
        tokio::select! {
            () = told.changed() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}
