//! Where runs go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use palyra_common::agent::AgentSpec;
use palyra_common::ids::{AgentId, RunId};
use palyra_common::runtime_contracts::{RetryClass, RunLifecyclePhase as Phase};
use palyra_common::tape::TapeEvent;
use palyra_gateway::{Verdict, Wish};
use palyra_policy::run::{Event, phase};
use serde_json::json;
use tokio::sync::Notify;

use super::node::{Node, Says};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_run_goes_only_where_the_table_lets_it,
    a_pause_is_heard_also_where_something_else_is_told,
);

/// The phases that a tape tells of, each of which follows from the one before it.
async fn phases(node: &Node, run: RunId) -> Vec<Phase> {
    let (mut at, mut all) = (Phase::Queued, Vec::new());
    for entry in node.tape(run).await {
        let to = match entry.event {
            TapeEvent::RunPhase(moved) => moved.phase,
            TapeEvent::RunFinished(finished) => finished.phase,
            _ => continue,
        };
        // That a human decided is an event of its own.
        if at == Phase::WaitingForApproval && to == Phase::Running {
            at = Phase::Queued;
        }
        let events = [
            Event::Taken,
            Event::DeadlinePassed,
            Event::NeedsHuman,
            Event::Later,
            Event::Paused,
            Event::Resumed,
            Event::Answered,
            Event::Failed,
            Event::Aborted,
        ];
        assert!(
            events.iter().any(|event| phase(at, *event) == Some(to)),
            "from {at} to {to}: {:#?}",
            node.tape(run).await
        );
        at = to;
        all.push(to);
    }
    all
}

async fn a_run_goes_only_where_the_table_lets_it(world: World) {
    let node = Node::start(&world).await;
    // Nobody is there who could do it.
    let ops: AgentId = "ops".parse().unwrap();
    node.agents.add(ops.clone(), AgentSpec::default(), None).await.unwrap();
    let session = node.sessions.begin(ops.clone(), "test", String::new()).await.unwrap().id;
    node.agents.remove(ops, None).await.unwrap();
    let run = node.say(session, "hello").await;
    node.until(run, Phase::Failed).await;
    assert_eq!(phases(&node, run).await, [Phase::Running, Phase::Failed]);
    // It is in trouble each time.
    node.counting.panics.store(true, Ordering::SeqCst);
    node.script.then(Says::Calls(vec![("test.read", "{}".to_owned())]));
    let run = node.say(node.session().await, "count").await;
    node.until(run, Phase::Failed).await;
    assert_eq!(phases(&node, run).await, [Phase::Running, Phase::Failed]);
    node.counting.panics.store(false, Ordering::SeqCst);
    // It tries again, waits for a human, is paused, and waits for another one.
    node.script.then(Says::Fails(RetryClass::TransientNetwork));
    node.script.then(Says::Calls(vec![("test.risky", "{}".to_owned())]));
    let run = node.say(node.session().await, "do it").await;
    node.until(run, Phase::WaitingForApproval).await;
    node.sessions.wish(run, Wish::Pause, "ann".to_owned(), None).await.unwrap();
    let task = json!({"agent": "default", "task": "count to ten"});
    node.script.then(Says::Calls(vec![("agent.delegate", task.to_string())]));
    node.decide(node.question().await, Verdict::Approve).await.unwrap();
    node.sessions.wish(run, Wish::Resume, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Completed).await;
    let expected = [
        Phase::Running,
        Phase::Queued,
        Phase::Running,
        Phase::WaitingForApproval,
        Phase::Paused,
        Phase::Queued,
        Phase::Running,
        Phase::Queued,
        Phase::Running,
        Phase::Completed,
    ];
    assert_eq!(phases(&node, run).await, expected);
    node.stop().await;
}

async fn a_pause_is_heard_also_where_something_else_is_told(world: World) {
    let node = Node::start(&world).await;
    let hung = Arc::new(Notify::new());
    node.script.then(Says::Calls(vec![("test.risky", "{}".to_owned()); 2]));
    let run = node.say(node.session().await, "do both").await;
    node.until(run, Phase::WaitingForApproval).await;
    let [second, first] = node.pending().await[..] else { panic!() };
    *node.counting.hang.lock().unwrap() = Some(hung.clone());
    node.decide(first, Verdict::Approve).await.unwrap();
    hung.notified().await;
    *node.counting.hang.lock().unwrap() = None;
    // Both are told before its worker looks, or one after the other.
    let wish = node.sessions.wish(run, Wish::Pause, "ann".to_owned(), None);
    let (paused, decided) = tokio::join!(wish, node.decide(second, Verdict::Approve));
    paused.unwrap();
    decided.unwrap();
    node.until(run, Phase::Paused).await;
    node.sessions.wish(run, Wish::Resume, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Completed).await;
    node.stop().await;
}
