//! How soon an answer goes out when nothing else happens or others are in trouble, and what it costs to
//! do nothing.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::queue::QueueSettings;
use palyra_common::route::Rule;
use palyra_common::runtime_contracts::DirectMessagePolicy;
use palyra_common::time::Timestamp;
use palyra_connector_core::{
    AdapterContext, AdapterRegistry, Admission, AuthorKind, Capabilities, Connector,
    ConnectorAdapter, Content, End, Found, InboundEvent, OnPlatform, Permit, Reading, Reason,
    Report, Stored, Waiting,
};
use palyra_policy::outbox::{Reconciled, Repeat};
use palyra_testkit::figures::{Goal, Measured, millis, report};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::commits;
use crate::node::{Node, enqueue};
use crate::place::{Engine, Place};
use crate::raw::Raw;

const MESSAGES: usize = 400;
/// The first answers wait for the connector to be started.
const WARM_UP: usize = 20;
const FLOOD: u64 = 20_000;
const FLOOD_LANES: u64 = 200;
const IDLE_CONNECTORS: usize = 100;
const IDLE_FOR: Duration = Duration::from_secs(20);

pub(crate) fn run(runtime: &Runtime) {
    commits::count();
    latency(runtime);
    isolation(runtime);
    idle_cpu(runtime);
}

fn latency(runtime: &Runtime) {
    let place = Place::open(runtime, Engine::Sqlite);
    let (node, heard, id) = asked(runtime, &place);
    let mut raw = Raw::open(&place.folder.path().join("raw.db"));
    let (mut ours, mut theirs, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..MESSAGES + WARM_UP {
        let before = commits::counted();
        let took = answered_after(runtime, &node, &heard, &id, n).settled;
        let committed = commits::counted() - before;
        let begun = Instant::now();
        raw.work(1, 1);
        if n >= WARM_UP {
            ours.push(took);
            theirs.push(millis(begun.elapsed()));
            commits.push(committed as f64);
        }
    }
    for (name, share) in [("outbox.idle_latency_ms", 50), ("outbox.idle_latency_p99_ms", 99)] {
        let (value, reference) = (quantile(&mut ours, share), quantile(&mut theirs, share));
        let measured =
            Measured { value, reference: Some(reference), ratio: Some(value / reference) };
        report(name, "ms", measured, Some(Goal::AtMost(3.0)));
    }
    // Now and then there is one of somebody else among them, who renews a lease.
    for (name, share) in [("outbox.idle_commits", 50), ("outbox.idle_commits_p99", 99)] {
        let value = quantile(&mut commits, share);
        report(name, "commits", Measured::alone(value), None);
    }
}

/// A node with a connector that is asked something.
fn asked(runtime: &Runtime, place: &Place) -> (Node, Receiver<Instant>, ConnectorId) {
    let (told, heard) = channel();
    let node = Node::with(runtime, &place.db, Arc::new(Bell(Mutex::new(told))));
    let id = runtime.block_on(node.add("echo:bell", json!({}), QueueSettings::default()));
    let open = Rule { direct_messages: DirectMessagePolicy::Allow, ..Rule::default() };
    runtime.block_on(node.rules.add(&id, open, None)).unwrap();
    (node, heard, id)
}

/// How soon one connector answers beside three others: one hangs, one fails as often as it is started,
/// one has more to send than it can. The reference is the same without them.
fn isolation(runtime: &Runtime) {
    let place = Place::open(runtime, Engine::Sqlite);
    let (node, heard, id) = asked(runtime, &place);
    let median = |from: usize| {
        let all = from..from + MESSAGES + WARM_UP;
        let took = all.map(|n| answered_after(runtime, &node, &heard, &id, n).sent);
        quantile(&mut took.skip(WARM_UP).collect::<Vec<_>>(), 50)
    };
    let alone = median(0);
    let flooded = runtime.block_on(async {
        for (name, count) in [(HANGS, 200), (CRASHES, 200)] {
            let other = node.add(name, json!({}), QueueSettings::default()).await;
            enqueue(&node.outbox, &other, 0..count, count).await;
        }
        node.add(FLOODS, json!({}), QueueSettings::default()).await
    });
    let outbox = node.outbox.clone();
    let flood =
        runtime.spawn(async move { enqueue(&outbox, &flooded, 0..FLOOD, FLOOD_LANES).await });
    let beside = median(MESSAGES + WARM_UP);
    runtime.block_on(flood).unwrap();
    let measured = Measured { value: beside, reference: Some(alone), ratio: Some(beside / alone) };
    report("outbox.isolation_ms", "ms", measured, Some(Goal::AtMost(3.0)));
}

/// How long an answer took.
struct Took {
    /// Until it was sent.
    sent: f64,
    /// Until it was written down that it was.
    settled: f64,
}

fn answered_after(
    runtime: &Runtime,
    node: &Node,
    heard: &Receiver<Instant>,
    id: &ConnectorId,
    n: usize,
) -> Took {
    let event = InboundEvent {
        connector: id.clone(),
        message: format!("n{n}").parse().unwrap(),
        conversation: "dm".parse().unwrap(),
        thread: None,
        sender: "ann".into(),
        occurred_at: Timestamp::UNIX_EPOCH,
        content: Content {
            text: "hello".into(),
            direct: true,
            author: AuthorKind::Person,
            mentions_bot: false,
            addresses_all: false,
            attachments: 0,
        },
        cursor: None,
    };
    let begun = Instant::now();
    runtime.block_on(node.inbound.accept(event)).unwrap();
    let sent = heard.recv_timeout(Duration::from_secs(60)).unwrap();
    // Its end is written down before the next message comes. Looked at all the time: it takes less
    // than the shortest sleep.
    runtime.block_on(async {
        let connector = node.connectors.get(id).await.unwrap();
        while node.outbox.view(&connector).await.unwrap().waiting > 0 {}
    });
    Took { sent: millis(sent - begun), settled: millis(begun.elapsed()) }
}

fn quantile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * percent / 100]
}

