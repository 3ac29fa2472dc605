//! A connector beside others that are in trouble.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use palyra_common::ids::ConnectorId;
use palyra_common::queue::QueueSettings;
use palyra_connector_core::{Inbound, InboundEvent, Outbox};
use palyra_policy::outbox::Repeat;
use tokio::task::JoinSet;

use crate::inbound::message;
use crate::platform::{Fault, Platform};
use crate::supervisor::{LIMIT, Node, fresh, quick, until};
use crate::world::{World, on_every_engine};

on_every_engine!(neighbours_in_trouble_delay_nobody);

const MESSAGES: usize = 100;
const FLOODERS: u64 = 8;

/// One hangs, one fails as often as it is started, and one has more to send and to take in than it
/// can. All that a healthy one sends arrives while the first still hangs and the second fails once more,
/// about as soon as before.
async fn neighbours_in_trouble_delay_nobody(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let healthy = node.add("memory:healthy", "memory").await;
    let alone = arrive(&node, &platform, &healthy, 0, || true).await;

    let hanging = hangs(&node, &platform).await;
    crashes(&node, &platform).await;
    let flooding = node.add("memory:flooding", "memory").await;
    let flood = Flood::begin(&node, &flooding);
    until("the flood is there", async || flood.sent() > 100).await;

    let (before, started) = (flood.sent(), starts(&platform));
    let fails_again = || starts(&platform) > started;
    let beside = arrive(&node, &platform, &healthy, MESSAGES, fails_again).await;
    let (during, hang) = (flood.sent() - before, under_way(&node, &hanging).await);
    flood.end().await;
    println!("alone {alone:?}, beside {beside:?} and {during} of the flood; {hang} hang");
    assert!(during > 0, "nothing else was going on");
    assert_eq!(hang, u64::from(quick().lanes), "they hang all the while");
    // They share a database, so some of it is paid for; whoever waits for another pays far more.
    let bound = alone.median * 50 + Duration::from_millis(500);
    assert!(beside.median < bound, "{beside:?} is beyond {bound:?}");
    let bound = alone.worst * 50 + Duration::from_secs(2);
    assert!(beside.worst < bound, "of {beside:?} the worst is beyond {bound:?}");
    node.die();
}

/// One whose every request hangs, as many as there may be at once.
async fn hangs(node: &Node, platform: &Platform) -> ConnectorId {
    platform.set("memory:hanging", Fault::Hang);
    // For as long as can be set: longer than a test takes.
    let attempt_timeout = palyra_common::time::Duration::from_mins(5);
    let patient = QueueSettings { attempt_timeout, ..quick() };
    let hanging = node.add_with("memory:hanging", "memory", patient).await;
    backlog(node, &hanging, 2 * patient.lanes).await;
    let lanes = u64::from(patient.lanes);
    until("all its lanes hang", async || under_way(node, &hanging).await == lanes).await;
    hanging
}

/// One that was started and has failed more than once.
async fn crashes(node: &Node, platform: &Platform) {
    platform.set("memory:crashing", Fault::Panic);
    let crashing = node.add("memory:crashing", "memory").await;
    backlog(node, &crashing, 5).await;
    until("it fails again and again", async || starts(platform) > 1).await;
}

/// How often that one was started.
fn starts(platform: &Platform) -> u64 {
    platform.starts.lock().unwrap().get("memory:crashing").copied().unwrap_or(0)
}

async fn backlog(node: &Node, connector: &ConnectorId, messages: u32) {
    for n in 0..messages {
        node.send(connector, &format!("b{n}"), &format!("b{n}")).await;
    }
}

async fn under_way(node: &Node, connector: &ConnectorId) -> u64 {
    let row = node.connectors.get(connector).await.unwrap();
    node.outbox.view(&row).await.unwrap().sending
}

/// How long messages took to arrive.
#[derive(Debug)]
struct Latency {
    median: Duration,
    worst: Duration,
}

/// Sends one message after the other, each when the one before it has arrived: a number of them, and
/// more until it is `enough`.
async fn arrive(
    node: &Node,
    platform: &Platform,
    connector: &ConnectorId,
    from: usize,
    enough: impl Fn() -> bool,
) -> Latency {
    let arrived = || platform.arrived.lock().unwrap().get("healthy").map_or(0, Vec::len);
    let mut took = Vec::with_capacity(MESSAGES);
    let end = Instant::now() + LIMIT;
    while took.len() < MESSAGES || !enough() {
        assert!(Instant::now() < end, "it is never enough");
        let (n, begun) = (from + took.len(), Instant::now());
        node.send(connector, &format!("m{n}"), "healthy").await;
        let arrives = async {
            while arrived() <= n {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(LIMIT, arrives).await.unwrap();
        took.push(begun.elapsed());
    }
    took.sort();
    Latency { median: took[took.len() / 2], worst: took[took.len() - 1] }
}

/// Messages in both directions, as many as the database takes.
struct Flood {
    sent: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    flooders: JoinSet<()>,
}

impl Flood {
    fn begin(node: &Node, connector: &ConnectorId) -> Self {
        let (sent, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let mut flooders = JoinSet::new();
        for _ in 0..FLOODERS {
            let (sent, stop) = (sent.clone(), stop.clone());
            let (outbox, inbound) = (node.outbox.clone(), node.inbound.clone());
            let connector = connector.clone();
            flooders.spawn(async move {
                while !stop.load(Ordering::SeqCst) {
                    let n = sent.fetch_add(1, Ordering::SeqCst);
                    flood(&outbox, &inbound, &connector, n).await;
                }
            });
        }
        Self { sent, stop, flooders }
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    async fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.flooders.join_all().await;
    }
}

async fn flood(outbox: &Outbox, inbound: &Inbound, connector: &ConnectorId, n: u64) {
    let lane = n % 64;
    let mut out = World::envelope(&format!("f{n}"), &format!("f{lane}"), &["flood"]);
    out.connector = connector.clone();
    // A queue that is full refuses, and that is as good.
    let _ = outbox.enqueue(out).await;
    let incoming = message(&format!("f{n}"), "flood");
    inbound.accept(InboundEvent { connector: connector.clone(), ..incoming }).await.unwrap();
}
