//! What adapters report of their connections, and what they are given back.

use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{ConnectorContact, ConnectorEventKind, ConnectorLiveness};
use palyra_connector_core::{
    Accepted, AdapterContext, Connected, InboundEvent, Reading, ResumeState,
};
use palyra_policy::outbox::Repeat;
use palyra_storage::{Sql, params, sql};

use crate::inbound::message;
use crate::platform::{Fault, Platform};
use crate::supervisor::{Node, fresh, until};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_platform_that_stops_to_answer_is_told_as_silent,
    what_was_saved_is_given_back_after_a_restart,
    what_is_saved_is_never_ahead_of_what_is_kept,
    a_message_and_where_it_was_are_kept_together_or_not_at_all,
    who_has_lost_the_lease_saves_nothing,
    a_platform_is_asked_where_its_connector_runs,
);

/// The connector runs all the while: its task says nothing about its platform.
async fn a_platform_that_stops_to_answer_is_told_as_silent(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:beats", "memory").await;
    let status = async || node.statuses.of(&id).await.unwrap();
    let is = async |contact| status().await.is_some_and(|status| status.contact() == contact);
    until("it is heard", async || is(ConnectorContact::Heard).await).await;
    until("it has answered", async || {
        let connection = status().await.unwrap().connection;
        connection.last_ack_at.is_some() && connection.ack_latency.is_some()
    })
    .await;
    platform.set("memory:beats", Fault::Silent);
    until("it is silent", async || is(ConnectorContact::Silent).await).await;
    let silent = status().await.unwrap();
    assert_eq!(silent.liveness, ConnectorLiveness::Running);
    assert_eq!(silent.silent_since(), silent.connection.last_ack_at);
    let told = async |kind| {
        let events = node.connectors.events(&id, None, 100).await.unwrap();
        events.iter().any(|event| event.kind == kind)
    };
    until("that is an event", async || told(ConnectorEventKind::Silent).await).await;
    // Whoever asks another node is told so too, where there are several.
    if let Some(second) = world.second_node().await {
        let second = Node::start(&second, &platform, Repeat::Never);
        let there = async || second.statuses.of(&id).await.unwrap().map(|status| status.contact());
        until("there too", async || there().await == Some(ConnectorContact::Silent)).await;
        second.stop().await;
    }
    platform.set("memory:beats", Fault::None);
    until("it is heard again", async || told(ConnectorEventKind::HeardAgain).await).await;
    until("and told so", async || is(ConnectorContact::Heard).await).await;
    node.stop().await;
}

fn state(state: &str) -> ResumeState {
    ResumeState::new(state).unwrap()
}

/// What the adapter of a connector was given, once it is connected.
async fn context(platform: &Platform, id: &ConnectorId) -> AdapterContext {
    let find = || platform.contexts.lock().unwrap().get(id.as_str()).cloned();
    until("it is connected", async || find().is_some()).await;
    find().unwrap()
}

fn event(id: &ConnectorId, name: &str) -> InboundEvent {
    InboundEvent { connector: id.clone(), ..message(name, "hello") }
}

async fn saved(context: &AdapterContext) -> Option<String> {
    let saved = context.saved_resume().await.unwrap();
    saved.map(|state| state.as_str().to_owned())
}

async fn what_was_saved_is_given_back_after_a_restart(mut world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let first = Node::start(&world.db, &platform, Repeat::Never);
    let id = first.add("memory:a", "memory").await;
    let there = context(&platform, &id).await;
    assert_eq!(saved(&there).await, None);
    there.accept_at(event(&id, "n1"), state("1")).await.unwrap();
    assert_eq!(saved(&there).await.as_deref(), Some("1"));
    there.save_resume(state("2")).await.unwrap();
    first.die();
    platform.contexts.lock().unwrap().clear();
    world.restart().await;
    let second = Node::start(&world.db, &platform, Repeat::Never);
    let there = context(&platform, &id).await;
    assert_eq!(saved(&there).await.as_deref(), Some("2"));
    // The platform sends again what it had sent, which is no new message and moves on all the same.
    let again = there.accept_at(event(&id, "n1"), state("3")).await.unwrap();
    assert_eq!(again, Accepted::Before);
    assert_eq!(saved(&there).await.as_deref(), Some("3"));
    second.stop().await;
}

