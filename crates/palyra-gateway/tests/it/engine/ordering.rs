//! Which run of a conversation takes what, and how long it may wait.

use std::sync::Arc;

use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase as Phase};
use palyra_common::tape::TapeEvent;
use palyra_common::time::Duration;
use palyra_gateway::{Verdict, Wish};
use tokio::sync::Notify;

use super::node::{Node, Says, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    what_comes_beyond_the_most_does_not_join_a_run_that_has_begun,
    of_very_many_inputs_each_is_read,
    long_inputs_do_not_make_one_that_is_too_long,
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

/// Says all of these while a run is under way, and tells what was asked in the runs that took them.
async fn all_asked(node: &Node, texts: &[String]) -> Vec<String> {
    let session = node.session().await;
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(Says::Waits("one", asked.clone(), go_on.clone()));
    node.say(session, "first").await;
    asked.notified().await;
    let mut runs = Vec::new();
    for text in texts {
        runs.push(node.say(session, text).await);
    }
    runs.dedup();
    go_on.notify_one();
    for run in runs {
        let ended = node.until(run, Phase::Completed).await;
        assert_eq!(ended.ended, Some(RunEnd::Answered));
    }
    node.script.asked.lock().unwrap().iter().map(seen).collect()
}

/// Fifty wait on their own, and those behind them join.
async fn of_very_many_inputs_each_is_read(world: World) {
    let node = Node::start(&world).await;
    node.spec(|spec| spec.limits.context_tokens = 1_000_000).await;
    let texts: Vec<_> = (0..1_200).map(|n| format!("input {n}.")).collect();
    let asked = all_asked(&node, &texts).await;
    assert!((51..100).contains(&asked.len()), "{} were asked", asked.len());
    for text in &texts {
        assert!(asked.iter().any(|asked| asked.contains(text)), "{text} is lost");
    }
    node.stop().await;
}

async fn long_inputs_do_not_make_one_that_is_too_long(world: World) {
    let node = Node::start(&world).await;
    let long = |n| format!("{n} {}", "long ".repeat(2_000));
    let texts: Vec<_> = (0..70).map(long).collect();
    let asked = all_asked(&node, &texts).await;
    assert_eq!(asked.len(), 71, "of these each is one");
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
