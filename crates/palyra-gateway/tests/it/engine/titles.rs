//! Conversations that nobody has named.

use std::sync::Arc;
use std::time::Duration;

use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use tokio::sync::Notify;

use super::node::{Node, Says};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_conversation_is_named_once,
    a_name_that_somebody_gave_stays,
    without_a_model_for_it_a_conversation_is_named_by_its_first_words,
    a_name_that_no_model_gives_is_made_of_the_first_words,
);

/// Waits until a conversation has a name.
async fn title(node: &Node, session: SessionId) -> String {
    let named = async {
        loop {
            let title = node.sessions.get(session).await.unwrap().title;
            if !title.is_empty() {
                return title;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), named).await.expect("it was never named")
}

async fn answered(node: &Node, session: SessionId, text: &str) {
    let run = node.say(session, text).await;
    node.until(run, Phase::Completed).await;
}

async fn a_conversation_is_named_once(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    node.script.aside(Says::Text("Ann's boat"));
    answered(&node, session, "how long is my boat?").await;
    assert_eq!(title(&node, session).await, "Ann's boat");
    answered(&node, session, "and how wide?").await;
    let list = node.auxiliary.list(None, (None, Some(session)), None, 10).await.unwrap();
    assert_eq!(list.len(), 1, "{list:?}");
    assert_eq!(list[0].spent.tokens, 10);
    assert_eq!(node.script.asked_aside.lock().unwrap().len(), 1);
    node.stop().await;
}

async fn a_name_that_somebody_gave_stays(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.aside(Says::Waits("of a model", begun.clone(), go_on.clone()));
    answered(&node, session, "how long is my boat?").await;
    begun.notified().await;
    node.sessions.rename(session, "of ann".to_owned()).await.unwrap();
    go_on.notify_one();
    let list = node.auxiliary.list(None, (None, Some(session)), None, 10).await.unwrap();
    let wait = node.auxiliary.wait(list[0].id);
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap().unwrap();
    assert_eq!(title(&node, session).await, "of ann");
    answered(&node, session, "and how wide?").await;
    assert_eq!(node.script.asked_aside.lock().unwrap().len(), 1);
    node.stop().await;
}

async fn without_a_model_for_it_a_conversation_is_named_by_its_first_words(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    answered(&node, session, "\n how long is\tmy s3cr3t boat?\nIt is old.").await;
    // With the answer, at once.
    let found = node.sessions.get(session).await.unwrap();
    assert_eq!(found.title, "how long is my [redacted] boat?");
    answered(&node, session, "and how wide?").await;
    let found = node.sessions.get(session).await.unwrap();
    assert_eq!(found.title, "how long is my [redacted] boat?");
    let list = node.auxiliary.list(None, (None, Some(session)), None, 10).await.unwrap();
    assert!(list.is_empty(), "{list:?}");
    node.stop().await;
}

async fn a_name_that_no_model_gives_is_made_of_the_first_words(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    node.script.aside(Says::Text("a name\nof two lines"));
    node.script.aside(Says::Text("a name\nof two lines"));
    answered(&node, session, "how long is my boat?").await;
    assert_eq!(title(&node, session).await, "how long is my boat?");
    node.stop().await;
}
