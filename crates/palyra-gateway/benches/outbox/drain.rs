//! From enqueued to delivered, through the supervisor.

use std::cell::Cell;

use palyra_common::queue::QueueSettings;
use palyra_testkit::figures::{Goal, in_turns, rate, report};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::node::{Node, enqueue};
use crate::place::{CONNECTIONS, Engine, Place};
use crate::raw::{BATCH, Raw, RawPostgres};

const MESSAGES: usize = 20_000;
const LANES: u64 = 200;
const TURNS: usize = 3;

pub(crate) fn run(runtime: &Runtime) {
    for (engine, name) in
        [(Engine::Sqlite, "outbox.drain.sqlite"), (Engine::Postgres, "outbox.drain.postgres")]
    {
        let place = Place::open(runtime, engine);
        let node = Node::start(runtime, &place.db, place.folder.path().join("connectors"));
        let queue = QueueSettings { lanes: 256, ..QueueSettings::default() };
        let id = runtime.block_on(node.add("echo:bench", json!({}), queue));
        let next = Cell::new(0);
        let ours = || {
            let first = next.replace(next.get() + MESSAGES as u64);
            rate(MESSAGES, || {
                runtime.block_on(async {
                    enqueue(&node.outbox, &id, first..first + MESSAGES as u64, LANES).await;
                    node.drained(&id).await;
                });
            })
        };
        let measured = match &place.postgres {
            None => {
                let mut raw = Raw::open(&place.folder.path().join("raw.db"));
                in_turns(TURNS, ours, || rate(MESSAGES, || raw.work(MESSAGES, BATCH)))
            }
            Some(database) => {
                let url = database.url();
                let mut raw = runtime.block_on(RawPostgres::open(&url, CONNECTIONS));
                in_turns(TURNS, ours, || rate(MESSAGES, || runtime.block_on(raw.work(MESSAGES))))
            }
        };
        report(name, "messages/s", measured, Some(Goal::AtLeast(0.3)));
    }
}
