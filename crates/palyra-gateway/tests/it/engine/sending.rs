//! Runs that send, and what becomes of it where that is not possible.

use futures_util::FutureExt;
use palyra_common::ids::{ConnectorId, EnvelopeId, RunId};
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{
    RetryClass, RunEnd, RunLifecyclePhase as Phase, ToolOutcome, Trust,
};
use palyra_common::tape::{Input, TapeEvent};
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_connector_core::{EntryKey, Operation};
use palyra_gateway::{NewInput, Place, Verdict, Wish, submit};
use palyra_storage::SystemClock;
use serde_json::json;

use super::node::{Node, Says, agent, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_message_for_a_full_queue_is_not_sent_and_the_model_is_told,
    what_was_stopped_does_not_say_that_it_sent_what_it_did_not,
    an_answer_for_a_full_queue_waits,
    what_there_is_of_an_answer_goes_out,
    a_run_that_failed_says_so_once_where_it_was_asked,
    an_answer_in_more_parts_than_the_queue_has_places_goes_out,
    an_answer_that_waits_for_long_adds_nothing_to_its_tape,
    an_answer_that_is_too_long_for_a_channel_says_where_all_of_it_is,
);

/// A connector with room for one message in each conversation.
pub(super) fn small() -> ConnectorId {
    "echo:small".parse().unwrap()
}

pub(super) async fn with_small(world: &World) {
    let queue = QueueSettings { max_waiting: 1, ..QueueSettings::default() };
    world.connectors.add(small(), "echo", json!({}), queue, None).await.unwrap();
}

pub(super) fn send(text: &str) -> (&'static str, String) {
    let to = json!({"text": text, "connector": small(), "conversation": "dm-bob"});
    ("channel.send", to.to_string())
}

/// How the calls of a run ended, with what the model was told.
pub(super) async fn ended(node: &Node, run: RunId) -> Vec<(ToolOutcome, String)> {
    let tape = node.tape(run).await;
    let done = tape.into_iter().filter_map(|entry| match entry.event {
        TapeEvent::ToolCompleted(done) => Some((done.outcome, done.content)),
        _ => None,
    });
    done.collect()
}

pub(super) async fn is_in_the_queue(world: &World, envelope: String) -> bool {
    let envelope: EnvelopeId = envelope.parse().unwrap();
    !world.outbox.envelope(&small(), &envelope).await.unwrap().is_empty()
}

/// In the order in which was asked: the run may go on with the first before the second is decided.
pub(super) async fn approve_all(node: &Node, run: RunId) {
    node.until(run, Phase::WaitingForApproval).await;
    for question in node.pending().await.into_iter().rev() {
        node.decide(question, Verdict::Approve).await.unwrap();
    }
}

async fn a_message_for_a_full_queue_is_not_sent_and_the_model_is_told(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    node.script.then(Says::Calls(vec![send("one"), send("two")]));
    let run = node.say(node.session().await, "greet bob twice").await;
    approve_all(&node, run).await;
    node.until(run, Phase::Completed).await;
    let [(first, _), (second, told)] = &ended(&node, run).await[..] else { panic!() };
    assert_eq!((*first, *second), (ToolOutcome::Done, ToolOutcome::Failed), "{told}");
    assert!(told.contains("full"), "{told}");
    assert!(seen(node.script.asked.lock().unwrap().last().unwrap()).contains(told.as_str()));
    assert!(is_in_the_queue(&world, format!("run-{run}-t1c0")).await);
    assert!(!is_in_the_queue(&world, format!("run-{run}-t1c1")).await);
    let enqueued = |kind: &String| kind == "delivery.enqueued";
    assert_eq!(node.kinds(run).await.into_iter().filter(enqueued).count(), 1);
    node.stop().await;
}

