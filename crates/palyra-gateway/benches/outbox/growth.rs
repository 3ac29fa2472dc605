//! Whether a message costs the same however much waits, and however much was delivered before.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use palyra_common::ids::ConnectorId;
use palyra_common::queue::QueueSettings;
use palyra_connector_core::{
    Attempt, Connector, Connectors, Due, Outbox, Report, Settled, SystemDice,
};
use palyra_gateway::OntoTapes;
use palyra_policy::outbox::Repeat;
use palyra_storage::lease::{Lease, LeaseName, Leases};
use palyra_storage::{Database, Sql, SystemClock, params, sql};
use palyra_testkit::figures::{Goal, in_turns, millis, report};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::node::enqueue;
use crate::place::{Engine, Place};

const FEW: u64 = 2_000;
const MANY: u64 = 200_000;
const DELIVERED: i64 = 1_000_000;
const LANES: u64 = 200;
const BATCHES: usize = 20;
const BATCH: u32 = 64;
const TURNS: usize = 5;

/// Delivered long ago, to conversations of all kinds.
const FILL_HISTORY: Sql = sql!(
    sqlite: "WITH RECURSIVE n(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM n WHERE n < $2)
        INSERT INTO outbox (connector_id, envelope_id, part, conversation, lane_seq, place, state,
            attempts, attempt_limit, doubtful, looks, operation, native_message_id, created_at,
            changed_at, version)
        SELECT 'echo:bench', 'old' || n, 0, 'c' || (n % 200), n - 1000000, 2, 'delivered',
            1, 8, 0, 0, '{}', 'n-old' || n, n, n, 2 FROM n",
    postgres: "SELECT $1, $2",
);

struct Queue {
    place: Place,
    outbox: Outbox,
    lease: Lease,
    id: ConnectorId,
    connector: Arc<Connector>,
    next: Cell<u64>,
}

impl Queue {
    fn with(runtime: &Runtime, waiting: u64) -> Self {
        let place = Place::open(runtime, Engine::Sqlite);
        let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
        let outbox = Outbox::new(place.db.clone(), clock.clone(), dice, Arc::new(OntoTapes));
        let id: ConnectorId = "echo:bench".parse().unwrap();
        let hour = palyra_common::time::Duration::from_hours(1);
        let leases = Leases::new(place.db.clone(), clock.clone(), hour);
        let (lease, connector) = runtime.block_on(async {
            let connectors = Connectors::new(place.db.clone(), clock);
            let queue = QueueSettings::default();
            connectors.add(id.clone(), "echo", json!({}), queue, None).await.unwrap();
            enqueue(&outbox, &id, 0..waiting, LANES).await;
            let lease = leases.try_take(&LeaseName::new("bench")).await.unwrap().unwrap();
            (lease, Arc::new(connectors.get(&id).await.unwrap()))
        });
        Self { place, outbox, lease, id, connector, next: Cell::new(waiting) }
    }

    /// Milliseconds for each message that is enqueued, begun and settled; as many wait afterwards.
    fn cost(&self, runtime: &Runtime) -> f64 {
        let begun = Instant::now();
        let mut count = 0;
        for _ in 0..BATCHES {
            count += runtime.block_on(self.batch());
        }
        millis(begun.elapsed()) / count as f64
    }

    async fn batch(&self) -> usize {
        let first = self.next.replace(self.next.get() + u64::from(BATCH));
        enqueue(&self.outbox, &self.id, first..first + u64::from(BATCH), LANES).await;
        let due = self.outbox.due(&self.id, BATCH).await.unwrap();
        let attempts = due.into_iter().filter_map(|due| match due {
            Due::Send(stored) => Some(Attempt::Begin(stored)),
            Due::Look(_) => None,
        });
        let (connector, attempts) = (&self.connector, attempts.collect());
        let begun = self.outbox.begin(connector, &self.lease, Repeat::Never, attempts);
        let begun = begun.await.unwrap();
        let count = begun.len();
        // Under the names that a platform gives, which are kept unique.
        let settled = begun.into_iter().map(|begun| {
            let native = format!("n-{}", begun.stored.key.envelope).parse().ok();
            Settled { begun, report: Report::Delivered { native } }
        });
        self.outbox.settle(Repeat::Never, settled.collect()).await.unwrap();
        count
    }
}

pub(crate) fn run(runtime: &Runtime) {
    let few = Queue::with(runtime, FEW);
    let many = Queue::with(runtime, MANY);
    let grown = in_turns(TURNS, || many.cost(runtime), || few.cost(runtime));
    report("outbox.growth", "ms/message", grown, Some(Goal::AtMost(1.2)));
    drop(many);
    let old = Queue::with(runtime, FEW);
    runtime.block_on(fill_history(&old.place.db));
    let grown = in_turns(TURNS, || old.cost(runtime), || few.cost(runtime));
    report("outbox.history_growth", "ms/message", grown, Some(Goal::AtMost(1.2)));
}

async fn fill_history(db: &Database) {
    const STEP: i64 = 50_000;
    for first in (0..DELIVERED).step_by(STEP as usize) {
        let last = first + STEP - 1;
        db.write(move |tx| tx.execute(&FILL_HISTORY, params![first, last])).await.unwrap();
    }
}
