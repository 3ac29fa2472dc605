//! What there is to see of a queue, and what is decided about many entries at once.

use palyra_common::error::ErrorCode;
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{
    ConnectorSaturation, DeadLetterReason, OutboxState, RetryClass,
};
use palyra_common::time::Duration;
use palyra_connector_core::{Attempt, Due, Enqueued, QueueView, Report, What, history};
use palyra_policy::connector::{reasons, saturation};
use palyra_policy::outbox::Repeat;
use palyra_storage::journal::JournalEvent;
use palyra_storage::{JournalStore, Sql, params, sql};

use crate::inbound::{Answer, inbound, message};
use crate::world::{World, connector, delivered, failed, on_every_engine, rejected, unclear};

on_every_engine!(
    a_queue_shows_what_waits_and_why,
    the_places_of_a_conversation_are_limited,
    no_message_has_more_parts_than_an_empty_conversation_takes,
    what_waits_for_another_try_can_be_tried_now,
    very_many_are_tried_step_by_step,
    a_wait_that_the_platform_asked_for_is_not_cut_short,
    many_are_replayed_with_a_cap_and_a_reason,
    an_envelope_shows_its_parts_ended_or_not,
    a_conversation_is_remembered_in_both_directions,
    only_the_last_events_are_kept,
    what_somebody_did_is_in_the_journal_once,
);

async fn view(world: &World) -> QueueView {
    let connector = world.connectors.get(&connector()).await.unwrap();
    world.outbox.view(&connector).await.unwrap()
}

async fn a_queue_shows_what_waits_and_why(world: World) {
    assert_eq!(saturation(&view(&world).await.facts), ConnectorSaturation::Healthy);
    let begun = crate::world::START;
    for n in 0..3 {
        world.enqueue(&format!("a{n}"), "a").await;
    }
    world.pass(Duration::from_mins(1));
    world.enqueue("b0", "b").await;
    world.enqueue("c0", "c").await;
    let seen = view(&world).await;
    assert_eq!((seen.waiting, seen.lanes, seen.sending), (5, 3, 0));
    assert_eq!((seen.oldest, seen.facts.deepest_lane), (Some(begun), 3));

    let attempts = world.begin_due().await;
    assert_eq!(view(&world).await.sending, 3);
    for attempt in attempts {
        let report = match attempt.stored.conversation.as_str() {
            "a" => failed(),
            "b" => rejected(),
            _ => unclear(),
        };
        world.settle(attempt, report).await;
    }
    let seen = view(&world).await;
    assert_eq!((seen.facts.retrying, seen.facts.dead, seen.sending), (1, 1, 0));
    assert_eq!(saturation(&seen.facts), ConnectorSaturation::Retrying);
    assert_eq!(reasons(&seen.facts).len(), 2, "{:?}", reasons(&seen.facts));

    world.enqueue("d0", "d").await;
    let until = begun + Duration::from_hours(1);
    let wait = world.due().await.into_iter().filter_map(|due| match due {
        Due::Send(stored) if stored.conversation.as_str() == "d" => {
            Some(Attempt::Wait(stored, until))
        }
        _ => None,
    });
    assert!(world.begin(wait.collect()).await.unwrap().is_empty());
    let seen = view(&world).await;
    assert_eq!((seen.facts.rate_limited, seen.rate_limited_until), (1, Some(until)));
    assert_eq!(saturation(&seen.facts), ConnectorSaturation::RateLimited);
    world.connectors.pause(&connector(), "maintenance", None).await.unwrap();
    assert_eq!(saturation(&view(&world).await.facts), ConnectorSaturation::Paused);
}

async fn the_places_of_a_conversation_are_limited(world: World) {
    let queue = QueueSettings { max_waiting: 2, ..QueueSettings::default() };
    let id = connector();
    world.connectors.configure(&id, Some(serde_json::json!({})), Some(queue), None).await.unwrap();
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "a").await;
    let full = world.outbox.enqueue(World::envelope("m3", "a", &["x"])).await.unwrap_err();
    assert_eq!(full.code(), ErrorCode::ChannelQueueFull);
    assert!(full.code().retryable());
    assert_eq!(saturation(&view(&world).await.facts), ConnectorSaturation::Backpressure);
    // The same again is none more, and other conversations have places of their own.
    world.enqueue("m2", "a").await;
    world.enqueue("b1", "b").await;
    assert_eq!(world.round(&delivered()).await, ["b1", "m1"]);
    world.enqueue("m3", "a").await;
    assert_eq!(world.round(&delivered()).await, ["m2"]);
    assert_eq!(world.round(&delivered()).await, ["m3"]);
}

