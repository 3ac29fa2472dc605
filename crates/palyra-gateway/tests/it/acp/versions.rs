//! Whoever has seen another version changes nothing.

use palyra_common::api::AcpCommandResultEnvelope;
use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::desk::{Desk, envelope};
use crate::engine::node::{Node, Says};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_session_is_changed_at_the_version_that_was_seen,
    of_those_who_saw_the_same_one_changes_it,
    a_run_is_at_its_last_event,
    a_question_is_asked_and_then_decided,
);

impl Desk {
    async fn at(&self, version: i64, command: &str, params: &Value) -> AcpCommandResultEnvelope {
        let key = format!("{command}-{version}-{params}").replace(' ', "");
        let key: String = key.chars().rev().take(128).collect();
        let mut sent = envelope(command, params.clone(), Some(&key));
        sent.expected_version = Some(version);
        self.send(sent).await
    }

    async fn is_at(&self, version: i64, command: &str, params: &Value) {
        let error = self.at(version - 1, command, params).await.error.unwrap();
        assert_eq!(error.code(), "common/conflict", "{error}");
        assert_eq!(error.details(), Some(&json!({ "version": version })), "{error}");
        let done = self.at(version, command, params).await;
        assert!(done.ok, "{command}: {done:?}");
    }
}

async fn a_session_is_changed_at_the_version_that_was_seen(world: World) {
    let desk = Desk::new(&world.db).await;
    let id = desk.result("session.new", json!({})).await["id"].clone();
    let session = json!({ "session": id });
    desk.is_at(1, "session.rename", &json!({ "session": id, "title": "a" })).await;
    desk.is_at(2, "run.create", &json!({ "session": id, "text": "a" })).await;
    // A copy changes nothing in what it was made of.
    desk.is_at(3, "session.fork", &session).await;
    desk.is_at(3, "session.reset", &session).await;
    desk.is_at(4, "session.archive", &session).await;
}

async fn of_those_who_saw_the_same_one_changes_it(world: World) {
    let desk = Desk::new(&world.db).await;
    let id = desk.result("session.new", json!({})).await["id"].clone();
    let mut all = JoinSet::new();
    for n in 0..10 {
        let (desk, id) = (desk.clone(), id.clone());
        all.spawn(async move {
            let params = json!({ "session": id, "title": format!("name {n}") });
            desk.at(1, "session.rename", &params).await
        });
    }
    let told = all.join_all().await;
    assert_eq!(told.iter().filter(|told| told.ok).count(), 1, "{told:?}");
}

async fn a_run_is_at_its_last_event(world: World) {
    let desk = Desk::new(&world.db).await;
    let session = desk.result("session.new", json!({})).await["id"].clone();
    let said = desk.result("run.create", json!({ "session": session, "text": "a" })).await;
    let run = json!({ "run": said["run"] });
    // Queued, and what it was asked.
    desk.is_at(2, "run.pause", &run).await;
    desk.is_at(3, "run.resume", &run).await;
    desk.is_at(4, "run.abort", &run).await;
    let shown = desk.result("run.get", run).await;
    assert_eq!((&shown["last_seq"], &shown["phase"]), (&json!(5), &json!("aborted")));
}

async fn a_question_is_asked_and_then_decided(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::new(&node.db).await;
    node.script.then(Says::Calls(vec![("test.risky", "{\"n\":1}".to_owned())]));
    let run = node.say(node.session().await, "do it").await;
    node.until(run, Phase::WaitingForApproval).await;
    let answer = json!({ "approval": node.question().await, "verdict": "deny" });
    desk.is_at(1, "approval.decide", &answer).await;
    let mut again = envelope("approval.decide", answer, Some("other"));
    again.expected_version = Some(1);
    let error = desk.send(again).await.error.unwrap();
    assert_eq!(error.details(), Some(&json!({ "version": 2 })), "{error}");
    node.stop().await;
}
