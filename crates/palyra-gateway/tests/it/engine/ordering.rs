//! Which run of a conversation takes what, and how long it may wait.

use std::sync::Arc;

use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use palyra_common::tape::TapeEvent;
use palyra_gateway::Verdict;
use tokio::sync::Notify;

use super::node::{Node, Says};
use crate::world::{World, on_every_engine};

on_every_engine!(what_comes_beyond_the_most_does_not_join_a_run_that_has_begun,);

async fn what_comes_beyond_the_most_does_not_join_a_run_that_has_begun(world: World) {
    const WAITING: usize = 50;
    let node = Node::start(&world).await;
    let session = node.session().await;
    let mut begun = Vec::new();
    for n in 0..WAITING {
        node.script.then(Says::Calls(vec![("test.risky", "{}".to_owned())]));
        let run = node.say(session, &n.to_string()).await;
        node.until(run, Phase::WaitingForApproval).await;
        begun.push(run);
    }
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(Says::Waits("here", asked.clone(), go_on.clone()));
    node.say(session, "are you there?").await;
    asked.notified().await;
    for question in node.pending().await {
        node.decide(question, Verdict::Approve).await.unwrap();
    }
    // Each of them stands between a call and its result.
    let next = node.say(session, "and now?").await;
    assert!(!begun.contains(&next));
    assert_eq!(node.say(session, "hurry").await, next, "this one has not begun");
    go_on.notify_one();
    node.until(next, Phase::Completed).await;
    for run in begun {
        node.until(run, Phase::Completed).await;
        let tape = node.tape(run).await;
        let said = |event: &TapeEvent| matches!(event, TapeEvent::InputMessage(_));
        assert_eq!(tape.iter().filter(|entry| said(&entry.event)).count(), 1);
    }
    node.stop().await;
}