async fn no_message_has_more_parts_than_an_empty_conversation_takes(world: World) {
    let queue = QueueSettings { max_waiting: 2, ..QueueSettings::default() };
    let settings = Some(serde_json::json!({}));
    world.connectors.configure(&connector(), settings, Some(queue), None).await.unwrap();
    let long = World::envelope("m1", "a", &["x", "y", "z"]);
    assert_eq!(world.outbox.enqueue(long.clone()).await.unwrap(), Enqueued::Now);
    assert!(matches!(world.outbox.enqueue(long).await.unwrap(), Enqueued::Before(_)));
    // As long as one part of it waits, there is no room for another one.
    for _ in 0..3 {
        let full = world.outbox.enqueue(World::envelope("m2", "a", &["x", "y", "z"])).await;
        assert_eq!(full.unwrap_err().code(), ErrorCode::ChannelQueueFull);
        assert_eq!(world.round(&delivered()).await.len(), 1);
    }
    let next = world.outbox.enqueue(World::envelope("m2", "a", &["x", "y", "z"])).await;
    assert_eq!(next.unwrap(), Enqueued::Now);
}

async fn what_waits_for_another_try_can_be_tried_now(world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "b").await;
    assert_eq!(world.round(&failed()).await, ["m1", "m2"]);
    assert!(world.due().await.is_empty());
    assert_eq!(world.outbox.hurry(&connector(), None).await.unwrap(), 2);
    assert_eq!(world.round(&delivered()).await, ["m1", "m2"]);
    assert_eq!(world.outbox.hurry(&connector(), None).await.unwrap(), 0);
    let nobody = "nobody".parse().unwrap();
    let missing = world.outbox.hurry(&nobody, None).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
}

/// Others may write in between: a step that fails takes none back that were made before it.
async fn very_many_are_tried_step_by_step(world: World) {
    const SPOIL: Sql = sql!("UPDATE outbox SET operation = '[]' WHERE conversation = 'c149'");
    for n in 0..150 {
        world.enqueue(&format!("m{n:03}"), &format!("c{n:03}")).await;
    }
    let tried = [world.round(&failed()).await.len(), world.round(&failed()).await.len()];
    assert_eq!(tried, [100, 50]);
    world.db.write(|tx| tx.execute(&SPOIL, params![])).await.unwrap();
    world.outbox.hurry(&connector(), None).await.unwrap_err();
    assert_eq!(world.outbox.due(&connector(), 1_000).await.unwrap().len(), 100);
}

/// Whatever the platform calls it: a 503 that says for how long is one, too.
async fn a_wait_that_the_platform_asked_for_is_not_cut_short(mut world: World) {
    let wait = |class| Report::Retry {
        class,
        after: Some(Duration::from_hours(1)),
        reason: "come back later".into(),
    };
    world.enqueue("m1", "a").await;
    assert_eq!(world.round(&wait(RetryClass::RateLimit)).await, ["m1"]);
    world.enqueue("m2", "b").await;
    assert_eq!(world.round(&wait(RetryClass::TransientNetwork)).await, ["m2"]);
    assert_eq!(world.outbox.hurry(&connector(), None).await.unwrap(), 0);
    assert!(world.due().await.is_empty());
    assert_eq!(view(&world).await.facts.rate_limited, 2);
    // What went wrong since is another matter.
    world.repeat = Repeat::Always;
    world.pass(Duration::from_hours(1));
    assert_eq!(world.round(&unclear()).await, ["m1", "m2"]);
    assert_eq!(view(&world).await.facts.rate_limited, 0);
    assert_eq!(world.outbox.hurry(&connector(), None).await.unwrap(), 2);
}