async fn what_was_stopped_does_not_say_that_it_sent_what_it_did_not(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    node.script.then(Says::Calls(vec![send("one")]));
    let first = node.say(node.session().await, "greet bob").await;
    approve_all(&node, first).await;
    node.until(first, Phase::Completed).await;
    node.script.then(Says::Calls(vec![send("two")]));
    let run = node.say(node.session().await, "greet bob").await;
    node.until(run, Phase::WaitingForApproval).await;
    let sessions = node.sessions.clone();
    let stop = async move {
        sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    };
    *node.counting.meanwhile.lock().unwrap() = Some(stop.boxed());
    approve_all(&node, run).await;
    node.until(run, Phase::Aborted).await;
    let said = ended(&node, run).await;
    assert!(!is_in_the_queue(&world, format!("run-{run}-t1c0")).await);
    assert!(said.iter().all(|(outcome, _)| *outcome != ToolOutcome::Done), "{said:?}");
    assert!(node.pending().await.is_empty());
    node.stop().await;
}

/// A question of bob's, whose answer goes where the queue is small.
pub(super) async fn ask_as_bob(world: &World) -> RunId {
    let ask = move |tx: &mut palyra_storage::Tx<'_>| {
        let (connector, conversation) = (small(), "dm-bob".parse().unwrap());
        let (text, sender) = ("hello".to_owned(), "bob".to_owned());
        let input = Input { text, sender, trust: Trust::Untrusted, connector: Some(small()) };
        let reply_to = Some((&connector, &conversation));
        let agent = agent();
        let place = Place::Key { key: "bob", agent: &agent, surface: "test", reply_to };
        let new = NewInput { place, input, answers: None, parent: None, worker: None };
        submit(tx, &new, SystemClock.now())
    };
    world.db.try_write(ask).await.unwrap().run
}

/// Waits until a run says that there is no room for its answer.
async fn until_full(node: &Node, run: RunId) {
    let full = async {
        loop {
            let tape = node.tape(run).await;
            let waits = |event: &TapeEvent| match event {
                TapeEvent::RunPhase(moved) => moved.reason.is_some(),
                _ => false,
            };
            if tape.iter().any(|entry| waits(&entry.event)) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), full).await.unwrap();
}

async fn an_answer_for_a_full_queue_waits(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    node.script.then(Says::Text("one"));
    let first = ask_as_bob(&world).await;
    node.until(first, Phase::Completed).await;
    node.script.then(Says::Text("two"));
    let second = ask_as_bob(&world).await;
    until_full(&node, second).await;
    // Room is made, and it is looked for again in a while.
    let envelope = format!("run-{first}").parse().unwrap();
    let key = EntryKey { connector: small(), envelope, part: 0 };
    world.outbox.cancel(&key, None).await.unwrap();
    let ended = node.until(second, Phase::Completed).await;
    assert_eq!((ended.ended, node.script.times_asked()), (Some(RunEnd::Answered), 2));
    assert!(is_in_the_queue(&world, format!("run-{second}")).await);
    node.stop().await;
}

/// A text in three parts.
fn three_parts() -> &'static str {
    "word ".repeat(1_000).leak()
}

async fn what_there_is_of_an_answer_goes_out(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    node.spec(|spec| spec.limits.turns = 2).await;
    *node.script.always.lock().unwrap() = Some(("test.read", "{}".to_owned()));
    let run = ask_as_bob(&world).await;
    assert_eq!(node.until(run, Phase::Completed).await.ended, Some(RunEnd::TurnLimit));
    let envelope = format!("run-{run}").parse().unwrap();
    let key = EntryKey { connector: small(), envelope, part: 0 };
    let sent = format!("{:?}", world.outbox.entry(&key).await.unwrap().unwrap().operation);
    assert!(sent.contains("still at it") && sent.contains("limit of turns"), "{sent}");
    node.stop().await;
}

async fn a_run_that_failed_says_so_once_where_it_was_asked(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    node.script.then(Says::Fails(RetryClass::Permanent));
    let run = ask_as_bob(&world).await;
    assert_eq!(node.until(run, Phase::Failed).await.ended, Some(RunEnd::ModelFailed));
    let envelope = format!("run-{run}").parse().unwrap();
    let key = EntryKey { connector: small(), envelope, part: 0 };
    let sent = world.outbox.entry(&key).await.unwrap().expect("nobody is told");
    let sent = format!("{:?}", sent.operation);
    assert!(sent.contains("I could not answer: the model failed"), "{sent}");
    let enqueued = |kind: &String| kind == "delivery.enqueued";
    assert_eq!(node.kinds(run).await.into_iter().filter(enqueued).count(), 1);
    node.stop().await;
}

