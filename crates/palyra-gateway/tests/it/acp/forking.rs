//! Going on from a conversation in another one, and without what was said.

use std::sync::Arc;

use palyra_common::api::AgentSession;
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use palyra_gateway::Verdict;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::desk::Desk;
use crate::engine::node::{Node, Says, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_fork_knows_what_was_said_before_it,
    a_fork_ends_where_it_is_told_to,
    a_fork_of_a_fork_knows_both,
    a_fork_stays_as_it_was_begun,
    what_was_reset_is_read_and_not_shown,
    a_run_that_waits_through_a_reset_knows_nothing_of_before,
    what_is_asked_after_a_reset_joins_nothing_from_before,
    a_fork_is_read_page_by_page,
    a_reset_holds_after_a_restart,
);

/// A node and somebody who gives it commands.
struct Talk {
    node: Node,
    desk: Desk,
}

impl Talk {
    async fn new(world: &World) -> Self {
        let node = Node::start(world).await;
        let desk = Desk::new(&node.db).await;
        Self { node, desk }
    }

    /// Says `text`, which is answered with the same and a full stop, and tells what the model saw.
    async fn say(&self, session: SessionId, text: &'static str) -> (RunId, String) {
        self.node.script.then(Says::Text(text));
        let run = self.node.say(session, text).await;
        self.node.until(run, Phase::Completed).await;
        let asked = self.node.script.asked.lock().unwrap().last().cloned().unwrap();
        (run, seen(&asked).replace("user: ", "").replace("assistant: ", "~").replace('\n', " "))
    }

    async fn of(&self, command: &str, params: Value) -> SessionId {
        self.desk.done::<AgentSession>(command, params).await.id
    }

    async fn fork(&self, session: SessionId) -> SessionId {
        self.of("session.fork", json!({ "session": session })).await
    }

    async fn reset(&self, session: SessionId) {
        self.of("session.reset", json!({ "session": session })).await;
    }

    /// What was said by people, the newest first.
    async fn asked(&self, session: SessionId) -> Vec<String> {
        let loaded = self.desk.result("session.load", json!({ "session": session })).await;
        let items = loaded["messages"]["items"].as_array().unwrap();
        let users = items.iter().filter(|said| said["role"] == "user");
        users.map(|said| said["text"].as_str().unwrap().to_owned()).collect()
    }
}

async fn a_fork_knows_what_was_said_before_it(world: World) {
    let talk = Talk::new(&world).await;
    let first = talk.node.session().await;
    talk.say(first, "a").await;
    let fork = talk.fork(first).await;
    talk.say(first, "b").await;
    assert_eq!(talk.say(fork, "c").await.1, "a ~a c");
    assert_eq!(talk.say(fork, "d").await.1, "a ~a c ~c d");
    assert_eq!(talk.say(first, "e").await.1, "a ~a b ~b e");
    assert_eq!(talk.asked(fork).await, ["d", "c", "a"]);
    assert_eq!(talk.asked(first).await, ["e", "b", "a"]);
    talk.node.stop().await;
}

async fn a_fork_ends_where_it_is_told_to(world: World) {
    let talk = Talk::new(&world).await;
    let first = talk.node.session().await;
    let (run, _) = talk.say(first, "a").await;
    talk.say(first, "b").await;
    let through = |session: SessionId, run: RunId| json!({ "session": session, "through": run });
    let fork = talk.of("session.fork", through(first, run)).await;
    assert_eq!(talk.say(fork, "c").await.1, "a ~a c");
    // Also by a run that is not its own.
    let next = talk.of("session.fork", through(fork, run)).await;
    assert_eq!(talk.say(next, "d").await.1, "a ~a d");
    let (other, _) = talk.say(talk.node.session().await, "x").await;
    assert_eq!(talk.desk.code("session.fork", through(first, other)).await, "common/invalid_input");
    talk.reset(first).await;
    let cleared = talk.desk.give("session.fork", through(first, run)).await.error.unwrap();
    assert!(cleared.message().contains("after its last reset"), "{cleared}");
    talk.node.script.then(Says::Calls(vec![("test.risky", "{\"n\":1}".to_owned())]));
    let open = talk.node.say(first, "do it").await;
    talk.node.until(open, Phase::WaitingForApproval).await;
    assert_eq!(talk.desk.code("session.fork", through(first, open)).await, "common/conflict");
    talk.node.stop().await;
}

async fn a_fork_of_a_fork_knows_both(world: World) {
    let talk = Talk::new(&world).await;
    let first = talk.node.session().await;
    talk.say(first, "a").await;
    // One in which nothing was said stands between.
    let empty = talk.fork(first).await;
    let second = talk.fork(empty).await;
    assert_eq!(talk.say(second, "b").await.1, "a ~a b");
    let third = talk.fork(second).await;
    assert_eq!(talk.say(third, "c").await.1, "a ~a b ~b c");
    assert_eq!(talk.asked(third).await, ["c", "b", "a"]);
    talk.node.stop().await;
}

