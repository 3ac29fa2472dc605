//! Runs of which nobody can read what happened in them.

use std::sync::Arc;

use palyra_common::ids::RunId;
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase as Phase};
use palyra_common::time::Duration;
use palyra_gateway::{Run, Wish};
use palyra_storage::{Sql, Tx, params, sql, text};
use serde_json::json;
use tokio::sync::Notify;

use super::delegating::{add, below, delegate};
use super::node::{Node, Says, seen};
use super::sending::{ask_as_bob, is_in_the_queue, small};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_run_that_cannot_be_read_ends_and_its_session_goes_on,
    what_belongs_to_a_run_that_cannot_be_read_ends_with_it,
);

const DAMAGE: Sql =
    sql!("UPDATE tape SET payload = '{}' WHERE run_id = $1 AND kind = 'input.message'");
/// As often as it is tried.
const TRIED: Sql = sql!("UPDATE runs SET recoveries = 3 WHERE id = $1");

async fn damage(world: &World, run: RunId) {
    let damage = move |tx: &mut Tx<'_>| {
        tx.execute(&DAMAGE, params![text(run)])?;
        tx.execute(&TRIED, params![text(run)])
    };
    world.db.write(damage).await.unwrap();
}

async fn a_run_that_cannot_be_read_ends_and_its_session_goes_on(world: World) {
    world.connectors.add(small(), "echo", json!({}), QueueSettings::default(), None).await.unwrap();
    let node = Node::start(&world).await;
    node.script.then(Says::Busy(Duration::from_mins(5)));
    let run = ask_as_bob(&world).await;
    // It waits for the model, and its session for it.
    let waits = async |now: &Run| node.script.times_asked() > 0 && now.phase == Phase::Queued;
    node.until_run(run, "waiting for its model", waits).await;
    let next = ask_as_bob(&world).await;
    damage(&world, run).await;
    node.clock.advance(Duration::from_mins(5));
    let ended = node.until(run, Phase::Failed).await;
    assert_eq!(ended.ended, Some(RunEnd::CrashLoop));
    let said = node.sessions.ending(run).await.unwrap().unwrap().answer;
    assert!(said.contains("cannot be read"), "{said}");
    assert!(is_in_the_queue(&world, format!("run-{run}")).await);
    node.until(next, Phase::Completed).await;
    // What cannot be read is not read by those that follow either.
    let asked = seen(node.script.asked.lock().unwrap().last().unwrap());
    assert_eq!(asked.matches("user:").count(), 1, "{asked}");
    node.stop().await;
}

async fn what_belongs_to_a_run_that_cannot_be_read_ends_with_it(world: World) {
    let node = Node::start(&world).await;
    let helper = add(&node, "helper", |_| {}).await;
    let begun = Arc::new(Notify::new());
    node.script.then(delegate(&helper));
    node.script.then(Says::Hangs(begun.clone()));
    let gives_away = node.say(node.session().await, "have it counted").await;
    begun.notified().await;
    let [child] = &below(&node, gives_away).await[..] else { panic!() };
    node.script.then(Says::Calls(vec![("test.risky", "{}".to_owned())]));
    let asks = node.say(node.session().await, "do it").await;
    node.until(asks, Phase::WaitingForApproval).await;
    for run in [gives_away, asks] {
        node.sessions.wish(run, Wish::Pause, "ann".to_owned(), None).await.unwrap();
        node.until(run, Phase::Paused).await;
        damage(&world, run).await;
        node.sessions.wish(run, Wish::Resume, "ann".to_owned(), None).await.unwrap();
        node.until(run, Phase::Failed).await;
    }
    node.until(child.id, Phase::Aborted).await;
    assert!(node.pending().await.is_empty());
    node.stop().await;
}
