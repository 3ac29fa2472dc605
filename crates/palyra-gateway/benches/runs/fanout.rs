//! What it costs those who watch a run that others watch it too.

use std::time::Instant;

use palyra_common::tape::TapeEvent;
use palyra_testkit::figures::{Measured, millis, report};
use tokio::runtime::Runtime;

use crate::model::Mode;
use crate::node::{Node, quantile};
use crate::place::{Engine, Place};

const SUBSCRIBERS: usize = 200;
const PIECES: usize = 60;

pub(crate) fn run(runtime: &Runtime) {
    for (engine, name) in
        [(Engine::Sqlite, "stream.fanout_ms"), (Engine::Postgres, "stream.fanout_ms.postgres")]
    {
        let place = Place::open(runtime, engine);
        let node = Node::start(runtime, &place);
        let _ = seen_after(runtime, &node, 1, 5);
        let alone = seen_after(runtime, &node, 1, PIECES);
        let among = seen_after(runtime, &node, SUBSCRIBERS, PIECES);
        report(name, "ms", Measured::beside(among - alone, alone), None);
    }
}

/// The 99th of a hundred delays from a piece of an answer until somebody who watches has it.
fn seen_after(runtime: &Runtime, node: &Node, watching: usize, pieces: usize) -> f64 {
    node.model.does(Mode::Stream { pieces });
    node.model.pieces.lock().unwrap().clear();
    let run = runtime.block_on(async { node.say(node.session().await).await });
    let watching: Vec<_> = (0..watching)
        .map(|_| {
            let mut follow = node.streams.follow(run, 0);
            runtime.spawn(async move {
                let mut seen = Vec::new();
                loop {
                    let events = follow.next().await.unwrap();
                    let now = Instant::now();
                    if events.is_empty() {
                        return seen;
                    }
                    let pieces = events.iter();
                    let pieces =
                        pieces.filter(|entry| matches!(entry.event, TapeEvent::ModelDelta(_)));
                    seen.extend(pieces.map(|_| now));
                }
            })
        })
        .collect();
    let mut delays = Vec::new();
    for watching in watching {
        let seen = runtime.block_on(watching).unwrap();
        let given = node.model.pieces.lock().unwrap();
        assert_eq!(seen.len(), given.len());
        delays.extend(seen.iter().zip(&*given).map(|(seen, given)| millis(*seen - *given)));
    }
    quantile(&mut delays, 99)
}
