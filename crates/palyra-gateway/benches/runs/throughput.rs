//! How many runs end in a second, when many people talk at once.

use palyra_testkit::figures::{Goal, in_turns, rate, report};
use tokio::runtime::Runtime;

use crate::node::{Node, answered};
use crate::place::{Engine, Place};
use crate::raw::{self, SESSIONS};

/// Questions in each session, one after the other.
const EACH: usize = 16;
const TURNS: usize = 3;

pub(crate) fn run(runtime: &Runtime) {
    for (engine, name) in
        [(Engine::Sqlite, "run.throughput.sqlite"), (Engine::Postgres, "run.throughput.postgres")]
    {
        let place = Place::open(runtime, engine);
        let node = Node::start(runtime, &place);
        let mut raw = raw::beside(runtime, engine, &place, &node);
        let ours = || {
            let sessions: Vec<_> =
                (0..SESSIONS).map(|_| runtime.block_on(node.session())).collect();
            rate(SESSIONS * EACH, || {
                let callers = sessions.iter().map(|session| {
                    let (sessions, streams) = (node.sessions.clone(), node.streams.clone());
                    let session = *session;
                    runtime.spawn(async move {
                        for _ in 0..EACH {
                            answered(&sessions, &streams, session).await;
                        }
                    })
                });
                for caller in callers.collect::<Vec<_>>() {
                    runtime.block_on(caller).unwrap();
                }
            })
        };
        let theirs = || {
            let sessions = raw.sessions(runtime, SESSIONS);
            rate(SESSIONS * EACH, || raw.work(runtime, &sessions, EACH))
        };
        let measured = in_turns(TURNS, ours, theirs);
        report(name, "runs/s", measured, Some(Goal::AtLeast(0.25)));
    }
}
