//! Commands of the Agent Control Protocol.

mod desk;
mod forking;
mod once;
mod refusing;
mod summaries;
mod surfaces;
mod versions;

use std::sync::Arc;

use palyra_common::api::acp::params::SessionLoaded;
use palyra_common::api::{AgentSession, Run};
use palyra_common::runtime_contracts::{RunLifecyclePhase as Phase, Scope};
use palyra_gateway::acp::{Commands, built_in};
use palyra_gateway::{Approvals, Sessions};
use palyra_storage::SystemClock;
use serde_json::{Value, json};

use crate::engine::node::{Node, Says};
use crate::world::{World, on_every_engine};
use desk::Desk;

on_every_engine!(
    every_command_does_what_it_says,
    a_question_is_listed_shown_and_decided,
    two_commands_of_one_name_are_refused,
    what_changes_something_says_so,
);

async fn every_command_does_what_it_says(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::new(&node.db).await;
    let begun: AgentSession = desk.done("session.new", json!({ "title": " a plan " })).await;
    assert_eq!((begun.title.as_str(), begun.surface.as_str(), begun.version), ("a plan", "api", 1));
    let session = begun.id;
    let listed = desk.result("session.list", json!({ "limit": 1 })).await;
    assert_eq!(listed["items"][0]["id"], json!(session));
    let named: AgentSession =
        desk.done("session.rename", json!({ "session": session, "title": "b" })).await;
    assert_eq!((named.title.as_str(), named.version), ("b", 2));

    node.script.then(Says::Text("hello ann"));
    let said = desk.result("run.create", json!({ "session": session, "text": "hello" })).await;
    let run = said["run"].as_str().unwrap().parse().unwrap();
    node.until(run, Phase::Completed).await;
    let shown: Run = desk.done("run.get", json!({ "run": run })).await;
    assert_eq!((shown.session, shown.phase), (session, Phase::Completed));
    let loaded: SessionLoaded = desk.done("session.load", json!({ "session": session })).await;
    let texts: Vec<_> = loaded.messages.items.iter().map(|said| said.text.as_str()).collect();
    assert_eq!((loaded.session.id, texts), (session, vec!["hello ann", "hello"]));
    assert_eq!(loaded.messages.items[1].sender, desk.access.principal.to_string());
    // Asked and answered.
    assert_eq!(loaded.session.version, 4);

    node.stop().await;
    // Nobody works on this one.
    let said = desk.result("run.create", json!({ "session": session, "text": "and now?" })).await;
    for (command, phase) in
        [("run.pause", Phase::Paused), ("run.resume", Phase::Queued), ("run.abort", Phase::Aborted)]
    {
        let run: Run = desk.done(command, json!({ "run": said["run"] })).await;
        assert_eq!(run.phase, phase, "{command}");
    }
    let forked: AgentSession = desk.done("session.fork", json!({ "session": session })).await;
    assert_eq!((forked.forked_from, forked.title.as_str()), (Some(session), "b"));
    let reset: AgentSession = desk.done("session.reset", json!({ "session": session })).await;
    assert_eq!(reset.version, 7);
    let away: AgentSession = desk.done("session.archive", json!({ "session": session })).await;
    assert!(away.archived_at.is_some() && away.version == 8, "{away:?}");
    let listed = desk.result("session.list", json!({})).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    let trail = desk.trail().await;
    let expected = ["run.paused", "run.resumed", "run.aborted", "session.reset"];
    assert_eq!(trail.iter().map(|entry| &*entry.action).collect::<Vec<_>>(), expected);
    assert!(trail.iter().all(|entry| entry.origin == "desk"), "{trail:?}");
    assert!(trail[0].detail.contains("\"credential\":\"local\""), "{trail:?}");
}

async fn a_question_is_listed_shown_and_decided(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::new(&node.db).await;
    node.script.then(Says::Calls(vec![("test.risky", "{\"n\":1}".to_owned())]));
    let run = node.say(node.session().await, "do it").await;
    node.until(run, Phase::WaitingForApproval).await;
    let listed = desk.result("approval.list", json!({ "state": "pending" })).await;
    let [question] = &listed["items"].as_array().unwrap()[..] else { panic!("{listed}") };
    let shown = desk.result("approval.get", json!({ "approval": question["id"] })).await;
    assert_eq!(&shown, question);
    let seen = &question["payload_sha256"];
    let answer =
        json!({ "approval": question["id"], "verdict": "approve", "payload_sha256": seen });
    let decided = desk.result("approval.decide", answer.clone()).await;
    assert_eq!((&decided["approval"], &decided["state"]), (&question["id"], &json!("approved")));
    assert!(!decided.to_string().contains(question["summary"].as_str().unwrap()), "{decided}");
    node.until(run, Phase::Completed).await;
    assert_eq!(node.times(), 1);
    let again = desk.code("approval.decide", answer).await;
    assert_eq!(again, "common/conflict", "by another request it is decided already");
    let trail: Vec<_> = desk.trail().await.into_iter().map(|entry| entry.action).collect();
    assert_eq!(trail, ["approval.approved"]);
    node.stop().await;
}

async fn two_commands_of_one_name_are_refused(world: World) {
    let clock = Arc::new(SystemClock);
    let sessions = Sessions::new(world.db.clone(), clock.clone());
    let approvals = Approvals::new(world.db.clone(), clock.clone());
    let twice = built_in(&sessions, &approvals).into_iter().chain(built_in(&sessions, &approvals));
    let refused = Commands::new(world.db.clone(), clock, twice).err().unwrap();
    assert_eq!(refused, "there are two commands session.new");
}

/// The table that clients go by.
async fn what_changes_something_says_so(world: World) {
    let clock = Arc::new(SystemClock);
    let sessions = Sessions::new(world.db.clone(), clock.clone());
    let mut table: Vec<_> = built_in(&sessions, &Approvals::new(world.db.clone(), clock))
        .iter()
        .map(|command| {
            (command.name(), command.scope(), command.is_change(), command.takes_version())
        })
        .collect();
    table.sort_by_key(|row| row.0);
    let (see, change) = (Scope::SessionsRead, Scope::SessionsWrite);
    let expected = [
        ("approval.decide", Scope::ApprovalsDecide, true, true),
        ("approval.get", Scope::ApprovalsRead, false, false),
        ("approval.list", Scope::ApprovalsRead, false, false),
        ("run.abort", change, true, true),
        ("run.create", change, true, true),
        ("run.get", see, false, false),
        ("run.pause", change, true, true),
        ("run.resume", change, true, true),
        ("session.archive", change, true, true),
        ("session.fork", change, true, true),
        ("session.list", see, false, false),
        ("session.load", see, false, false),
        ("session.new", change, true, false),
        ("session.rename", change, true, true),
        ("session.reset", change, true, true),
        ("surface.action", change, true, true),
    ];
    assert_eq!(table, expected);
}

/// A value as an envelope has it.
fn field(value: &Value, path: &str) -> Value {
    value.pointer(path).cloned().unwrap_or(Value::Null)
}
