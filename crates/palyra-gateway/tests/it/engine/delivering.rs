//! What became of the messages of runs, on their tapes.

use std::sync::Arc;

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::{OutboxState, RunLifecyclePhase as Phase};
use palyra_common::tape::TapeEvent;
use palyra_common::time::Duration;
use palyra_connector_core::conformance::AsItIs;
use palyra_connector_core::{
    Attempt, ChannelError, CleanText, Connector, Due, Envelope, Operation, Outbox, Release, Report,
    Settled, SystemDice,
};
use palyra_gateway::OntoTapes;
use palyra_policy::outbox::Repeat;
use palyra_storage::lease::{Lease, LeaseName, Leases};
use tokio::sync::Notify;

use super::node::{Node, Says};
use super::sending::{approve_all, ask_as_bob, send, small, with_small};
use super::watching::until_the_end;
use crate::world::{World, on_every_engine};

on_every_engine!(
    what_became_of_an_answer_follows_the_end_of_its_run,
    a_message_of_a_run_that_goes_on_is_told_to_it,
    whoever_watches_sees_it_and_whoever_comes_back_misses_nothing,
    what_cannot_be_written_down_is_not_on_the_tape_either,
    messages_of_others_touch_no_run,
);

/// Sends what is due in the small queue.
struct Desk {
    outbox: Outbox,
    connector: Arc<Connector>,
    lease: Lease,
}

impl Desk {
    async fn open(world: &World, node: &Node) -> Self {
        with_small(world).await;
        let (db, clock) = (world.db.clone(), node.clock.clone());
        let leases = Leases::new(db.clone(), clock.clone(), Duration::from_hours(1));
        let lease = leases.try_take(&LeaseName::new("connector:small")).await.unwrap().unwrap();
        let connector = Arc::new(world.connectors.get(&small()).await.unwrap());
        let outbox = Outbox::new(db, clock, Arc::new(SystemDice), Arc::new(OntoTapes));
        Self { outbox, connector, lease }
    }

    /// Makes the attempt that is due, which ends like this.
    async fn send(&self, report: Report) -> Result<(), ChannelError> {
        let due = self.outbox.due(&small(), 1).await.unwrap();
        let due = due.into_iter().filter_map(|due| match due {
            Due::Send(stored) => Some(Attempt::Begin(stored)),
            Due::Look(_) => None,
        });
        let (repeat, due) = (Repeat::Never, due.collect());
        let begun = self.outbox.begin(&self.connector, &self.lease, repeat, due).await.unwrap();
        let settled = begun.into_iter().map(|begun| Settled { begun, report: report.clone() });
        self.outbox.settle(repeat, settled.collect()).await
    }
}

fn delivered(native: &str) -> Report {
    Report::Delivered { native: Some(native.parse().unwrap()) }
}

/// What the tape of a run says became of its messages, and the kind of the event before.
async fn settled(node: &Node, run: RunId) -> Vec<(String, OutboxState)> {
    let (mut found, mut before) = (Vec::new(), String::new());
    for entry in node.tape(run).await {
        if let TapeEvent::DeliverySettled(settled) = &entry.event {
            assert_eq!(settled.connector, small());
            found.push((before, settled.state));
        }
        before = entry.event.kind().to_string();
    }
    found
}

async fn what_became_of_an_answer_follows_the_end_of_its_run(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::open(&world, &node).await;
    let run = ask_as_bob(&world).await;
    node.until(run, Phase::Completed).await;
    assert_eq!(settled(&node, run).await, []);
    desk.send(delivered("n1")).await.unwrap();
    let after_the_end = |state| ("run.finished".to_owned(), state);
    assert_eq!(settled(&node, run).await, [after_the_end(OutboxState::Delivered)]);
    let next = ask_as_bob(&world).await;
    node.until(next, Phase::Completed).await;
    desk.send(Report::Rejected { reason: "no".into() }).await.unwrap();
    assert_eq!(settled(&node, next).await, [after_the_end(OutboxState::Dead)]);
    // Its numbers go on, and the run is as it was.
    let (tape, found) = (node.tape(next).await, node.sessions.run(next).await.unwrap());
    assert_eq!(tape.last().unwrap().seq, found.next_seq - 1);
    assert_eq!(found.phase, Phase::Completed);
    node.stop().await;
}

