use std::sync::atomic::{AtomicU32, Ordering};

use palyra_common::ids::{ConversationId, EnvelopeId};
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Duration;
use palyra_storage::lease::{LeaseName, Leases};
use palyra_storage::{Database, OpenOptions, Tx};
use palyra_testkit::clock::FakeClock;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::adapter::{
    AdapterContext, AdapterRegistry, Capabilities, End, OnPlatform, Reading, Waiting,
};
use crate::supervisor::{ConnectorSupervisor, SupervisorOptions};
use crate::{
    CleanText, Deliveries, Delivery, Envelope, InboundEvent, InboundSink, Operation, Outgoing,
    Release, SystemDice, Taken,
};

/// Refuses the first attempt and takes the second, if it answers at all.
#[derive(Default)]
struct TakesTheSecond {
    attempts: AtomicU32,
    hangs: bool,
}

impl ConnectorAdapter for TakesTheSecond {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: false,
            delete: false,
            react: false,
            threads: false,
            history: false,
            search: false,
            typing: false,
            max_text: 2_000,
            repeat: Repeat::Never,
        }
    }

    fn admit<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Admission> {
        Box::pin(async { Admission::Ready(Permit::default()) })
    }

    fn send<'a>(&'a self, _: &'a Stored, _: Permit) -> Waiting<'a, Report> {
        let report = match self.attempts.fetch_add(1, Ordering::SeqCst) {
            0 => too_late(),
            _ => Report::Delivered { native: None },
        };
        match self.hangs {
            true => Box::pin(std::future::pending()),
            false => Box::pin(async { report }),
        }
    }

    fn run(&self, _: AdapterContext, _: watch::Receiver<bool>) -> Waiting<'_, End> {
        unreachable!("nobody connects")
    }

    fn reconcile<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Found> {
        assert!(self.hangs, "nothing is in doubt");
        Box::pin(std::future::pending())
    }

    fn read<'a>(&'a self, _: &'a Reading) -> Waiting<'a, Result<Vec<OnPlatform>, Reason>> {
        unreachable!("nobody reads")
    }

    fn typing<'a>(&'a self, _: &'a ConversationId) -> Waiting<'a, Result<(), Reason>> {
        unreachable!("nobody types")
    }
}

/// Stands where a supervisor wants somebody who is not asked here.
struct Nobody;

