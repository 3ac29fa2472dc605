//! What becomes of messages.

use palyra_common::queue::QueueSettings;
use palyra_common::route::Rule;
use palyra_common::runtime_contracts::{DirectMessagePolicy, OutboxState, RouteReason};
use palyra_connector_core::{Accepted, Taken};
use palyra_policy::route::Decision;

use crate::mirror::reply_to;
use crate::world::{World, connector, message, on_every_engine};

on_every_engine!(
    without_a_rule_nobody_is_answered,
    a_routed_message_is_answered_once,
    the_rule_of_a_conversation_comes_first,
    a_change_counts_for_the_next_message,
    a_preview_says_what_would_be_and_does_nothing,
    a_full_queue_decides_later,
);

fn open() -> Rule {
    Rule { direct_messages: DirectMessagePolicy::Allow, ..Rule::default() }
}

async fn decided(world: &World, id: &str, text: &str) -> Taken {
    match world.inbound.accept(message(id, text)).await.unwrap() {
        Accepted::Decided(taken) => taken,
        other => panic!("{other:?}"),
    }
}

async fn answer(world: &World, id: &str) -> Vec<OutboxState> {
    let envelope = reply_to(&id.parse().unwrap());
    let parts = world.outbox.envelope(&connector(), &envelope).await.unwrap();
    parts.iter().map(|part| part.state).collect()
}

async fn without_a_rule_nobody_is_answered(world: World) {
    assert_eq!(decided(&world, "m1", "hello").await, Taken::Ignored(RouteReason::NoRule));
    assert_eq!(answer(&world, "m1").await, []);
}

async fn a_routed_message_is_answered_once(world: World) {
    world.rules.add(&connector(), open(), None).await.unwrap();
    let taken = decided(&world, "m1", "hello").await;
    let session_key = "echo:default/6:dm-ann".to_owned();
    let reply = Some(reply_to(&"m1".parse().unwrap()));
    assert_eq!(taken, Taken::Routed { reason: RouteReason::Direct, session_key, reply });
    let again = world.inbound.accept(message("m1", "hello")).await.unwrap();
    assert_eq!(again, Accepted::Before);
    assert_eq!(answer(&world, "m1").await, [OutboxState::Pending]);
    let long = "word ".repeat(1_000);
    decided(&world, "m2", &long).await;
    assert_eq!(answer(&world, "m2").await, [OutboxState::Pending; 3]);
    let due = world.outbox.due(&connector(), 10).await.unwrap();
    assert_eq!(due.len(), 1, "the answers of one conversation go out one after the other");
}

async fn the_rule_of_a_conversation_comes_first(world: World) {
    world.rules.add(&connector(), open(), None).await.unwrap();
    let own = Rule { conversation: Some("dm-ann".into()), ..Rule::default() };
    world.rules.add(&connector(), own, None).await.unwrap();
    let taken = decided(&world, "m1", "hello").await;
    assert_eq!(taken, Taken::Ignored(RouteReason::PairingNeeded));
}

async fn a_change_counts_for_the_next_message(world: World) {
    let stored = world.rules.add(&connector(), open(), None).await.unwrap();
    let deny = Rule { deny_from: ["echo:user:ann".to_owned()].into(), ..open() };
    world.rules.change(stored.id, deny, None, None).await.unwrap();
    assert_eq!(decided(&world, "m1", "hi").await, Taken::Ignored(RouteReason::SenderDenied));
    world.connectors.set_enabled(&connector(), false, None).await.unwrap();
    assert_eq!(decided(&world, "m2", "hi").await, Taken::Ignored(RouteReason::ConnectorDisabled));
}

async fn a_preview_says_what_would_be_and_does_nothing(world: World) {
    let none = world.preview.of(message("m1", "hello"), None).await.unwrap();
    assert_eq!(none, Decision::Ignore(RouteReason::NoRule));
    let instead = world.preview.of(message("m1", "hello"), Some(open())).await.unwrap();
    assert_eq!(instead.reason(), RouteReason::Direct);
    let pairing = world.preview.of(message("m1", "hello"), Some(Rule::default())).await.unwrap();
    assert_eq!(pairing, Decision::Pair);
    let senseless = Rule { max_text_bytes: 0, ..open() };
    assert!(world.preview.of(message("m1", "hello"), Some(senseless)).await.is_err());
    world.rules.add(&connector(), open(), None).await.unwrap();
    decided(&world, "m1", "it is new").await;
}

async fn a_full_queue_decides_later(world: World) {
    world.rules.add(&connector(), open(), None).await.unwrap();
    let queue = QueueSettings { max_waiting: 1, ..Default::default() };
    let id = connector();
    world.connectors.configure(&id, Some(serde_json::json!({})), Some(queue), None).await.unwrap();
    decided(&world, "m1", "one").await;
    let full = world.inbound.accept(message("m2", "two")).await.unwrap();
    assert_eq!(full, Accepted::Later, "it is kept, and answered when there is room");
    assert_eq!(answer(&world, "m2").await, []);
}
