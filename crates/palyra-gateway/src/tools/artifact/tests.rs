use bytes::Bytes;
use palyra_common::ids::AgentId;
use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::Input;
use serde_json::json;

use super::*;
use crate::engine::{NewInput, Place, Submitted, submit};
use crate::tools::bench::{NOW, World, call};

/// A run of the conversation `key`.
async fn run(world: &World, key: &'static str) -> Submitted {
    let submit = move |tx: &mut Tx<'_>| {
        let agent: AgentId = "ann".parse().unwrap();
        let place = Place::Key { key, agent: &agent, surface: "test", reply_to: None };
        let (text, sender) = ("hello".to_owned(), "ann".to_owned());
        let input = Input { text, sender, trust: Trust::Operator, connector: None };
        submit(tx, &NewInput { place, input, answers: None, parent: None, worker: None }, NOW)
    };
    world.db.try_write(submit).await.unwrap()
}

/// A blob that this run was given.
async fn given(world: &World, to: RunId, content: &str) -> BlobId {
    let id = world.blobs.put(Bytes::from(content.to_owned())).await.unwrap();
    let held = id.clone();
    let hold = move |tx: &mut Tx<'_>| BlobStore::hold(tx, &held, &holder(to), NOW);
    world.db.try_write(hold).await.unwrap();
    id
}

fn asking(of: &Submitted, arguments: serde_json::Value) -> Invocation {
    Invocation { run: of.run, session: of.session, ..call(arguments) }
}

#[tokio::test]
async fn a_long_result_is_read_in_pieces() {
    let world = World::new().await;
    let of = run(&world, "a").await;
    let long = "żółć ".repeat(10_000);
    let id = given(&world, of.run, &long).await.to_string();
    let (mut offset, mut read) = (0, String::new());
    loop {
        let call = asking(&of, json!({"id": &id, "offset": offset}));
        let done = world.make("artifact.read", call).await.unwrap();
        assert_eq!(done.trust, Trust::Untrusted);
        assert!(done.content.len() < 16 * 1024, "it would be put aside again");
        let (piece, note) = done.content.split_once("\n[").unwrap_or((&done.content, ""));
        read.push_str(piece);
        let Some((_, next)) = note.split_once("\"offset\": ") else { break };
        offset = next.trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(read, long);
    let behind = asking(&of, json!({"id": &id, "offset": 1_000_000}));
    world.refused("artifact.read", behind, "only 90000 bytes").await;
}

#[tokio::test]
async fn only_the_conversation_that_was_given_it_reads_it() {
    let world = World::new().await;
    let (of, later, other) =
        (run(&world, "a").await, run(&world, "a").await, run(&world, "b").await);
    assert_eq!(of.session, later.session);
    let id = given(&world, of.run, "mine").await.to_string();
    let read = world.make("artifact.read", asking(&later, json!({"id": &id}))).await.unwrap();
    assert_eq!(read.content, "mine");
    world.refused("artifact.read", asking(&other, json!({"id": &id})), "no such result").await;
    // Neither what somebody else holds, nor what nobody does.
    let put = world.blobs.put(Bytes::from_static(b"nobody's")).await.unwrap().to_string();
    world.refused("artifact.read", asking(&of, json!({"id": put})), "no such result").await;
    let none = BlobId::of(b"nowhere").to_string();
    world.refused("artifact.read", asking(&of, json!({"id": none})), "no such result").await;
    for id in ["", "../../etc/passwd", &id.to_uppercase()] {
        assert!(world.make("artifact.read", asking(&of, json!({"id": id}))).await.is_err());
    }
}

#[tokio::test]
async fn what_is_no_text_is_not_shown() {
    let world = World::new().await;
    let of = run(&world, "a").await;
    let id = given(&world, of.run, "a\0b").await.to_string();
    world.refused("artifact.read", asking(&of, json!({"id": id})), "not UTF-8").await;
}