async fn what_is_saved_is_never_ahead_of_what_is_kept(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let there = context(&platform, &id).await;
    // Handed over first, and kept last.
    let first = there.accept_at(event(&id, "n1"), state("1"));
    there.accept_at(event(&id, "n2"), state("2")).await.unwrap();
    there.save_resume(state("3")).await.unwrap();
    assert_eq!(saved(&there).await, None);
    first.await.unwrap();
    assert_eq!(saved(&there).await.as_deref(), Some("3"));
    // One that is never kept holds all that follows, until a connection begins on which it comes again.
    drop(there.accept_at(event(&id, "n4"), state("4")));
    there.accept_at(event(&id, "n5"), state("5")).await.unwrap();
    assert_eq!(saved(&there).await.as_deref(), Some("3"));
    there.connected(Connected::Resumed, None);
    there.accept_at(event(&id, "n4"), state("4")).await.unwrap();
    assert_eq!(saved(&there).await.as_deref(), Some("4"));
    let status = node.statuses.of(&id).await.unwrap().unwrap();
    assert_eq!((status.connection.resumes, status.connection.reconnects), (1, 0));
    node.stop().await;
}

async fn a_message_and_where_it_was_are_kept_together_or_not_at_all(world: World) {
    const REFUSE: Sql = sql!(
        sqlite: "CREATE TRIGGER refuse BEFORE INSERT ON inbound_events WHEN NEW.sender = 'eve'
             BEGIN SELECT RAISE(ABORT, 'on purpose'); END",
        postgres: "ALTER TABLE inbound_events ADD CONSTRAINT refuse CHECK (sender <> 'eve')",
    );
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let there = context(&platform, &id).await;
    there.accept_at(event(&id, "n1"), state("1")).await.unwrap();
    world.db.write(|tx| tx.execute(&REFUSE, params![])).await.unwrap();
    let refused = InboundEvent { sender: "eve".to_owned(), ..event(&id, "n2") };
    there.accept_at(refused, state("2")).await.unwrap_err();
    there.accept_at(event(&id, "n3"), state("3")).await.unwrap();
    there.save_resume(state("4")).await.unwrap();
    assert_eq!(saved(&there).await.as_deref(), Some("1"));
    node.stop().await;
}

/// Its connection may go on for a while, and what comes in there is kept.
async fn who_has_lost_the_lease_saves_nothing(mut world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let first = Node::start(&world.db, &platform, Repeat::Never);
    let id = first.add("memory:a", "memory").await;
    let old = context(&platform, &id).await;
    old.accept_at(event(&id, "n1"), state("1")).await.unwrap();
    let Some(other) = world.second_node().await else { return };
    first.die();
    platform.contexts.lock().unwrap().clear();
    let second = Node::start(&other, &platform, Repeat::Never);
    let new = context(&platform, &id).await;
    new.accept_at(event(&id, "n2"), state("another 1")).await.unwrap();
    old.accept_at(event(&id, "n3"), state("2")).await.unwrap();
    assert_eq!(saved(&new).await.as_deref(), Some("another 1"));
    second.stop().await;
    world.restart().await;
}

async fn a_platform_is_asked_where_its_connector_runs(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    context(&platform, &id).await;
    let conversation = "a".parse().unwrap();
    let reading = |containing: Option<&str>| Reading {
        conversation: "a".parse().unwrap(),
        before: None,
        containing: containing.map(str::to_owned),
        limit: 10,
    };
    let code = |error: palyra_connector_core::ChannelError| error.code();
    // One whose adapter fails, one that it cannot do, one that the platform refuses.
    let failed = node.platforms.read(&id, reading(None)).await.unwrap_err();
    assert_eq!(code(failed), ErrorCode::ChannelPlatformFailed);
    let incapable = node.platforms.read(&id, reading(Some("x"))).await.unwrap_err();
    assert_eq!(code(incapable), ErrorCode::ChannelNotCapable);
    let refused = node.platforms.typing(&id, &conversation).await.unwrap_err();
    assert!(refused.to_string().contains("no such channel"), "{refused}");
    let elsewhere = node.platforms.typing(&"memory:b".parse().unwrap(), &conversation).await;
    assert_eq!(code(elsewhere.unwrap_err()), ErrorCode::ChannelNotHere);
    node.stop().await;
}
