//! What a platform takes only in pieces.

use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxState};
use palyra_common::time::Duration;
use palyra_connector_core::{DeadLetterRecord, Enqueued, Envelope, Operation, Release, Stored};
use palyra_policy::outbox::{Reconciled, Repeat, Resolution};

use crate::world::{
    World, connector, delivered, failed, key, name, on_every_engine, rejected, unclear,
};

on_every_engine!(
    parts_follow_each_other,
    when_one_dies_the_rest_dies_with_it_and_is_replayed_with_it,
    whichever_is_replayed_the_first_that_died_goes_first,
    a_part_that_is_not_dead_sends_no_other,
    when_one_is_unknown_the_rest_waits_aside_and_comes_back_first,
    what_comes_back_waits_for_what_is_under_way,
    a_part_that_is_sent_again_takes_the_rest_along,
    a_part_that_was_not_delivered_goes_again_in_its_place,
    what_is_taken_back_is_taken_back_whole,
    what_waited_for_a_decision_is_not_too_old_when_that_comes_late,
);

const THREE: &[&str] = &["one", "two", "three"];

async fn send_three(world: &World) {
    world.outbox.enqueue(World::envelope("long", "a", THREE)).await.unwrap();
    world.enqueue("next", "a").await;
}

/// Everything that goes out from now on, in order.
async fn rest(world: &World) -> Vec<String> {
    let mut sent = Vec::new();
    for _ in 0..10 {
        sent.extend(world.round(&delivered()).await);
    }
    sent
}

async fn parts_follow_each_other(world: World) {
    send_three(&world).await;
    assert_eq!(rest(&world).await, ["long", "long/1", "long/2", "next"]);
}

