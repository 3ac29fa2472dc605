//! A command that is sent again, however often and to whichever node, is carried out once.

use palyra_common::api::AcpCommandResultEnvelope;
use palyra_common::runtime_contracts::Role;
use palyra_storage::EngineKind;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::desk::{Desk, access, envelope};
use crate::world::{World, on_every_engine};

const AT_ONCE: usize = 100;

on_every_engine!(
    of_a_hundred_at_once_one_is_carried_out,
    a_result_comes_back_as_it_was,
    a_key_stands_for_one_request,
    what_was_refused_leaves_the_key_free,
    a_key_survives_a_restart,
);

/// On Postgres the hundred are sent to two nodes by turns; on SQLite there is one.
async fn of_a_hundred_at_once_one_is_carried_out(world: World) {
    let first = Desk::new(&world.db).await;
    let second = match world.db.engine() {
        EngineKind::Postgres => Desk::new(&world.next_process().await).await,
        EngineKind::Sqlite => first.clone(),
    };
    let session = first.result("session.new", json!({})).await["id"].clone();
    for (command, params) in [
        ("session.new", json!({ "title": "one" })),
        ("run.create", json!({ "session": session, "text": "hello" })),
        ("session.fork", json!({ "session": session })),
        ("session.rename", json!({ "session": session, "title": "two" })),
        ("session.reset", json!({ "session": session })),
    ] {
        let mut all = JoinSet::new();
        for n in 0..AT_ONCE {
            let desk = if n % 2 == 0 { first.clone() } else { second.clone() };
            let sent = envelope(command, params.clone(), Some(&format!("one-{command}")));
            all.spawn(async move { desk.send(sent).await });
        }
        check(command, &all.join_all().await);
    }
    // Three conversations, one run, and one entry about the reset.
    let listed = first.result("session.list", json!({})).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 3, "{listed}");
    let runs = first.sessions.runs(None, None, None, 100).await.unwrap();
    assert_eq!(runs.len(), 1, "{runs:?}");
    let loaded = first.result("session.load", json!({ "session": session })).await;
    // Begun, said in, named and reset.
    assert_eq!(loaded["session"]["version"], json!(4), "{loaded}");
    let trail: Vec<_> = first.trail().await.into_iter().map(|entry| entry.action).collect();
    assert_eq!(trail, ["session.reset"]);
}

fn check(command: &str, told: &[AcpCommandResultEnvelope]) {
    assert!(told.iter().all(|told| told.ok), "{command}: {told:?}");
    let carried_out = told.iter().filter(|told| !told.replayed).count();
    assert_eq!((told.len(), carried_out), (AT_ONCE, 1), "{command}");
    assert!(told.iter().all(|one| one.result == told[0].result), "{command}: {told:?}");
}

/// Also after what it was about has changed.
async fn a_result_comes_back_as_it_was(world: World) {
    let desk = Desk::new(&world.db).await;
    let session = desk.result("session.new", json!({})).await["id"].clone();
    let name = |title: &str| json!({ "session": session, "title": title });
    let first = desk.send(envelope("session.rename", name("a"), Some("k"))).await;
    desk.result("session.rename", name("b")).await;
    desk.result("session.archive", json!({ "session": session })).await;
    let mut sent = envelope("session.rename", name("a"), Some("k"));
    // Whoever repeats a request may know more by now.
    sent.expected_version = Some(3);
    let again = desk.send(sent).await;
    assert_eq!((first.replayed, again.replayed), (false, true));
    assert_eq!(again.result, first.result);
    assert_eq!(again.result.unwrap()["title"], json!("a"));
}

async fn a_key_stands_for_one_request(world: World) {
    let desk = Desk::new(&world.db).await;
    let new = |title: Value| envelope("session.new", json!({ "title": title }), Some("k"));
    let first = desk.send(new(json!("a"))).await;
    // What says the same in other words is the same.
    let params = json!({ "surface": null, "title": "a" });
    assert!(desk.send(envelope("session.new", params, Some("k"))).await.replayed);
    let id = first.result.unwrap()["id"].clone();
    let other = [
        new(json!("b")),
        envelope("session.rename", json!({ "session": id, "title": "a" }), Some("k")),
    ];
    for sent in other {
        let error = desk.send(sent).await.error.unwrap();
        assert_eq!(error.code(), "common/conflict");
        assert!(error.message().contains("choose a new one"), "{error}");
    }
    // Somebody else has keys of their own.
    let ben = Desk { access: access("operator:ben", Role::Operator), ..desk.clone() };
    assert!(!ben.send(new(json!("b"))).await.replayed);
    let listed = desk.result("session.list", json!({})).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
}

async fn what_was_refused_leaves_the_key_free(world: World) {
    let desk = Desk::new(&world.db).await;
    let session = desk.result("session.new", json!({})).await["id"].clone();
    let mut rename =
        envelope("session.rename", json!({ "session": session, "title": "a" }), Some("k"));
    rename.expected_version = Some(7);
    assert_eq!(desk.send(rename.clone()).await.error.unwrap().code(), "common/conflict");
    rename.expected_version = Some(1);
    let done = desk.send(rename).await;
    assert!(done.ok && !done.replayed, "{done:?}");
}

async fn a_key_survives_a_restart(world: World) {
    let desk = Desk::new(&world.db).await;
    let sent = envelope("session.new", json!({ "title": "a" }), Some("k"));
    let first = desk.send(sent.clone()).await;
    let world = world.restarted().await;
    let again = Desk::new(&world.db).await.send(sent).await;
    assert!(again.replayed, "{again:?}");
    assert_eq!(again.result, first.result);
}
