//! Many runs that wait for a human.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{ApprovalState, RunLifecyclePhase as Phase};
use palyra_gateway::{Counts, Verdict};
use tokio::runtime::Handle;

use super::node::Node;
use crate::world::World;

const WAITING: usize = 10_000;
const CALLERS: usize = 64;
/// Of one node and its database there may be some more or fewer at any moment.
const FEW: usize = 16;

/// Waits until so many runs wait for a human, and nothing else is to do.
async fn settled(world: &World, waiting: usize) {
    let settled = async {
        loop {
            let counts = Counts::read(&world.db).await.unwrap();
            let busy = counts.of(Phase::Queued) + counts.of(Phase::Running);
            let all = counts.of(Phase::WaitingForApproval) == waiting as u64;
            if busy == 0 && all && counts.questions == waiting as u64 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(4), settled).await.expect("runs are left over");
}

async fn questions(node: &Node) -> Vec<ApprovalId> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = node.approvals.list(after, Some(ApprovalState::Pending), 200).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(last.id);
        all.extend(page.into_iter().map(|record| record.id));
    }
}

/// Neither a task nor, with it, a timer is kept for any of them.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_runs_wait_in_the_database_alone() {
    let world = World::sqlite().await;
    let node = Node::start(&world).await;
    *node.script.always.lock().unwrap() = Some(("test.risky", "{}".to_owned()));
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let say = |_| async { node.say(node.session().await, "do it").await };
    let runs: Vec<_> = stream::iter(0..WAITING).map(say).buffer_unordered(CALLERS).collect().await;
    settled(&world, WAITING).await;
    // The last tasks end behind their commits.
    let ended = async {
        while tasks() > before + FEW {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    ended.unwrap_or_else(|_| panic!("{} tasks instead of {before}", tasks()));
    assert_eq!(node.times(), 0, "nothing is done before a yes");

    *node.script.always.lock().unwrap() = None;
    let asked = questions(&node).await;
    assert_eq!(asked.len(), WAITING);
    let decide = |question| node.decide(question, Verdict::Approve);
    let decided: Vec<_> =
        stream::iter(asked).map(decide).buffer_unordered(CALLERS).try_collect().await.unwrap();
    assert!(decided.iter().all(|state| *state == ApprovalState::Approved));
    settled(&world, 0).await;
    assert_eq!(node.times() as usize, WAITING, "each is done once");
    for run in runs {
        assert_eq!(node.sessions.run(run).await.unwrap().phase, Phase::Completed);
    }
    node.stop().await;
}
