//! What stands for the beginning of a long conversation, once that is forked or reset.

use palyra_common::api::AgentSession;
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use serde_json::json;

use super::desk::Desk;
use crate::engine::node::{Node, Says, agent, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_reset_leaves_no_summary_behind,
    a_fork_remembers_what_its_conversation_began_with,
);

const SUMMARY: &str = "Ann's boat is called Marigold.";

/// Something long is said, and this is what the model saw.
async fn fill(node: &Node, session: SessionId) -> String {
    let said = format!("my boat is called Marigold, and {}", "so on ".repeat(60));
    show(node, session, &said).await
}

async fn show(node: &Node, session: SessionId, said: &str) -> String {
    let run = node.say(session, said).await;
    node.until(run, Phase::Completed).await;
    let asked = node.script.asked.lock().unwrap().last().cloned().unwrap();
    seen(&asked)
}

/// A conversation for whose beginning a summary stands.
async fn long(node: &Node) -> SessionId {
    node.spec(|spec| spec.limits.context_tokens = 900).await;
    let session = node.sessions.begin(agent(), "test", "boats".to_owned()).await.unwrap().id;
    for _ in 0..8 {
        fill(node, session).await;
    }
    node.script.aside(Says::Text(SUMMARY));
    let shown = fill(node, session).await;
    assert!(shown.contains(SUMMARY), "{shown}");
    session
}

async fn a_reset_leaves_no_summary_behind(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::new(&node.db).await;
    let session = long(&node).await;
    desk.done::<AgentSession>("session.reset", json!({ "session": session })).await;
    assert_eq!(show(&node, session, "hello").await, "user: hello");
    // One that is made after it stands for what was said after it.
    for _ in 0..8 {
        fill(&node, session).await;
    }
    node.script.aside(Says::Text("Ann greets."));
    let shown = fill(&node, session).await;
    assert!(shown.contains("Ann greets.") && !shown.contains(SUMMARY), "{shown}");
    let wanted = node.script.asked_aside.lock().unwrap().last().cloned().unwrap();
    let wanted = seen(&wanted);
    assert!(wanted.contains("ann: hello") && !wanted.contains(SUMMARY), "{wanted}");
    node.stop().await;
}

async fn a_fork_remembers_what_its_conversation_began_with(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::new(&node.db).await;
    let session = long(&node).await;
    let fork = desk.done::<AgentSession>("session.fork", json!({ "session": session })).await.id;
    node.script.aside(Says::Text("The Marigold is hers."));
    let shown = fill(&node, fork).await;
    assert!(shown.contains("The Marigold is hers."), "{shown}");
    let wanted = node.script.asked_aside.lock().unwrap().last().cloned().unwrap();
    assert!(seen(&wanted).contains("ann: my boat is called Marigold"), "{}", seen(&wanted));
    // It is the fork's own.
    let shown = show(&node, session, "and now?").await;
    assert!(!shown.contains("The Marigold is hers."), "{shown}");
    node.stop().await;
}
