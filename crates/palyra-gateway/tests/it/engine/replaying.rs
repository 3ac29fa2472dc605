//! Runs replayed and compared. That the runs of all stories replay is looked at where their nodes stop.

use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use palyra_common::tape::TapeEvent;
use palyra_storage::{Sql, Tx, params, sql, text};

use super::node::{Node, Says};
use super::risky;
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_decision_that_was_changed_in_the_database_is_found,
    a_tape_of_several_pages_replays_without_what_streamed,
    two_runs_are_compared_whatever_they_are_called,
);

const CHANGE: Sql = sql!(
    "UPDATE tape SET payload = replace(payload, $2, $3) WHERE run_id = $1 AND kind = 'tool.gated'"
);

async fn a_decision_that_was_changed_in_the_database_is_found(world: World) {
    let node = Node::start(&world).await;
    let run = risky(&node).await;
    let (asked, allowed) = ("\"ask\"", "\"allow\"");
    let change = async |from: &'static str, to: &'static str| {
        let change = move |tx: &mut Tx<'_>| tx.execute(&CHANGE, params![text(run), from, to]);
        assert_eq!(world.db.write(change).await.unwrap(), 1);
    };
    assert!(node.sessions.replay(run).await.unwrap().same);
    change(asked, allowed).await;
    let replayed = node.sessions.replay(run).await.unwrap();
    let difference = replayed.difference.unwrap();
    assert!(matches!(difference.recorded.event, TapeEvent::ToolGated(_)), "{difference:?}");
    assert_eq!(difference.today, "t1c0: ask because risky");
    assert!(!replayed.same);
    change(allowed, asked).await;
    node.stop().await;
}

async fn a_tape_of_several_pages_replays_without_what_streamed(world: World) {
    let node = Node::start(&world).await;
    node.spec(|spec| spec.limits.tool_calls = 200).await;
    for _ in 0..8 {
        node.script.then(Says::Calls(vec![("test.read", "{}".to_owned()); 10]));
    }
    node.script.then(Says::Text("done"));
    let run = node.say(node.session().await, "count").await;
    node.until(run, Phase::Completed).await;
    let replayed = node.sessions.replay(run).await.unwrap();
    assert!(replayed.events > 300, "{replayed:?}");
    assert_eq!(replayed.difference, None);
    let compared = node.sessions.compare(run, run).await.unwrap();
    assert_eq!((compared.same, compared.left.tool_calls), (true, 80));
    node.stop().await;
}

async fn two_runs_are_compared_whatever_they_are_called(world: World) {
    let node = Node::start(&world).await;
    let mut runs = Vec::new();
    for answer in ["done", "done", "well"] {
        node.script.then(Says::Calls(vec![("test.low", "{}".to_owned())]));
        node.script.then(Says::Text(answer));
        node.counting.times.store(0, std::sync::atomic::Ordering::SeqCst);
        let run = node.say(node.session().await, "do it").await;
        node.until(run, Phase::Completed).await;
        runs.push(run);
    }
    let same = node.sessions.compare(runs[0], runs[1]).await.unwrap();
    assert_eq!((same.same, same.parting), (true, None));
    let parted = node.sessions.compare(runs[0], runs[2]).await.unwrap();
    let parting = parted.parting.unwrap();
    let said = |entry: Option<palyra_common::tape::TapeEntry>| match entry.unwrap().event {
        TapeEvent::ModelCompleted(answer) => answer.text,
        other => panic!("{other:?}"),
    };
    assert_eq!((said(parting.left), said(parting.right)), ("done".into(), "well".into()));
    assert_eq!((parted.left.turns, parted.right.turns), (2, 2));
    node.stop().await;
}
