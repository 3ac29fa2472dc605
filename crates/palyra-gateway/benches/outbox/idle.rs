//! How soon an answer goes out when nothing else happens, and what it costs to do nothing.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use palyra_common::queue::QueueSettings;
use palyra_common::route::Rule;
use palyra_common::runtime_contracts::DirectMessagePolicy;
use palyra_common::time::Timestamp;
use palyra_connector_core::{
    AdapterContext, AdapterRegistry, Admission, AuthorKind, Capabilities, Connector,
    ConnectorAdapter, Content, End, Found, InboundEvent, Permit, Report, RuntimeSnapshot, Stored,
    Waiting,
};
use palyra_policy::outbox::{Reconciled, Repeat};
use palyra_testkit::figures::{Goal, Measured, millis, report};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::node::{Engine, Node, Place};
use crate::raw::Raw;

const MESSAGES: usize = 400;
const IDLE_CONNECTORS: usize = 100;
const IDLE_FOR: Duration = Duration::from_secs(20);

pub(crate) fn run(runtime: &Runtime) {
    latency(runtime);
    idle_cpu(runtime);
}

fn latency(runtime: &Runtime) {
    let place = Place::open(runtime, Engine::Sqlite);
    let (told, heard) = channel();
    let node = Node::with(runtime, &place.db, Arc::new(Bell(Mutex::new(told))));
    let id = runtime.block_on(node.add("echo:bell", json!({}), QueueSettings::default()));
    let open = Rule { direct_messages: DirectMessagePolicy::Allow, ..Rule::default() };
    runtime.block_on(node.rules.add(&id, open, None)).unwrap();
    let mut raw = Raw::open(&place.folder.path().join("raw.db"));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first answers wait for the connector to be started.
    for n in 0..MESSAGES + 20 {
        let took = answered_after(runtime, &node, &heard, &id, n);
        let begun = Instant::now();
        raw.work(1, 1);
        if n >= 20 {
            ours.push(took);
            theirs.push(millis(begun.elapsed()));
        }
    }
    for (name, share) in [("outbox.idle_latency_ms", 50), ("outbox.idle_latency_p99_ms", 99)] {
        let (value, reference) = (quantile(&mut ours, share), quantile(&mut theirs, share));
        let measured =
            Measured { value, reference: Some(reference), ratio: Some(value / reference) };
        report(name, "ms", measured, (share == 50).then_some(Goal::AtMost(3.0)));
    }
}

fn answered_after(
    runtime: &Runtime,
    node: &Node,
    heard: &Receiver<Instant>,
    id: &palyra_common::ids::ConnectorId,
    n: usize,
) -> f64 {
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
    // Its end is written down before the next message comes.
    runtime.block_on(node.drained(id));
    millis(sent - begun)
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

/// A platform that says when it is sent something.
struct Bell(Mutex<Sender<Instant>>);

impl AdapterRegistry for Bell {
    fn check(&self, _: &str, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn build(&self, _: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String> {
        Ok(Arc::new(Ring(Mutex::new(self.0.lock().unwrap().clone()))))
    }
}

struct Ring(Mutex<Sender<Instant>>);

impl ConnectorAdapter for Ring {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: false,
            delete: false,
            react: false,
            threads: false,
            history: false,
            max_text: 2_000,
            repeat: Repeat::Never,
        }
    }

    fn run(&self, _: AdapterContext, mut shutdown: watch::Receiver<bool>) -> Waiting<'_, End> {
        Box::pin(async move {
            let _ = shutdown.wait_for(|stop| *stop).await;
            End::AsAsked
        })
    }

    fn admit<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Admission> {
        Box::pin(async { Admission::Ready(Permit::default()) })
    }

    fn send<'a>(&'a self, _: &'a Stored, _: Permit) -> Waiting<'a, Report> {
        let _ = self.0.lock().unwrap().send(Instant::now());
        Box::pin(async { Report::Delivered { native: None } })
    }

    fn reconcile<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Found> {
        Box::pin(async { Found { outcome: Reconciled::StillUnknown, native: None } })
    }

    fn snapshot(&self) -> RuntimeSnapshot {
        RuntimeSnapshot::default()
    }
}