async fn when_one_dies_the_rest_dies_with_it_and_is_replayed_with_it(world: World) {
    send_three(&world).await;
    assert_eq!(world.round(&delivered()).await, ["long"]);
    assert_eq!(world.round(&rejected()).await, ["long/1"]);
    assert_eq!(rest(&world).await, ["next"]);
    let letters = world.outbox.dead_letters(&connector(), None, 10).await.unwrap();
    let deaths: Vec<_> =
        letters.iter().map(|letter| (&letter.key, letter.reason, letter.attempts)).collect();
    assert_eq!(
        deaths,
        [
            (&key("long", 1), DeadLetterReason::Rejected, 1),
            (&key("long", 2), DeadLetterReason::PartFailed, 0),
        ]
    );
    let text = |letter: &DeadLetterRecord| match &letter.operation {
        Operation::Send { text, .. } => text.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(letters.iter().map(text).collect::<Vec<_>>(), ["two", "three"]);
    assert_eq!(letters[0].last_error.as_deref(), Some("no such channel"));
    let of_one = async |envelope: &str| {
        world.outbox.dead_letter(&connector(), &envelope.parse().unwrap()).await
    };
    assert_eq!(of_one("long").await.unwrap(), letters);
    for other in ["next", "nothing"] {
        assert_eq!(of_one(other).await.unwrap_err().code(), ErrorCode::CommonNotFound, "{other}");
    }
    world.enqueue("later", "a").await;
    world.outbox.replay(&key("long", 1), None).await.unwrap();
    assert_eq!(rest(&world).await, ["later", "long/1", "long/2"]);
}

/// No part goes out without the one before it.
async fn whichever_is_replayed_the_first_that_died_goes_first(world: World) {
    send_three(&world).await;
    assert_eq!(world.round(&rejected()).await, ["long"]);
    assert_eq!(rest(&world).await, ["next"]);
    world.outbox.replay(&key("long", 2), None).await.unwrap();
    assert_eq!(world.round(&rejected()).await, ["long"]);
    let reason = Some(DeadLetterReason::PartFailed);
    world.outbox.replay_many(&connector(), reason, 10, None).await.unwrap();
    assert_eq!(rest(&world).await, ["long", "long/1", "long/2"]);
}

/// Neither one that there never was, nor one that somebody has given up for good.
async fn a_part_that_is_not_dead_sends_no_other(world: World) {
    send_three(&world).await;
    assert_eq!(world.round(&rejected()).await, ["long"]);
    assert_eq!(rest(&world).await, ["next"]);
    let refused = async |part| {
        let refused = world.outbox.replay(&key("long", part), None).await.unwrap_err();
        (refused.code(), refused.to_string())
    };
    let none = "there is no message long (part 99) in the outbox of echo:default".to_owned();
    assert_eq!(refused(99).await, (ErrorCode::CommonNotFound, none));
    world.outbox.discard(&key("long", 1), None).await.unwrap();
    for discarded in [1, 2] {
        let what = "the message long is cancelled, so it cannot be replayed".to_owned();
        assert_eq!(refused(discarded).await, (ErrorCode::CommonConflict, what));
    }
    assert_eq!(rest(&world).await, [""; 0]);
    world.outbox.replay(&key("long", 0), None).await.unwrap();
    assert_eq!(rest(&world).await, ["long"]);
    // What has gone out by a replay is not asked for a second time.
    let again = world.outbox.replay(&key("long", 0), None).await.unwrap();
    assert_eq!(again, OutboxState::Delivered);
}

async fn make_second_part_unknown(world: &World) {
    set_second_part_aside(world).await;
    assert_eq!(world.round(&delivered()).await, ["next"]);
}

async fn set_second_part_aside(world: &World) {
    send_three(world).await;
    assert_eq!(world.round(&delivered()).await, ["long"]);
    assert_eq!(world.round(&unclear()).await, ["long/1"]);
    assert_eq!(rest(world).await, [""; 0]);
    world.pass(Duration::from_secs(5));
    reconcile(world, Reconciled::StillUnknown).await;
}

async fn reconcile(world: &World, found: Reconciled) {
    let part = world.outbox.entry(&key("long", 1)).await.unwrap().unwrap();
    reconcile_one(world, &part, found).await;
}

async fn reconcile_one(world: &World, looked: &Stored, found: Reconciled) {
    let outbox = &world.outbox;
    outbox.reconciled(&world.lease, Repeat::Never, looked, found, None).await.unwrap();
}

async fn when_one_is_unknown_the_rest_waits_aside_and_comes_back_first(world: World) {
    make_second_part_unknown(&world).await;
    world.enqueue("later", "a").await;
    world.outbox.resolve(&key("long", 1), Resolution::MarkDelivered, None).await.unwrap();
    assert_eq!(rest(&world).await, ["long/2", "later"]);
}

/// Its place is before that of the one under way, which nobody can call back.
async fn what_comes_back_waits_for_what_is_under_way(world: World) {
    set_second_part_aside(&world).await;
    world.enqueue("later", "a").await;
    let next = world.begin_due().await.remove(0);
    assert_eq!(name(&next.stored), "next");
    // First the part itself comes back, then the one behind it.
    reconcile(&world, Reconciled::NotDelivered).await;
    assert_eq!(world.due().await, [], "two of a conversation at a time");
    assert_eq!(world.outbox.next_due(&connector()).await.unwrap(), None);
    world.settle(next, failed()).await;
    assert_eq!(world.round(&unclear()).await, ["long/1"]);
    world.pass(Duration::from_secs(5));
    reconcile(&world, Reconciled::StillUnknown).await;
    let next = world.begin_due().await.remove(0);
    assert_eq!(name(&next.stored), "next");
    world.outbox.resolve(&key("long", 1), Resolution::MarkDelivered, None).await.unwrap();
    assert_eq!(world.due().await, [], "two of a conversation at a time");
    world.settle(next, delivered()).await;
    assert_eq!(rest(&world).await, ["long/2", "later"]);
}

async fn a_part_that_is_sent_again_takes_the_rest_along(world: World) {
    make_second_part_unknown(&world).await;
    world.enqueue("later", "a").await;
    world.outbox.resolve(&key("long", 1), Resolution::Resend, None).await.unwrap();
    assert_eq!(rest(&world).await, ["later", "long/1", "long/2"]);
}

/// The platform is asked once more, by somebody who has seen the message after all.
async fn a_part_that_was_not_delivered_goes_again_in_its_place(world: World) {
    make_second_part_unknown(&world).await;
    world.enqueue("later", "a").await;
    reconcile(&world, Reconciled::NotDelivered).await;
    assert_eq!(rest(&world).await, ["long/1", "long/2", "later"]);
}

async fn what_is_taken_back_is_taken_back_whole(world: World) {
    let held = Envelope { release: Release::AfterApproval, ..World::envelope("held", "a", THREE) };
    assert_eq!(world.outbox.enqueue(held).await.unwrap(), Enqueued::Now);
    world.outbox.cancel(&key("held", 0), None).await.unwrap();
    send_three(&world).await;
    world.outbox.cancel(&key("long", 0), None).await.unwrap();
    assert_eq!(rest(&world).await, ["next"]);
    for part in 0..3 {
        assert_eq!(world.state("held", part).await, None);
        assert_eq!(world.state("long", part).await, None);
    }
    world.outbox.enqueue(World::envelope("dead", "a", THREE)).await.unwrap();
    assert_eq!(world.round(&rejected()).await, ["dead"]);
    world.outbox.discard(&key("dead", 0), None).await.unwrap();
    assert_eq!(world.state("dead", 2).await, None);
}

async fn what_waited_for_a_decision_is_not_too_old_when_that_comes_late(world: World) {
    for (round, resolution) in [Resolution::MarkDelivered, Resolution::Resend].iter().enumerate() {
        let name = format!("long{round}");
        world.outbox.enqueue(World::envelope(&name, "a", THREE)).await.unwrap();
        assert_eq!(world.round(&unclear()).await, [&*name]);
        world.pass(Duration::from_secs(5));
        let first = key(&name, 0);
        reconcile_one(&world, &world.stored(&name).await, Reconciled::StillUnknown).await;
        let view = world.outbox.view(&world.started_with).await.unwrap();
        assert_eq!((view.waiting, view.parked, view.facts.unknown), (0, 2, 1));
        world.pass(Duration::from_hours(25));
        world.outbox.resolve(&first, *resolution, None).await.unwrap();
        let parts = match resolution {
            Resolution::MarkDelivered => 1..3,
            Resolution::Resend => 0..3,
        };
        let sent =
            parts.map(|part| if part == 0 { name.clone() } else { format!("{name}/{part}") });
        assert_eq!(rest(&world).await, sent.collect::<Vec<_>>());
        let view = world.outbox.view(&world.started_with).await.unwrap();
        assert_eq!((view.parked, view.facts.dead), (0, 0));
    }
}