async fn an_answer_in_more_parts_than_the_queue_has_places_goes_out(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    node.script.then(Says::Text(three_parts()));
    let run = ask_as_bob(&world).await;
    node.until(run, Phase::Completed).await;
    let parts = world.outbox.envelope(&small(), &format!("run-{run}").parse().unwrap()).await;
    assert_eq!(parts.unwrap().len(), 3);
    // What a tool sends is a message like any other.
    let to = json!({"text": three_parts(), "connector": small(), "conversation": "dm-ann"});
    node.script.then(Says::Calls(vec![("channel.send", to.to_string())]));
    let run = node.say(node.session().await, "greet ann").await;
    approve_all(&node, run).await;
    node.until(run, Phase::Completed).await;
    let [(outcome, told)] = &ended(&node, run).await[..] else { panic!() };
    assert_eq!(*outcome, ToolOutcome::Done, "{told}");
    node.stop().await;
}

/// Waits until a run that waits for its channel has looked for room again after `last`, and says when
/// it looks next.
async fn looks_again(node: &Node, run: RunId, last: Timestamp) -> Timestamp {
    let limit = std::time::Duration::from_secs(60);
    let looked = async {
        loop {
            match node.sessions.run(run).await.unwrap().due_at {
                Some(due) if due > last => return due,
                _ => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(limit, looked).await.expect("it does not look again")
}

async fn an_answer_that_waits_for_long_adds_nothing_to_its_tape(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    let first = ask_as_bob(&world).await;
    node.until(first, Phase::Completed).await;
    let run = ask_as_bob(&world).await;
    until_full(&node, run).await;
    let mut due = looks_again(&node, run, Timestamp::UNIX_EPOCH).await;
    let tape = node.tape(run).await;
    let TapeEvent::RunPhase(waits) = &tape.last().unwrap().event else { panic!("{tape:?}") };
    assert_eq!(
        (waits.phase, waits.reason.as_deref()),
        (Phase::Queued, Some("its channel is full"))
    );
    for _ in 0..2 {
        node.clock.advance(due.since(node.clock.now()));
        due = looks_again(&node, run, due).await;
    }
    assert_eq!(node.tape(run).await, tape);
    assert_eq!(node.sessions.run(run).await.unwrap().phase, Phase::Queued);
    let envelope = format!("run-{first}").parse().unwrap();
    let key = EntryKey { connector: small(), envelope, part: 0 };
    world.outbox.cancel(&key, None).await.unwrap();
    node.clock.advance(Duration::from_mins(2));
    node.until(run, Phase::Completed).await;
    assert_eq!(node.script.times_asked(), 2);
    node.stop().await;
}

async fn an_answer_that_is_too_long_for_a_channel_says_where_all_of_it_is(world: World) {
    let settings = json!({});
    world.connectors.add(small(), "echo", settings, QueueSettings::default(), None).await.unwrap();
    let node = Node::start(&world).await;
    for (words, parts) in [(16 * 400, 16), (16 * 400 + 1, 16)] {
        let text: &'static str = "word ".repeat(words).leak();
        node.script.then(Says::Text(text));
        let run = ask_as_bob(&world).await;
        node.until(run, Phase::Completed).await;
        assert_eq!(node.answer(run).await.trim(), text.trim(), "the tape has all of it");
        let envelope: EnvelopeId = format!("run-{run}").parse().unwrap();
        assert_eq!(world.outbox.envelope(&small(), &envelope).await.unwrap().len(), parts);
        let key = EntryKey { connector: small(), envelope, part: 15 };
        let Operation::Send { text, .. } =
            world.outbox.entry(&key).await.unwrap().unwrap().operation
        else {
            panic!()
        };
        let session = node.sessions.run(run).await.unwrap().session;
        let where_it_is = format!("`palyra sessions show {session}`");
        assert_eq!(text.as_str().contains(&where_it_is), words > 16 * 400, "{text:?}");
    }
    node.stop().await;
}
