//! Calls that were begun and are done with their results: without one, nothing was done.

use std::sync::Arc;

use palyra_common::ids::RunId;
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{RunLifecyclePhase as Phase, ToolOutcome};
use palyra_connector_core::{Outbox, SystemDice};
use palyra_gateway::{OntoTapes, Sessions, Wish};
use palyra_storage::SystemClock;
use serde_json::json;
use tokio::sync::Notify;

use super::node::{Node, Says};
use super::sending::{ask_as_bob, ended, is_in_the_queue, small};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_message_that_was_begun_and_not_sent_is_sent_without_a_question,
    a_message_that_was_interrupted_was_not_sent,
    a_message_of_a_run_that_was_stopped_was_not_sent,
    a_task_that_was_interrupted_was_not_given_on,
);

/// A run of bob's that was about to say something in his own conversation, where nobody has to be
/// asked.
async fn about_to_send(world: &World, node: &Node) -> RunId {
    world.connectors.add(small(), "echo", json!({}), QueueSettings::default(), None).await.unwrap();
    let begun = Arc::new(Notify::new());
    *node.counting.hang.lock().unwrap() = Some(begun.clone());
    let said = json!({"text": "I am at it"}).to_string();
    node.script.then(Says::Calls(vec![("channel.send", said)]));
    let run = ask_as_bob(world).await;
    begun.notified().await;
    run
}

async fn a_message_that_was_begun_and_not_sent_is_sent_without_a_question(world: World) {
    let first = Node::start(&world).await;
    let run = about_to_send(&world, &first).await;
    first.vanish();
    let world = world.restarted().await;
    let node = Node::start(&world).await;
    node.until(run, Phase::Completed).await;
    assert!(node.pending().await.is_empty());
    let [(outcome, told)] = &ended(&node, run).await[..] else { panic!() };
    assert_eq!(*outcome, ToolOutcome::Done, "{told}");
    assert!(!node.kinds(run).await.contains(&"approval.requested".to_owned()));
    let envelope = format!("run-{run}-t1c0").parse().unwrap();
    let outbox = Outbox::new(
        world.db.clone(),
        node.clock.clone(),
        Arc::new(SystemDice),
        Arc::new(OntoTapes),
    );
    assert_eq!(outbox.envelope(&small(), &envelope).await.unwrap().len(), 1);
    node.stop().await;
}

async fn a_message_that_was_interrupted_was_not_sent(world: World) {
    let node = Node::start(&world).await;
    let run = about_to_send(&world, &node).await;
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Aborted).await;
    let [(outcome, told)] = &ended(&node, run).await[..] else { panic!() };
    assert_eq!(*outcome, ToolOutcome::Failed, "{told}");
    assert!(!is_in_the_queue(&world, format!("run-{run}-t1c0")).await);
    node.stop().await;
}

async fn a_message_of_a_run_that_was_stopped_was_not_sent(world: World) {
    let first = Node::start(&world).await;
    let run = about_to_send(&world, &first).await;
    first.vanish();
    let db = world.next_process().await;
    let sessions = Sessions::new(db.clone(), Arc::new(SystemClock));
    sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    let node = Node::start_on(db, world.folder.path()).await;
    node.until(run, Phase::Aborted).await;
    let [(outcome, told)] = &ended(&node, run).await[..] else { panic!() };
    assert_eq!(*outcome, ToolOutcome::Failed, "{told}");
    node.stop().await;
}

async fn a_task_that_was_interrupted_was_not_given_on(world: World) {
    let node = Node::start(&world).await;
    let begun = Arc::new(Notify::new());
    *node.counting.hang.lock().unwrap() = Some(begun.clone());
    let task = json!({"agent": "default", "task": "count to ten"}).to_string();
    node.script.then(Says::Calls(vec![("agent.delegate", task)]));
    let run = node.say(node.session().await, "have it counted").await;
    begun.notified().await;
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Aborted).await;
    let [(outcome, told)] = &ended(&node, run).await[..] else { panic!() };
    assert_eq!(*outcome, ToolOutcome::Failed, "{told}");
    assert_eq!(node.sessions.runs(None, None, None, 10).await.unwrap().len(), 1);
    node.stop().await;
}
