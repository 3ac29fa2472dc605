//! A database with a supervisor on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::queue::QueueSettings;
use palyra_connector_core::conformance::AsItIs;
use palyra_connector_core::{
    AdapterRegistry, CleanText, ConnectorSupervisor, Connectors, Envelope, Inbound, Operation,
    Outbox, Release, SupervisorOptions, SystemDice,
};
use palyra_connectors::BuiltIn;
use palyra_gateway::{ChannelRouter, OntoTapes, Rules};
use palyra_storage::lease::{LeaseKeeper, Leases};
use palyra_storage::{Database, SystemClock};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// A supervisor at work.
pub(crate) struct Node {
    pub(crate) connectors: Connectors,
    pub(crate) outbox: Outbox,
    pub(crate) inbound: Inbound,
    pub(crate) rules: Rules,
    running: JoinHandle<()>,
    keeping: JoinHandle<()>,
}

impl Node {
    pub(crate) fn start(runtime: &Runtime, db: &Database, folder: PathBuf) -> Self {
        let adapters = Arc::new(BuiltIn::new(Arc::new(SystemClock), folder));
        Self::with(runtime, db, adapters)
    }

    pub(crate) fn with(
        runtime: &Runtime,
        db: &Database,
        adapters: Arc<dyn AdapterRegistry>,
    ) -> Self {
        let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
        let ttl = palyra_common::time::Duration::from_secs(30);
        let leases = Leases::new(db.clone(), clock.clone(), ttl);
        let (keeper, _) = LeaseKeeper::new(db.clone(), leases.clone());
        let supervisor = ConnectorSupervisor::new(SupervisorOptions {
            db: db.clone(),
            leases,
            clock: clock.clone(),
            dice: dice.clone(),
            adapters,
            sink: Arc::new(ChannelRouter::new(Arc::new(crate::mirror::Mirror))),
            outgoing: Arc::new(AsItIs),
            deliveries: Arc::new(OntoTapes),
            takeover_grace: None,
        });
        Self {
            connectors: Connectors::new(db.clone(), clock.clone()),
            outbox: Outbox::new(db.clone(), clock.clone(), dice, Arc::new(OntoTapes)),
            inbound: supervisor.inbound(),
            rules: Rules::new(db.clone(), clock),
            running: runtime.spawn(supervisor.run(std::future::pending())),
            keeping: runtime.spawn(keeper.run(std::future::pending())),
        }
    }

    pub(crate) async fn add(&self, id: &str, settings: Value, queue: QueueSettings) -> ConnectorId {
        let id: ConnectorId = id.parse().unwrap();
        self.connectors.add(id.clone(), "echo", settings, queue, None).await.unwrap();
        id
    }

    /// Waits until nothing is in the queue of a connector. Looked at seldom: each look reads a row
    /// for every lane, and is no part of the work.
    pub(crate) async fn drained(&self, id: &ConnectorId) {
        let connector = self.connectors.get(id).await.unwrap();
        while self.outbox.view(&connector).await.unwrap().waiting > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.running.abort();
        self.keeping.abort();
    }
}

pub(crate) fn envelope(connector: &ConnectorId, name: u64, lanes: u64) -> Envelope {
    let text = CleanText::of(&"x".repeat(400), &AsItIs);
    Envelope {
        connector: connector.clone(),
        id: format!("m{name}").parse::<EnvelopeId>().unwrap(),
        conversation: format!("c{}", name % lanes).parse().unwrap(),
        parts: vec![Operation::Send { text, reply_to: None }],
        release: Release::AtOnce,
    }
}

/// Enqueues messages from 64 callers at once.
pub(crate) async fn enqueue(
    outbox: &Outbox,
    connector: &ConnectorId,
    names: std::ops::Range<u64>,
    lanes: u64,
) {
    const CALLERS: u64 = 64;
    let callers = (0..CALLERS).map(|caller| {
        let (outbox, connector, names) = (outbox.clone(), connector.clone(), names.clone());
        tokio::spawn(async move {
            // A caller stays with its lanes, so that each has its own order.
            for name in names.filter(|name| name % lanes % CALLERS == caller) {
                outbox.enqueue(envelope(&connector, name, lanes)).await.unwrap();
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
}