async fn a_fork_stays_as_it_was_begun(world: World) {
    let talk = Talk::new(&world).await;
    let first = talk.node.session().await;
    talk.say(first, "a").await;
    let before = talk.fork(first).await;
    talk.reset(first).await;
    let after = talk.fork(first).await;
    talk.of("session.archive", json!({ "session": first })).await;
    assert_eq!(talk.say(before, "b").await.1, "a ~a b");
    assert_eq!(talk.say(after, "c").await.1, "c");
    assert_eq!(talk.asked(after).await, ["c"]);
    // Its own reset takes all of it away from models, and nothing from people.
    talk.reset(before).await;
    assert_eq!(talk.say(before, "d").await.1, "d");
    assert_eq!(talk.asked(before).await, ["d", "b", "a"]);
    talk.node.stop().await;
}

async fn what_was_reset_is_read_and_not_shown(world: World) {
    let talk = Talk::new(&world).await;
    let session = talk.node.session().await;
    talk.say(session, "a").await;
    talk.reset(session).await;
    assert_eq!(talk.say(session, "b").await.1, "b");
    assert_eq!(talk.say(session, "c").await.1, "b ~b c");
    assert_eq!(talk.asked(session).await, ["c", "b", "a"]);
    talk.reset(session).await;
    assert_eq!(talk.say(session, "d").await.1, "d");
    talk.node.stop().await;
}

/// What was asked before a reset is finished, and no later run is shown it.
async fn a_run_that_waits_through_a_reset_knows_nothing_of_before(world: World) {
    let talk = Talk::new(&world).await;
    let session = talk.node.session().await;
    talk.say(session, "a").await;
    talk.node.script.then(Says::Calls(vec![("test.risky", "{\"n\":1}".to_owned())]));
    let waits = talk.node.say(session, "w").await;
    talk.node.until(waits, Phase::WaitingForApproval).await;
    talk.reset(session).await;
    talk.node.script.then(Says::Text("w"));
    talk.node.decide(talk.node.question().await, Verdict::Deny).await.unwrap();
    talk.node.until(waits, Phase::Completed).await;
    let asked = talk.node.script.asked.lock().unwrap().last().cloned().unwrap();
    let shown = seen(&asked);
    assert!(shown.starts_with("user: w\n") && !shown.contains("~a"), "{shown}");
    assert_eq!(talk.say(session, "b").await.1, "b");

    // Nor one that was at work meanwhile.
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    talk.node.script.then(Says::Waits("m", begun.clone(), go_on.clone()));
    let works = talk.node.say(session, "m").await;
    begun.notified().await;
    talk.reset(session).await;
    go_on.notify_one();
    talk.node.until(works, Phase::Completed).await;
    assert_eq!(talk.say(session, "c").await.1, "c");
    talk.node.stop().await;
}

/// Where very many wait, what comes next joins the last of them.
async fn what_is_asked_after_a_reset_joins_nothing_from_before(world: World) {
    let desk = Desk::new(&world.db).await;
    let session = desk.result("session.new", json!({})).await["id"].clone();
    let (mut runs, params) = (Vec::new(), json!({ "session": session, "text": "a" }));
    for _ in 0..52 {
        runs.push(desk.result("run.create", params.clone()).await["run"].clone());
    }
    assert_eq!(runs[51], runs[50], "it joined");
    desk.result("session.reset", json!({ "session": session })).await;
    let next = desk.result("run.create", params).await["run"].clone();
    assert!(!runs.contains(&next), "{next}");
}

async fn a_fork_is_read_page_by_page(world: World) {
    let talk = Talk::new(&world).await;
    let first = talk.node.session().await;
    talk.say(first, "a").await;
    talk.say(first, "b").await;
    let fork = talk.fork(first).await;
    talk.say(fork, "c").await;
    let (mut texts, mut after) = (Vec::new(), Value::Null);
    loop {
        let params = json!({ "session": fork, "after": after, "limit": 1 });
        let page = talk.desk.result("session.load", params).await["messages"].clone();
        let items = page["items"].as_array().unwrap();
        texts.extend(items.iter().map(|said| said["text"].as_str().unwrap().to_owned()));
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(texts, ["c", "c", "b", "b", "a", "a"]);
    talk.node.stop().await;
}

async fn a_reset_holds_after_a_restart(world: World) {
    let talk = Talk::new(&world).await;
    let session = talk.node.session().await;
    talk.say(session, "a").await;
    let fork = talk.fork(session).await;
    talk.reset(session).await;
    talk.node.stop().await;
    let db = world.next_process().await;
    let node = Node::start_on(db.clone(), world.folder.path()).await;
    let talk = Talk { desk: Desk::new(&db).await, node };
    assert_eq!(talk.say(session, "b").await.1, "b");
    assert_eq!(talk.say(fork, "c").await.1, "a ~a c");
    talk.node.stop().await;
}