async fn many_are_replayed_with_a_cap_and_a_reason(world: World) {
    for n in 0..5 {
        world.enqueue(&format!("m{n}"), &format!("c{n}")).await;
    }
    assert_eq!(world.round(&rejected()).await.len(), 5);
    let expired = Some(DeadLetterReason::Expired);
    assert_eq!(world.outbox.replay_many(&connector(), expired, 10, None).await.unwrap(), 0);
    let rejected = Some(DeadLetterReason::Rejected);
    assert_eq!(world.outbox.replay_many(&connector(), rejected, 2, None).await.unwrap(), 2);
    assert_eq!(world.round(&delivered()).await, ["m0", "m1"]);
    assert_eq!(world.outbox.replay_many(&connector(), None, 100, None).await.unwrap(), 3);
    assert_eq!(world.round(&delivered()).await, ["m2", "m3", "m4"]);
    assert_eq!(world.outbox.replay_many(&connector(), None, 100, None).await.unwrap(), 0);
}

async fn an_envelope_shows_its_parts_ended_or_not(world: World) {
    world.outbox.enqueue(World::envelope("long", "a", &["one", "two", "three"])).await.unwrap();
    assert_eq!(world.round(&delivered()).await, ["long"]);
    assert_eq!(world.round(&failed()).await, ["long/1"]);
    let parts = world.outbox.envelope(&connector(), &"long".parse().unwrap()).await.unwrap();
    let states: Vec<_> = parts.iter().map(|part| (part.state, part.attempts)).collect();
    let pending = OutboxState::Pending;
    assert_eq!(states, [(OutboxState::Delivered, 1), (pending, 1), (pending, 0)]);
    assert_eq!(parts[1].last_error.as_deref(), Some("no route"));
    assert!(parts[1].due_at.is_some());
    let none = world.outbox.envelope(&connector(), &"other".parse().unwrap()).await.unwrap();
    assert!(none.is_empty());
}

async fn a_conversation_is_remembered_in_both_directions(world: World) {
    let sink = std::sync::Arc::new(Answer::default());
    let inbound = inbound(&world, &sink);
    inbound.accept(message("n1", "hello")).await.unwrap();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.round(&delivered()).await, ["re-n1"]);
    world.pass(Duration::from_secs(1));
    inbound.accept(message("n2", "again")).await.unwrap();
    let conversation = "a".parse().unwrap();
    let until = crate::world::START + Duration::from_hours(1);
    let said = history(&world.db, &connector(), &conversation, until, 10).await.unwrap();
    let told: Vec<_> = said
        .iter()
        .map(|said| match &said.what {
            What::In { sender, content, .. } => format!("{sender}: {}", content.text),
            What::Out { envelope, .. } => format!("us: {}", envelope.0),
        })
        .collect();
    assert_eq!(told, ["ann: again", "us: re-n1", "ann: hello"]);
    let older = history(&world.db, &connector(), &conversation, said[1].at, 1).await.unwrap();
    assert_eq!(older, said[1..2]);
}

async fn only_the_last_events_are_kept(world: World) {
    let id = connector();
    for _ in 0..505 {
        world.connectors.pause(&id, "for a while", None).await.unwrap();
        world.connectors.resume(&id, None).await.unwrap();
    }
    let events = world.connectors.events(&id, None, 10_000).await.unwrap();
    assert_eq!(events.len(), 1_000);
    let resumed = palyra_common::runtime_contracts::ConnectorEventKind::Resumed;
    assert_eq!(events[0].kind, resumed);
    let nobody = "nobody".parse().unwrap();
    let missing = world.connectors.events(&nobody, None, 1).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
}

async fn what_somebody_did_is_in_the_journal_once(world: World) {
    let entry = |action: &str| JournalEvent {
        id: palyra_storage::new_id(),
        at: crate::world::START,
        actor: "operator:anna".into(),
        action: action.into(),
        subject: connector().to_string(),
        origin: "test".into(),
        outcome: "ok".into(),
        detail: "{}".into(),
        content: None,
    };
    for _ in 0..2 {
        world.connectors.pause(&connector(), "m", Some(entry("channel.paused"))).await.unwrap();
        world.connectors.resume(&connector(), Some(entry("channel.resumed"))).await.unwrap();
        world.connectors.resume(&connector(), Some(entry("channel.resumed"))).await.unwrap();
    }
    world.enqueue("m1", "a").await;
    assert_eq!(world.round(&rejected()).await, ["m1"]);
    for _ in 0..2 {
        let replayed = Some(entry("outbox.replayed"));
        world.outbox.replay(&crate::world::key("m1", 0), replayed).await.unwrap();
    }
    let journal = JournalStore::new(world.db.clone());
    assert_eq!(journal.verify().await.unwrap().entries, 5);
}