async fn a_message_of_a_run_that_goes_on_is_told_to_it(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::open(&world, &node).await;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(Says::Calls(vec![send("one")]));
    node.script.then(Says::Waits("sent", begun.clone(), go_on.clone()));
    let run = node.say(node.session().await, "greet bob").await;
    approve_all(&node, run).await;
    begun.notified().await;
    let watching = tokio::spawn(until_the_end(node.streams.follow(run, 0)));
    desk.send(delivered("n1")).await.unwrap();
    let told = [("model.requested".to_owned(), OutboxState::Delivered)];
    assert_eq!(settled(&node, run).await, told);
    go_on.notify_one();
    node.until(run, Phase::Completed).await;
    assert_eq!(node.answer(run).await, "sent");
    assert_eq!(watching.await.unwrap(), node.tape(run).await);
    node.stop().await;
}

async fn whoever_watches_sees_it_and_whoever_comes_back_misses_nothing(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::open(&world, &node).await;
    let run = ask_as_bob(&world).await;
    let mut first = node.streams.follow(run, 0);
    let seen = loop {
        let events = first.next().await.unwrap();
        let last = events.last().unwrap();
        if matches!(last.event, TapeEvent::RunFinished(_)) {
            break last.seq;
        }
    };
    // The answer is on its way, so there is more to come, also for those who come back.
    let wait = std::time::Duration::from_millis(100);
    assert!(tokio::time::timeout(wait, first.next()).await.is_err());
    let back = tokio::spawn(until_the_end(node.streams.follow(run, seen)));
    desk.send(delivered("n1")).await.unwrap();
    let tape = node.tape(run).await;
    let [last] = &until_the_end(first).await[..] else { panic!() };
    assert!(matches!(last.event, TapeEvent::DeliverySettled(_)), "{last:?}");
    assert_eq!((last, last.seq), (tape.last().unwrap(), seen + 1));
    assert_eq!(back.await.unwrap(), tape[tape.len() - 1..]);
    assert_eq!(until_the_end(node.streams.follow(run, 0)).await, tape);
    assert_eq!(until_the_end(node.streams.follow(run, last.seq)).await, []);
    node.stop().await;
}

async fn what_cannot_be_written_down_is_not_on_the_tape_either(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::open(&world, &node).await;
    let runs = [ask_as_bob(&world).await, ask_as_bob(&world).await];
    node.until(runs[0], Phase::Completed).await;
    desk.send(delivered("n1")).await.unwrap();
    node.clock.advance(Duration::from_mins(1));
    node.until(runs[1], Phase::Completed).await;
    let before = node.tape(runs[1]).await;
    // A message of a platform settles one entry.
    desk.send(delivered("n1")).await.unwrap_err();
    assert_eq!(node.tape(runs[1]).await, before);
    let parts = format!("run-{}", runs[1]).parse().unwrap();
    let parts = desk.outbox.envelope(&small(), &parts).await.unwrap();
    assert_eq!(parts[0].state, OutboxState::Sending);
    node.stop().await;
}

async fn messages_of_others_touch_no_run(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::open(&world, &node).await;
    // Also those that are named as if they were of a run, of which there is none.
    for (n, id) in ["hello", "run-01ARZ3NDEKTSV4RRFFQ69G5FAV"].into_iter().enumerate() {
        let text = CleanText::of("hi", &AsItIs);
        let envelope = Envelope {
            connector: small(),
            id: id.parse().unwrap(),
            conversation: "dm-bob".parse().unwrap(),
            parts: vec![Operation::Send { text, reply_to: None }],
            release: Release::AtOnce,
        };
        desk.outbox.enqueue(envelope).await.unwrap();
        desk.send(delivered(&format!("n{n}"))).await.unwrap();
    }
    assert_eq!(node.sessions.runs(None, None, None, 10).await.unwrap(), []);
    node.stop().await;
}
