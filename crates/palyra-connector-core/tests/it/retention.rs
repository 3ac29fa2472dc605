//! What has ended is kept for a while; its key for longer.

use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Duration;
use palyra_connector_core::{Enqueued, rules};
use palyra_storage::lease::Leases;
use palyra_storage::retention::{Sweeper, Swept};

use crate::inbound::{Answer, inbound, message};
use crate::world::{START, World, delivered, key, on_every_engine, rejected};

on_every_engine!(
    keys_outlive_content_and_both_go_in_the_end,
    what_is_known_in_part_is_not_sent_again,
    what_waits_stays,
);

/// Sweeps once at a time and says what went.
pub(crate) async fn sweep_at(world: &World, days: u64) -> Swept {
    world.clock.set(START + Duration::from_days(days) + Duration::from_mins(1));
    let ttl = Duration::from_secs(10);
    let leases = Leases::new(world.db.clone(), world.clock.clone(), ttl);
    let every = Duration::from_mins(10);
    let sweeper = Sweeper::new(world.db.clone(), leases, world.clock.clone(), rules(), every);
    let swept = sweeper.round().await.unwrap();
    swept.into_iter().filter(|(_, rows)| *rows > 0).collect()
}

async fn keys_outlive_content_and_both_go_in_the_end(world: World) {
    world.enqueue("m1", "a").await;
    world.round(&delivered()).await;
    let sink = std::sync::Arc::new(Answer::default());
    let inbound = inbound(&world, &sink);
    inbound.accept(message("n1", "")).await.unwrap();
    assert_eq!(sweep_at(&world, 0).await, [("outbox_lanes", 1)]);
    assert_eq!(sweep_at(&world, 30).await, [("outbox", 1), ("inbound_events", 1)]);
    assert_eq!(sweep_at(&world, 89).await, []);
    // The content is gone; that it was there is not.
    assert_eq!(world.enqueue("m1", "a").await, Enqueued::Before(OutboxState::Delivered));
    let again = inbound.accept(message("n1", "")).await.unwrap();
    assert_eq!(again, palyra_connector_core::Accepted::Before);
    let gone = sweep_at(&world, 90).await;
    assert_eq!(gone, [("outbox_lanes", 1), ("outbox", 1), ("inbound_events", 1)]);
    assert_eq!(world.enqueue("m1", "a").await, Enqueued::Now);
}

/// Parts end one after the other, and their keys go as they came.
async fn what_is_known_in_part_is_not_sent_again(world: World) {
    let long = World::envelope("long", "a", &["one", "two"]);
    world.outbox.enqueue(long.clone()).await.unwrap();
    assert_eq!(world.round(&delivered()).await, ["long"]);
    world.pass(Duration::from_hours(12));
    assert_eq!(world.round(&delivered()).await, ["long/1"]);
    assert_eq!(sweep_at(&world, 31).await, [("outbox_lanes", 1), ("outbox", 2)]);
    assert_eq!(sweep_at(&world, 90).await, [("outbox", 1)]);
    let again = world.outbox.enqueue(long.clone()).await.unwrap();
    assert_eq!(again, Enqueued::Before(OutboxState::Delivered));
    assert_eq!(world.due().await, []);
    assert_eq!(world.outbox.enqueue(long).await.unwrap(), again);
}

async fn what_waits_stays(world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "b").await;
    world.round(&rejected()).await;
    world.enqueue("m3", "a").await;
    assert_eq!(sweep_at(&world, 89).await, []);
    world.outbox.replay(&key("m1", 0), None).await.unwrap();
    assert_eq!(sweep_at(&world, 90).await, [("outbox", 1), ("outbox_lanes", 1)]);
    assert_eq!(world.state("m2", 0).await, None);
    assert_eq!(world.state("m1", 0).await, Some(OutboxState::Pending));
}
