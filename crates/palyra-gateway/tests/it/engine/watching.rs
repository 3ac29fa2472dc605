//! Those who watch runs, wherever these are worked on.

use std::sync::Arc;
use std::time::Duration;

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use palyra_common::tape::TapeEntry;
use palyra_gateway::{Follow, Streams, Wish};
use palyra_storage::{Subscription, Topic};
use tokio::sync::Notify;

use super::node::{Node, Says};
use super::risky;
use crate::world::{World, on_every_engine};

on_every_engine!(
    whoever_comes_late_sees_the_same,
    what_a_run_without_a_worker_is_told_is_seen,
    whoever_waits_is_told_when_somebody_else_stops_waiting,
);

/// Rung where a tape has grown that is not handed over.
const TAPE: Topic = Topic::new("tape");
/// Longer than any machine needs.
const LIMIT: Duration = Duration::from_secs(60);

async fn rung(bell: &mut Subscription) {
    tokio::time::timeout(LIMIT, bell.changed()).await.expect("nobody was told");
}

/// All that somebody sees who watches until the end.
pub(super) async fn until_the_end(mut follow: Follow) -> Vec<TapeEntry> {
    let mut all = Vec::new();
    loop {
        let events = tokio::time::timeout(LIMIT, follow.next()).await.expect("nothing came");
        match events.unwrap() {
            events if events.is_empty() => return all,
            events => all.extend(events),
        }
        let is_new = |pair: &[TapeEntry]| pair[0].seq < pair[1].seq;
        assert!(all.windows(2).all(is_new), "seen twice: {all:#?}");
    }
}

/// A run that is told something only after `watch` began, and its node.
async fn hanging(world: &World) -> (Node, RunId) {
    let node = Node::start(world).await;
    let begun = Arc::new(Notify::new());
    node.script.then(Says::Hangs(begun.clone()));
    let run = node.say(node.session().await, "hello").await;
    begun.notified().await;
    (node, run)
}

async fn whoever_comes_late_sees_the_same(world: World) {
    let (node, run) = hanging(&world).await;
    let first = tokio::spawn(until_the_end(node.streams.follow(run, 0)));
    let mut seen = node.streams.follow(run, 0);
    assert_eq!(seen.next().await.unwrap().len(), 4);
    let second = tokio::spawn(until_the_end(node.streams.follow(run, 2)));
    // Whoever says to have seen more than there is sees nothing, and the end.
    let beyond = tokio::spawn(until_the_end(node.streams.follow(run, 1_000)));
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Aborted).await;
    let tape = node.tape(run).await;
    assert_eq!(first.await.unwrap(), tape);
    assert_eq!(second.await.unwrap(), tape[2..]);
    assert_eq!(beyond.await.unwrap(), []);
    assert_eq!(until_the_end(seen).await, tape[4..]);
    assert_eq!(until_the_end(node.streams.follow(run, 0)).await, tape);
    node.stop().await;
}

async fn what_a_run_without_a_worker_is_told_is_seen(world: World) {
    let node = Node::start(&world).await;
    let run = risky(&node).await;
    node.until(run, Phase::WaitingForApproval).await;
    let before = node.tape(run).await.len();
    let watching = tokio::spawn(until_the_end(node.streams.follow(run, 0)));
    let mut bell = world.db.subscribe(TAPE);
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    rung(&mut bell).await;
    let tape = node.tape(run).await;
    assert_eq!(tape.len(), before + 1);
    assert_eq!(watching.await.unwrap(), tape);
    node.stop().await;
}

/// One of those who wait looks for all of them.
async fn whoever_waits_is_told_when_somebody_else_stops_waiting(world: World) {
    let node = Node::start(&world).await;
    let run = risky(&node).await;
    node.until(run, Phase::WaitingForApproval).await;
    let watching: Vec<_> =
        (0..3).map(|_| tokio::spawn(until_the_end(node.streams.follow(run, 0)))).collect();
    let mut last = node.streams.follow(run, 0);
    let all = last.next().await.unwrap().len();
    assert_eq!(node.tape(run).await.len(), all);
    // Nothing comes; whoever was there before looks meanwhile.
    assert!(tokio::time::timeout(Duration::from_millis(50), last.next()).await.is_err());
    watching[0].abort();
    watching[1].abort();
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    let tape = node.tape(run).await;
    assert_eq!(until_the_end(last).await, tape[all..]);
    for left in watching.into_iter().skip(2) {
        assert_eq!(left.await.unwrap(), tape);
    }
    node.stop().await;
}

mod postgres_nodes {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_is_watched_on_another_node() {
        let world = World::postgres().await;
        let (node, run) = hanging(&world).await;
        let elsewhere = world.next_process().await;
        let mut bell = elsewhere.subscribe(TAPE);
        let streams = Streams::new(elsewhere.clone());
        let watching = tokio::spawn(until_the_end(streams.follow(run, 0)));
        node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
        node.until(run, Phase::Aborted).await;
        rung(&mut bell).await;
        assert_eq!(watching.await.unwrap(), node.tape(run).await);
        node.stop().await;
        elsewhere.close().await;
    }
}