impl AdapterRegistry for Nobody {
    fn check(&self, _: &str, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn build(&self, _: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String> {
        unreachable!("the adapter is there")
    }
}

impl Deliveries for Nobody {
    fn lock(&self, _: &mut Tx<'_>, _: &[&EnvelopeId]) -> Result<(), StorageError> {
        Ok(())
    }

    fn settled(&self, _: &mut Tx<'_>, _: Delivery<'_>, _: Timestamp) -> Result<(), StorageError> {
        Ok(())
    }
}

impl InboundSink for Nobody {
    fn accept(
        &self,
        _: &mut Tx<'_>,
        _: &InboundEvent,
        _: &dyn Outgoing,
        _: Timestamp,
    ) -> Result<Taken, ChannelError> {
        unreachable!("nothing comes in")
    }
}

impl Outgoing for Nobody {
    fn clean(&self, text: &str) -> String {
        text.to_owned()
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(Self)
    }
}

fn shared(db: &Database, leases: Leases, clock: Arc<FakeClock>) -> Arc<Shared> {
    let supervisor = ConnectorSupervisor::new(SupervisorOptions {
        db: db.clone(),
        leases,
        clock,
        dice: Arc::new(SystemDice),
        adapters: Arc::new(Nobody),
        sink: Arc::new(Nobody),
        outgoing: Arc::new(Nobody),
        deliveries: Arc::new(Nobody),
        takeover_grace: None,
    });
    supervisor.shared
}

/// A drain with one message to send, on a clock that stands still.
struct Sending {
    drain: Drain,
    adapter: Arc<TakesTheSecond>,
    clock: Arc<FakeClock>,
    key: EntryKey,
    _folder: tempfile::TempDir,
}

impl Sending {
    async fn one(adapter: TakesTheSecond) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
        let clock = Arc::new(FakeClock::new(Timestamp::from_unix_millis(1_700_000_000_000)));
        let leases = Leases::new(db.clone(), clock.clone(), Duration::from_mins(10));
        let lease = leases.try_take(&LeaseName::new("connector:test")).await.unwrap().unwrap();
        let shared = shared(&db, leases, clock.clone());
        let (connector, envelope) = ("test".parse().unwrap(), "m1".parse().unwrap());
        let key = EntryKey { connector, envelope, part: 0 };
        let (connectors, queue) = (&shared.connectors, QueueSettings::default());
        connectors.add(key.connector.clone(), "test", json!({}), queue, None).await.unwrap();
        let connector = Arc::new(connectors.get(&key.connector).await.unwrap());
        let text = CleanText::of("hello", &Nobody);
        let said = Envelope {
            connector: key.connector.clone(),
            id: key.envelope.clone(),
            conversation: "a".parse().unwrap(),
            parts: vec![Operation::Send { text, reply_to: None }],
            release: Release::AtOnce,
        };
        shared.outbox.enqueue(said).await.unwrap();
        let adapter = Arc::new(adapter);
        let drain = Drain::new(shared, connector, adapter.clone(), lease);
        Self { drain, adapter, clock, key, _folder: folder }
    }

    fn attempts(&self) -> u32 {
        self.adapter.attempts.load(Ordering::SeqCst)
    }

    async fn state(&self) -> Option<OutboxState> {
        let entry = self.drain.shared.outbox.entry(&self.key).await.unwrap();
        entry.map(|entry| entry.entry.state)
    }
}

/// The answer to a COMMIT can be lost: what the worker keeps to write down is written down then, and
/// says nothing of the attempt after it.
#[tokio::test]
async fn what_may_be_settled_is_not_begun_again_before_that_is_known() {
    let mut sending = Sending::one(TakesTheSecond::default()).await;
    let drain = &mut sending.drain;
    drain.start().await;
    drain.progress().await;
    // It is written down, and the worker is not told.
    drain.shared.outbox.settle(drain.repeat, drain.unsettled.clone()).await.unwrap();
    sending.clock.advance(Duration::from_mins(1));
    drain.start().await;
    assert!(drain.sends.is_empty(), "the old report would settle the new attempt");
    drain.write().await;
    assert_eq!((sending.state().await, sending.attempts()), (Some(OutboxState::Pending), 1));

    sending.drain.start().await;
    sending.drain.progress().await;
    sending.drain.write().await;
    assert_eq!((sending.state().await, sending.attempts()), (None, 2));
}

/// As when it panics where nobody catches that.
#[tokio::test]
async fn what_a_failed_task_has_begun_is_seen_to() {
    let hangs = TakesTheSecond { hangs: true, ..TakesTheSecond::default() };
    let mut sending = Sending::one(hangs).await;
    sending.drain.start().await;
    sending.drain.sends.abort_all();
    sending.drain.progress().await;
    assert_eq!(sending.state().await, Some(OutboxState::Sending));
    sending.drain.start().await;
    assert_eq!(sending.state().await, Some(OutboxState::Unknown), "it is sent for ever");

    // Whoever is to look for it fails as well: nothing was found, and it is looked for again.
    for looks in 1..3 {
        sending.clock.advance(Duration::from_mins(1));
        sending.drain.start().await;
        assert_eq!(sending.drain.looks.len(), 1, "nobody looks for it");
        sending.drain.looks.abort_all();
        sending.drain.progress().await;
        sending.drain.write().await;
        let entry = sending.drain.shared.outbox.entry(&sending.key).await.unwrap().unwrap();
        assert_eq!((entry.entry.state, entry.entry.looks), (OutboxState::Unknown, looks));
    }
    // The task may have failed before it asked the platform.
    assert!(sending.attempts() < 2, "it was sent again");
}
