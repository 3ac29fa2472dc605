//! What a run costs that waits for a human, and how soon it goes on.

use std::time::Duration;

use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use palyra_gateway::Counts;
use palyra_testkit::figures::{Measured, report};
use tokio::runtime::Runtime;

use crate::model::Mode;
use crate::node::{Node, agent, quantile, say};
use crate::place::{Engine, Place};

const WAITING: usize = 10_000;
/// Those that ran before, so that caches are full.
const BEFORE: usize = 2_000;
const DECIDED: usize = 300;
/// Sessions that are begun at once.
const CALLERS: usize = 64;

pub(crate) fn run(runtime: &Runtime) {
    let place = Place::open(runtime, Engine::Sqlite);
    let node = Node::start(runtime, &place);
    node.model.does(Mode::Answer);
    say_often(runtime, &node, BEFORE);
    settled(runtime, &place, 0);
    let (memory, tasks) = (resident_kib(), runtime.metrics().num_alive_tasks());
    node.model.does(Mode::AskOnce);
    say_often(runtime, &node, WAITING);
    settled(runtime, &place, WAITING as u64);
    let each = (resident_kib() - memory) / WAITING as f64;
    report("run.waiting_cost", "KiB/run", Measured::alone(each), None);
    let more = runtime.metrics().num_alive_tasks() as f64 - tasks as f64;
    report("run.waiting_tasks", "tasks", Measured::alone(more), None);
    assert!(more < 10.0, "runs that wait have tasks");
    let questions = runtime.block_on(node.questions(DECIDED));
    let resumed = questions.into_iter().map(|(question, _)| node.resumed_after(runtime, question));
    let mut resumed: Vec<f64> = resumed.collect();
    for (name, share) in [("run.resumed_ms", 50), ("run.resumed_p99_ms", 99)] {
        report(name, "ms", Measured::alone(quantile(&mut resumed, share)), None);
    }
}

/// Says something once in each of so many sessions.
fn say_often(runtime: &Runtime, node: &Node, times: usize) {
    let callers = (0..CALLERS).map(|caller| {
        let sessions = node.sessions.clone();
        runtime.spawn(async move {
            for _ in (caller..times).step_by(CALLERS) {
                let session = sessions.begin(agent(), "bench", String::new()).await.unwrap();
                say(&sessions, session.id).await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        runtime.block_on(caller).unwrap();
    }
}

/// Waits until so many runs wait, and none is worked on.
fn settled(runtime: &Runtime, place: &Place, waiting: u64) {
    runtime.block_on(async {
        loop {
            let counts = Counts::read(&place.db).await.unwrap();
            let busy = counts.of(Phase::Queued) + counts.of(Phase::Running);
            if busy == 0 && counts.of(Phase::WaitingForApproval) == waiting {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // The tasks of the last ones end behind their commits.
        tokio::time::sleep(Duration::from_millis(200)).await;
    });
}

/// What this process has in memory.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
