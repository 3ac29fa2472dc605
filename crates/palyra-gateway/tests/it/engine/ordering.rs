//! Which run of a conversation takes what, and how long it may wait.

use std::sync::Arc;

use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase as Phase};
use palyra_common::tape::TapeEvent;
use palyra_common::time::Duration;
use palyra_gateway::{Verdict, Wish};
use tokio::sync::Notify;

use super::node::{Node, Says};
use crate::world::{World, on_every_engine};

on_every_engine!(
    what_comes_beyond_the_most_does_not_join_a_run_that_has_begun,
    a_run_that_was_paused_for_days_goes_on,
    a_run_that_nobody_began_in_time_expires,
);

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

async fn a_run_that_was_paused_for_days_goes_on(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(Says::Waits("one", asked.clone(), go_on.clone()));
    let first = node.say(session, "1").await;
    asked.notified().await;
    let run = node.say(session, "2").await;
    node.sessions.wish(run, Wish::Pause, "ann".to_owned(), None).await.unwrap();
    go_on.notify_one();
    node.until(first, Phase::Completed).await;
    node.clock.advance(Duration::from_days(3));
    node.script.then(Says::Text("two"));
    node.sessions.wish(run, Wish::Resume, "ann".to_owned(), None).await.unwrap();
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!(ended.ended, Some(RunEnd::Answered));
    node.stop().await;
}

async fn a_run_that_nobody_began_in_time_expires(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(Says::Waits("one", asked.clone(), go_on.clone()));
    let first = node.say(session, "1").await;
    asked.notified().await;
    let run = node.say(session, "2").await;
    node.clock.advance(Duration::from_days(3));
    go_on.notify_one();
    node.until(first, Phase::Completed).await;
    let ended = node.until(run, Phase::Expired).await;
    assert_eq!(ended.ended, Some(RunEnd::DeadlinePassed));
    let expected = ["run.queued", "input.message", "run.finished"];
    assert_eq!(node.kinds(run).await, expected, "it never began");
    node.stop().await;
}
