//! Whoever has sent a message is told what became of it.

use palyra_common::time::Duration;
use palyra_connector_core::{Due, is_under_way};
use palyra_policy::outbox::{Reconciled, Resolution};

use crate::world::{World, connector, delivered, failed, key, on_every_engine, rejected, unclear};

on_every_engine!(
    a_message_is_delivered_with_its_last_part,
    what_is_tried_again_is_not_told_before_it_has_ended,
    what_a_part_takes_along_is_told_once,
    what_waits_for_a_human_is_told_and_what_they_decide_is_too,
    what_is_found_out_later_is_told_then,
    what_somebody_else_has_by_now_is_not_told,
);

async fn under_way(world: &World, envelope: &str) -> bool {
    let envelope = envelope.parse().unwrap();
    world.db.read(move |tx| is_under_way(tx, &connector(), &envelope)).await.unwrap()
}

async fn send_three(world: &World) {
    let long = World::envelope("long", "a", &["one", "two", "three"]);
    world.outbox.enqueue(long).await.unwrap();
}

async fn a_message_is_delivered_with_its_last_part(world: World) {
    send_three(&world).await;
    world.enqueue("short", "b").await;
    assert_eq!(world.round(&delivered()).await, ["long", "short"]);
    assert_eq!(world.record.take(), ["short delivered"]);
    world.round(&delivered()).await;
    assert_eq!(world.record.take(), [""; 0]);
    assert!(under_way(&world, "long").await && !under_way(&world, "short").await);
    world.round(&delivered()).await;
    assert_eq!(world.record.take(), ["long delivered"]);
    assert!(!under_way(&world, "long").await);
}

async fn what_is_tried_again_is_not_told_before_it_has_ended(world: World) {
    world.enqueue("m1", "a").await;
    for _ in 0..2 {
        world.round(&failed()).await;
        assert_eq!(world.record.take(), [""; 0]);
        assert!(under_way(&world, "m1").await);
        world.pass(Duration::from_mins(10));
    }
    world.round(&failed()).await;
    assert_eq!(world.record.take(), ["m1 dead"]);
    assert!(!under_way(&world, "m1").await);
    world.outbox.replay(&key("m1", 0), None).await.unwrap();
    assert!(under_way(&world, "m1").await);
    world.round(&delivered()).await;
    assert_eq!(world.record.take(), ["m1 delivered"]);
}

async fn what_a_part_takes_along_is_told_once(world: World) {
    send_three(&world).await;
    world.round(&delivered()).await;
    world.round(&rejected()).await;
    assert_eq!(world.record.take(), ["long dead"]);
    world.outbox.discard(&key("long", 1), None).await.unwrap();
    assert_eq!(world.record.take(), ["long cancelled"]);
    world.enqueue("m1", "a").await;
    world.outbox.cancel(&key("m1", 0), None).await.unwrap();
    assert_eq!(world.record.take(), ["m1 cancelled"]);
}

async fn look(world: &World, found: Reconciled) {
    world.pass(Duration::from_secs(5));
    let [Due::Look(looked)] = &world.due().await[..] else { panic!("nothing is in doubt") };
    world.outbox.reconciled(&world.lease, world.repeat, looked, found, None).await.unwrap();
}

async fn what_waits_for_a_human_is_told_and_what_they_decide_is_too(world: World) {
    send_three(&world).await;
    world.round(&unclear()).await;
    assert_eq!(world.record.take(), [""; 0], "the platform is asked first");
    assert!(under_way(&world, "long").await);
    look(&world, Reconciled::StillUnknown).await;
    assert_eq!(world.record.take(), ["long unknown"]);
    assert!(!under_way(&world, "long").await, "nothing of it goes out by itself");
    world.outbox.resolve(&key("long", 0), Resolution::MarkDelivered, None).await.unwrap();
    assert_eq!(world.record.take(), [""; 0], "there is more of it");
    assert!(under_way(&world, "long").await);
    world.round(&delivered()).await;
    world.round(&delivered()).await;
    assert_eq!(world.record.take(), ["long delivered"]);
}

async fn what_is_found_out_later_is_told_then(world: World) {
    world.enqueue("m1", "a").await;
    world.round(&unclear()).await;
    look(&world, Reconciled::Delivered).await;
    assert_eq!(world.record.take(), ["m1 delivered"]);
}

async fn what_somebody_else_has_by_now_is_not_told(mut world: World) {
    world.enqueue("m1", "a").await;
    let begun = world.begin_due().await.pop().unwrap();
    world.lose_lease().await;
    let (lease, repeat) = (&world.lease, world.repeat);
    assert_eq!(world.outbox.recover(lease, repeat, &connector()).await.unwrap(), 1);
    world.settle(begun, delivered()).await;
    assert_eq!(world.record.take(), [""; 0]);
    look(&world, Reconciled::NotDelivered).await;
    let begun = world.begin_due().await.pop().unwrap();
    world.settle(begun, delivered()).await;
    assert_eq!(world.record.take(), ["m1 delivered"]);
}
