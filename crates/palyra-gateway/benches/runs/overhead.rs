//! What one turn costs when nothing else happens.

use std::time::Instant;

use palyra_testkit::figures::{Measured, millis, report};
use tokio::runtime::Runtime;

use crate::commits;
use crate::node::{Node, answered, quantile};
use crate::place::{Engine, Place};
use crate::raw;

const RUNS: usize = 300;
/// The first ones find nothing prepared.
const WARM_UP: usize = 20;

pub(crate) fn run(runtime: &Runtime) {
    for (engine, suffix) in [(Engine::Sqlite, ""), (Engine::Postgres, ".postgres")] {
        let place = Place::open(runtime, engine);
        let node = Node::start(runtime, &place);
        let mut raw = raw::beside(runtime, engine, &place, &node);
        let (mut ours, mut theirs, mut commits) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..RUNS + WARM_UP {
            let session = runtime.block_on(node.session());
            let before = commits::counted();
            let begun = Instant::now();
            runtime.block_on(answered(&node.sessions, &node.streams, session));
            let (took, committed) = (millis(begun.elapsed()), commits::counted() - before);
            let session = raw.sessions(runtime, 1);
            let begun = Instant::now();
            raw.work(runtime, &session, 1);
            if n >= WARM_UP {
                ours.push(took);
                theirs.push(millis(begun.elapsed()));
                commits.push(committed as f64);
            }
        }
        for (name, share) in [("run.overhead_ms", 50), ("run.overhead_p99_ms", 99)] {
            let (value, reference) = (quantile(&mut ours, share), quantile(&mut theirs, share));
            let ratio = Some(value / reference);
            let measured = Measured { value, reference: Some(reference), ratio };
            report(&format!("{name}{suffix}"), "ms", measured, None);
        }
        // Now and then there is one of somebody else among them, who renews a lease.
        let value = quantile(&mut commits, 50);
        let name = format!("run.overhead_commits{suffix}");
        report(&name, "commits", Measured::alone(value), None);
    }
}
