//! Whether slow platforms are served at once.

use std::time::Duration;

use palyra_common::queue::QueueSettings;
use palyra_testkit::figures::{Goal, Measured, report};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::node::{Node, envelope};
use crate::place::{Engine, Place};

const CONNECTORS: u64 = 4;
const LANES: u64 = 16;
const EACH: u64 = 40;
const TAKES: Duration = Duration::from_millis(50);

pub(crate) fn run(runtime: &Runtime) {
    let place = Place::open(runtime, Engine::Sqlite);
    let node = Node::start(runtime, &place.db, place.folder.path().join("connectors"));
    let queue = QueueSettings { lanes: LANES as u32, ..QueueSettings::default() };
    let slow = json!({ "faults": { "delay": "50ms" } });
    let all = (CONNECTORS * LANES * EACH) as usize;
    let value = runtime.block_on(async {
        let mut ids = Vec::new();
        for n in 0..CONNECTORS {
            let id = node.add(&format!("echo:slow{n}"), slow.clone(), queue).await;
            node.connectors.pause(&id, "filled first", None).await.unwrap();
            for name in 0..LANES * EACH {
                node.outbox.enqueue(envelope(&id, name, LANES)).await.unwrap();
            }
            ids.push(id);
        }
        let begun = std::time::Instant::now();
        for id in &ids {
            node.connectors.resume(id, None).await.unwrap();
        }
        for id in &ids {
            node.drained(id).await;
        }
        all as f64 / begun.elapsed().as_secs_f64()
    });
    let best = (CONNECTORS * LANES) as f64 / TAKES.as_secs_f64();
    let measured = Measured { value, reference: Some(best), ratio: Some(value / best) };
    report("outbox.parallel", "deliveries/s", measured, Some(Goal::AtLeast(0.8)));
}
