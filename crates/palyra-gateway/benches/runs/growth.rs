//! Whether a run is resumed as fast after much has happened in it.

use std::cell::RefCell;

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_testkit::figures::{Goal, in_turns, report};
use tokio::runtime::Runtime;

use crate::model::Mode;
use crate::node::{Node, quantile};
use crate::place::{Engine, Place};

/// Turns after which a run has about a hundred and about ten thousand events: 34 each.
const FEW: u32 = 3;
const MANY: u32 = 294;
/// Runs that are resumed in one turn, of those that are short: each of them once.
const RESUMED: usize = 20;
const TURNS: usize = 5;

pub(crate) fn run(runtime: &Runtime) {
    let place = Place::open(runtime, Engine::Sqlite);
    let node = Node::start(runtime, &place);
    let long = waiting(runtime, &node, MANY);
    let events = runtime.block_on(node.sessions.run(long)).unwrap().next_seq - 1;
    assert!((9_900..10_100).contains(&events), "{events}");
    let short = (0..(TURNS + 1) * RESUMED).map(|_| waiting(runtime, &node, FEW));
    let short = RefCell::new(short.collect::<Vec<_>>());
    let events = runtime.block_on(node.sessions.run(short.borrow()[0])).unwrap().next_seq - 1;
    assert!((90..120).contains(&events), "{events}");
    let many = || median(runtime, &node, std::iter::repeat_n(long, RESUMED));
    let few = || {
        let mut short = short.borrow_mut();
        let left = short.len() - RESUMED;
        median(runtime, &node, short.split_off(left).into_iter())
    };
    report("tape.growth", "ms", in_turns(TURNS, many, few), Some(Goal::AtMost(3.0)));
}

/// A run that waits for a human after so many turns of work.
fn waiting(runtime: &Runtime, node: &Node, turns: u32) -> RunId {
    node.model.does(Mode::AskAfter { turns });
    runtime.block_on(async {
        let run = node.say(node.session().await).await;
        node.until(run, RunLifecyclePhase::WaitingForApproval).await;
        run
    })
}

/// Milliseconds from a yes until the call that waited for it is made, in the median.
fn median(runtime: &Runtime, node: &Node, runs: impl Iterator<Item = RunId>) -> f64 {
    let resumed = runs.map(|run| {
        let open = runtime.block_on(node.questions(1_000));
        let (question, _) = open.into_iter().find(|(_, of)| *of == run).unwrap();
        let took = node.resumed_after(runtime, question);
        // It asks once more.
        runtime.block_on(async {
            while !node.questions(1).await.iter().any(|(next, of)| *of == run && *next != question)
            {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
            node.until(run, RunLifecyclePhase::WaitingForApproval).await;
        });
        took
    });
    quantile(&mut resumed.collect::<Vec<_>>(), 50)
}