fn idle_cpu(runtime: &Runtime) {
    let place = Place::open(runtime, Engine::Sqlite);
    let node = Node::start(runtime, &place.db, place.folder.path().join("connectors"));
    runtime.block_on(async {
        for n in 0..IDLE_CONNECTORS {
            node.add(&format!("echo:idle{n}"), json!({}), QueueSettings::default()).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
    });
    let (before, begun) = (cpu_seconds(), Instant::now());
    std::thread::sleep(IDLE_FOR);
    let share = 100.0 * (cpu_seconds() - before) / begun.elapsed().as_secs_f64();
    report("supervisor.idle_cpu", "% of a core", Measured::alone(share), Some(Goal::AtMost(1.0)));
}

/// What this process has used, from the ticks of a hundredth of a second that Linux counts.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

const HANGS: &str = "echo:hangs";
const CRASHES: &str = "echo:crashes";
const FLOODS: &str = "echo:floods";

/// A platform that says when it is sent something by the one that is asked.
struct Bell(Mutex<Sender<Instant>>);

impl AdapterRegistry for Bell {
    fn check(&self, _: &str, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn build(&self, connector: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String> {
        let way = match connector.id.as_str() {
            HANGS => Way::Hangs,
            CRASHES => Way::Crashes,
            FLOODS => Way::Silent,
            _ => Way::Rings(Mutex::new(self.0.lock().unwrap().clone())),
        };
        Ok(Arc::new(way))
    }
}

/// How a connector behaves.
enum Way {
    Rings(Mutex<Sender<Instant>>),
    Silent,
    Hangs,
    Crashes,
}

impl ConnectorAdapter for Way {
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

    fn run(&self, _: AdapterContext, mut shutdown: watch::Receiver<bool>) -> Waiting<'_, End> {
        Box::pin(async move {
            if let Self::Crashes = self {
                return End::Lost("on purpose".into());
            }
            let _ = shutdown.wait_for(|stop| *stop).await;
            End::AsAsked
        })
    }

    fn admit<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Admission> {
        Box::pin(async { Admission::Ready(Permit::default()) })
    }

    fn send<'a>(&'a self, _: &'a Stored, _: Permit) -> Waiting<'a, Report> {
        if let Self::Rings(told) = self {
            let _ = told.lock().unwrap().send(Instant::now());
        }
        Box::pin(async move {
            if let Self::Hangs = self {
                std::future::pending::<()>().await;
            }
            Report::Delivered { native: None }
        })
    }

    fn reconcile<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Found> {
        Box::pin(async { Found { outcome: Reconciled::StillUnknown, native: None } })
    }

    fn read<'a>(&'a self, _: &'a Reading) -> Waiting<'a, Result<Vec<OnPlatform>, Reason>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn typing<'a>(&'a self, _: &'a ConversationId) -> Waiting<'a, Result<(), Reason>> {
        Box::pin(async { Ok(()) })
    }
}
