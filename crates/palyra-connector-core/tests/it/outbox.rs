//! An entry from being wanted to its end.

use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxState, RetryClass};
use palyra_common::time::{Clock, Duration};
use palyra_connector_core::{
    Attempt, Due, Enqueued, Operation, Outbox, Release, Report, Stored, SystemDice,
};
use palyra_policy::outbox::{Reconciled, Repeat, Resolution};

use crate::world::{
    World, connector, delivered, failed, key, name, on_every_engine, rejected, said, unclear,
};

on_every_engine!(
    a_message_goes_out_once_however_often_it_is_wanted,
    the_same_message_from_many_sides_at_once_is_one,
    lanes_go_in_order_and_beside_each_other,
    a_retry_holds_its_lane_and_no_other,
    the_platform_is_waited_for_without_an_attempt,
    who_lost_the_lease_begins_nothing_and_settles_only_its_own,
    who_was_told_something_else_begins_nothing,
    what_was_left_under_way_is_in_doubt,
    what_the_holder_itself_has_left_under_way_is_in_doubt,
    what_was_left_under_way_is_sent_again_where_the_platform_deduplicates,
    the_unknown_holds_its_lane_until_it_was_looked_for,
    dead_letters_are_replayed_and_discarded,
    held_messages_wait_for_approval_outside_of_the_lane,
    what_a_human_takes_back_is_not_sent,
    a_paused_connector_keeps_its_queue_and_its_age,
    what_cannot_be_is_refused,
    what_a_platform_says_is_kept_whatever_it_says,
    a_message_that_is_found_settles_one_entry,
    an_answer_about_an_earlier_attempt_says_nothing_of_a_later_one,
    what_was_read_before_it_changed_is_not_given_up_on_the_strength_of_that,
);

async fn a_message_goes_out_once_however_often_it_is_wanted(world: World) {
    assert_eq!(world.enqueue("m1", "general").await, Enqueued::Now);
    assert_eq!(world.enqueue("m1", "general").await, Enqueued::Before(OutboxState::Pending));
    assert_eq!(world.round(&delivered()).await, ["m1"]);
    assert_eq!(world.enqueue("m1", "general").await, Enqueued::Before(OutboxState::Delivered));
    assert!(world.due().await.is_empty());
    assert_eq!(world.enqueue("m2", "general").await, Enqueued::Now);
    assert_eq!(world.round(&delivered()).await, ["m2"]);
}

async fn the_same_message_from_many_sides_at_once_is_one(world: World) {
    let second = world.second_node().await.unwrap_or_else(|| world.db.clone());
    let (dice, record) = (Arc::new(SystemDice), world.record.clone());
    let other = Outbox::new(second, world.clock.clone(), dice, record);
    let mut sides = tokio::task::JoinSet::new();
    for side in 0..40 {
        let outbox = if side % 2 == 0 { world.outbox.clone() } else { other.clone() };
        // Some to another conversation, some to be approved: the name alone counts.
        let mut envelope = World::envelope("same", ["a", "b"][side % 2], &["text", "more"]);
        if side % 5 == 0 {
            envelope.release = Release::AfterApproval;
        }
        sides.spawn(async move { outbox.enqueue(envelope).await.unwrap() });
    }
    let outcomes = sides.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Enqueued::Now).count(), 1);
    if world.state("same", 0).await == Some(OutboxState::Held) {
        world.outbox.approve(&key("same", 0), None).await.unwrap();
    }
    assert_eq!(world.round(&delivered()).await, ["same"]);
    assert_eq!(world.round(&delivered()).await, ["same/1"]);
    assert!(world.due().await.is_empty());
    assert_eq!(world.outbox.next_due(&connector()).await.unwrap(), None);
}

async fn lanes_go_in_order_and_beside_each_other(world: World) {
    for message in ["m1", "m2", "m3"] {
        world.enqueue(&format!("{message}-a"), "a").await;
        world.enqueue(&format!("{message}-b"), "b").await;
    }
    for message in ["m1", "m2", "m3"] {
        let expected = [format!("{message}-a"), format!("{message}-b")];
        assert_eq!(world.round(&delivered()).await, expected);
    }
    assert!(world.due().await.is_empty());
}

async fn a_retry_holds_its_lane_and_no_other(world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "a").await;
    assert_eq!(world.round(&failed()).await, ["m1"]);
    world.enqueue("m3", "b").await;
    assert_eq!(world.round(&delivered()).await, ["m3"]);
    let waiting = world.stored("m1").await;
    assert_eq!(
        (waiting.last_class, waiting.entry.attempts),
        (Some(RetryClass::TransientNetwork), 1)
    );
    assert_eq!(waiting.last_error.as_deref(), Some("no route"));
    let due = world.outbox.next_due(&connector()).await.unwrap();
    assert_eq!(due, waiting.entry.due_at);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.round(&delivered()).await, ["m1"]);
    assert_eq!(world.round(&delivered()).await, ["m2"]);
}

async fn the_platform_is_waited_for_without_an_attempt(world: World) {
    world.enqueue("m1", "a").await;
    let until = world.clock.now() + Duration::from_mins(7);
    let Due::Send(stored) = world.due().await.remove(0) else { panic!("nothing to send") };
    assert!(world.begin(vec![Attempt::Wait(stored, until)]).await.unwrap().is_empty());
    let waiting = world.stored("m1").await;
    assert_eq!((waiting.entry.attempts, waiting.entry.due_at), (0, Some(until)));
    assert!(world.due().await.is_empty());
    world.pass(Duration::from_mins(7));
    assert_eq!(world.round(&delivered()).await, ["m1"]);
}

async fn who_was_told_something_else_begins_nothing(mut world: World) {
    world.enqueue("m1", "a").await;
    let (id, other) = (connector(), serde_json::json!({ "half": 0.1, "b": 1, "a": 2 }));
    let queue = world.started_with.queue;
    world.connectors.configure(&id, Some(other), Some(queue), None).await.unwrap();
    assert_eq!(world.due().await.len(), 1);
    assert!(world.begin_due().await.is_empty());
    // A pause is nothing that an adapter is told.
    world.started_with = Arc::new(world.connectors.get(&id).await.unwrap());
    world.connectors.pause(&id, "for a while", None).await.unwrap();
    world.connectors.resume(&id, None).await.unwrap();
    assert_eq!(world.round(&delivered()).await, ["m1"]);
}

async fn who_lost_the_lease_begins_nothing_and_settles_only_its_own(mut world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "b").await;
    let due = world.due().await;
    let [one, other] = &due[..] else { panic!("{due:?}") };
    let (Due::Send(one), Due::Send(other)) = (one.clone(), other.clone()) else {
        panic!("{due:?}")
    };
    let begun = world.begin(vec![Attempt::Begin(one)]).await.unwrap().remove(0);
    let stale = world.lose_lease().await;
    let (row, attempts) = (&world.started_with, vec![Attempt::Begin(other)]);
    let refused = world.outbox.begin(row, &stale, Repeat::Never, attempts).await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageStaleLease);
    // What it had begun it may still settle, as long as nobody has taken it over.
    world.settle(begun.clone(), delivered()).await;
    assert_eq!(world.state(begun.stored.key.envelope.as_str(), 0).await, None);
    let late = world.begin_due().await.remove(0);
    world.lose_lease().await;
    world.outbox.recover(&world.lease, Repeat::Never, &connector()).await.unwrap();
    world.settle(late.clone(), delivered()).await;
    let name = late.stored.key.envelope.as_str();
    assert_eq!(world.state(name, 0).await, Some(OutboxState::Unknown));
    // Also when the new holder is at it already.
    world.outbox.resolve(&late.stored.key, Resolution::Resend, None).await.unwrap();
    let again = world.begin_due().await.remove(0);
    world.settle(late.clone(), rejected()).await;
    assert_eq!(world.state(name, 0).await, Some(OutboxState::Sending));
    world.settle(again, delivered()).await;
    assert_eq!(world.state(name, 0).await, None);
}

async fn what_was_left_under_way_is_in_doubt(mut world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "a").await;
    assert_eq!(world.begin_due().await.len(), 1);
    world.lose_lease().await;
    assert!(world.due().await.is_empty());
    let recovered = world.outbox.recover(&world.lease, Repeat::Never, &connector()).await;
    assert_eq!(recovered.unwrap(), 1);
    assert_eq!(world.state("m1", 0).await, Some(OutboxState::Unknown));
    let again = world.outbox.recover(&world.lease, Repeat::Never, &connector()).await;
    assert_eq!(again.unwrap(), 0);
}

/// As after a COMMIT of which nothing could be learnt: the lease is held, and nobody makes the attempt.
async fn what_the_holder_itself_has_left_under_way_is_in_doubt(world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "a").await;
    assert_eq!(world.begin_due().await.len(), 1);
    let (lease, repeat) = (&world.lease, Repeat::Never);
    assert_eq!(world.outbox.recover(lease, repeat, &connector()).await.unwrap(), 0);
    assert_eq!(world.outbox.recover_own(lease, repeat, &connector()).await.unwrap(), 1);
    assert_eq!(world.state("m1", 0).await, Some(OutboxState::Unknown));
}

async fn what_was_left_under_way_is_sent_again_where_the_platform_deduplicates(mut world: World) {
    world.repeat = Repeat::Within(Duration::from_mins(1));
    world.enqueue("m1", "a").await;
    assert_eq!(world.begin_due().await.len(), 1);
    world.lose_lease().await;
    world.outbox.recover(&world.lease, world.repeat, &connector()).await.unwrap();
    assert_eq!(world.stored("m1").await.entry.attempts, 1);
    // Once more it dies, and by now the platform has forgotten.
    assert_eq!(world.begin_due().await.len(), 1);
    world.lose_lease().await;
    world.pass(Duration::from_mins(1));
    world.outbox.recover(&world.lease, world.repeat, &connector()).await.unwrap();
    assert_eq!(world.state("m1", 0).await, Some(OutboxState::Unknown));
}

async fn the_unknown_holds_its_lane_until_it_was_looked_for(world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "a").await;
    assert_eq!(world.round(&unclear()).await, ["m1"]);
    assert!(world.due().await.is_empty());
    world.pass(Duration::from_secs(5));
    let due = world.due().await;
    assert!(matches!(&due[..], [Due::Look(stored)] if name(stored) == "m1"), "{due:?}");
    let still = Reconciled::StillUnknown;
    let (lease, m1) = (&world.lease, world.stored("m1").await);
    world.outbox.reconciled(lease, Repeat::Never, &m1, still, None).await.unwrap();
    // Nobody could say: it steps aside, and those behind it go on.
    assert_eq!(world.round(&delivered()).await, ["m2"]);
    let unknown = OutboxState::Unknown;
    let waiting = world.outbox.waiting_for_human(&connector(), unknown, None, 10).await.unwrap();
    assert_eq!(waiting.iter().map(name).collect::<Vec<_>>(), ["m1"]);
    world.outbox.resolve(&key("m1", 0), Resolution::Resend, None).await.unwrap();
    assert_eq!(world.round(&delivered()).await, ["m1"]);
    // Deciding the same twice is deciding it once.
    let again = world.outbox.resolve(&key("m1", 0), Resolution::MarkDelivered, None).await;
    assert_eq!(again.unwrap(), OutboxState::Delivered);
    let other = world.outbox.discard(&key("m1", 0), None).await.unwrap_err();
    assert_eq!(other.code(), ErrorCode::CommonConflict);
}

async fn dead_letters_are_replayed_and_discarded(world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "a").await;
    assert_eq!(world.round(&rejected()).await, ["m1"]);
    assert_eq!(world.round(&rejected()).await, ["m2"]);
    let dead = OutboxState::Dead;
    let letters = world.outbox.waiting_for_human(&connector(), dead, None, 1).await.unwrap();
    let [letter] = &letters[..] else { panic!("{letters:?}") };
    assert_eq!(
        (letter.death, letter.last_error.as_deref()),
        (Some(DeadLetterReason::Rejected), Some("no such channel"))
    );
    let after = Some((letter.changed_at, letter.key.clone()));
    let more = world.outbox.waiting_for_human(&connector(), dead, after, 10).await.unwrap();
    assert_eq!(more.len(), 1);
    world.outbox.replay(&letter.key, None).await.unwrap();
    assert_eq!(world.outbox.replay(&letter.key, None).await.unwrap(), OutboxState::Pending);
    assert_eq!(world.round(&delivered()).await, [name(letter)]);
    assert_eq!(world.outbox.replay(&letter.key, None).await.unwrap(), OutboxState::Delivered);
    assert!(world.due().await.is_empty());
    for _ in 0..2 {
        let discarded = world.outbox.discard(&more[0].key, None).await.unwrap();
        assert_eq!(discarded, OutboxState::Cancelled);
    }
    let late = world.outbox.replay(&more[0].key, None).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::CommonConflict);
    // What was delivered is there, and nothing that can be discarded.
    let delivered = world.outbox.discard(&letter.key, None).await.unwrap_err();
    assert_eq!(delivered.code(), ErrorCode::CommonConflict);
    assert!(delivered.to_string().contains("delivered"), "{delivered}");
    assert_eq!(world.enqueue(&name(&more[0]), "a").await, Enqueued::Before(OutboxState::Cancelled));
    assert!(world.due().await.is_empty());
}

async fn held_messages_wait_for_approval_outside_of_the_lane(world: World) {
    let held = |id: &str| palyra_connector_core::Envelope {
        release: Release::AfterApproval,
        ..World::envelope(id, "a", &[id])
    };
    assert_eq!(world.outbox.enqueue(held("h1")).await.unwrap(), Enqueued::Now);
    let again = world.outbox.enqueue(held("h1")).await.unwrap();
    assert_eq!(again, Enqueued::Before(OutboxState::Held));
    world.outbox.enqueue(held("h2")).await.unwrap();
    world.enqueue("m1", "a").await;
    assert_eq!(world.round(&delivered()).await, ["m1"]);
    world.pass(Duration::from_days(7));
    world.outbox.approve(&key("h1", 0), None).await.unwrap();
    world.outbox.cancel(&key("h2", 0), None).await.unwrap();
    assert_eq!(world.round(&delivered()).await, ["h1"]);
    assert!(world.due().await.is_empty());
}

async fn what_a_human_takes_back_is_not_sent(world: World) {
    world.enqueue("m1", "a").await;
    world.enqueue("m2", "a").await;
    let read = world.due().await;
    world.outbox.cancel(&key("m1", 0), None).await.unwrap();
    // Whoever had read it before finds out.
    let attempts = read.into_iter().map(|due| match due {
        Due::Send(stored) | Due::Look(stored) => Attempt::Begin(stored),
    });
    assert!(world.begin(attempts.collect()).await.unwrap().is_empty());
    assert_eq!(world.round(&delivered()).await, ["m2"]);
    let begun = world.enqueue("m3", "a").await;
    assert_eq!(begun, Enqueued::Now);
    let begun = world.begin_due().await.remove(0);
    let refused = world.outbox.cancel(&key("m3", 0), None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CommonConflict);
    world.settle(begun, delivered()).await;
}

async fn a_paused_connector_keeps_its_queue_and_its_age(world: World) {
    world.enqueue("m1", "a").await;
    let read = world.due().await;
    assert!(world.connectors.pause(&connector(), "maintenance", None).await.unwrap());
    assert!(!world.connectors.pause(&connector(), "again", None).await.unwrap());
    assert!(world.due().await.is_empty());
    assert_eq!(world.outbox.next_due(&connector()).await.unwrap(), None, "nothing to wake up for");
    let attempts = read.into_iter().map(|due| match due {
        Due::Send(stored) | Due::Look(stored) => Attempt::Begin(stored),
    });
    assert!(world.begin(attempts.collect()).await.unwrap().is_empty());
    world.pass(Duration::from_days(3));
    assert!(world.connectors.resume(&connector(), None).await.unwrap());
    world.pass(Duration::from_hours(23));
    assert_eq!(world.round(&failed()).await, ["m1"]);
    world.pass(Duration::from_hours(1));
    assert!(world.begin_due().await.is_empty());
    let expired = world.stored("m1").await;
    assert_eq!(
        (expired.entry.state, expired.death),
        (OutboxState::Dead, Some(DeadLetterReason::Expired))
    );
}

async fn what_cannot_be_is_refused(world: World) {
    let mut stranger = World::envelope("m1", "a", &["x"]);
    stranger.connector = "nobody".parse().unwrap();
    let refused = world.outbox.enqueue(stranger).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CommonNotFound);
    for parts in [0, 65] {
        let mut envelope = World::envelope("m1", "a", &[]);
        let text = said("x");
        envelope.parts = vec![text; parts];
        let refused = world.outbox.enqueue(envelope).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::CommonInvalidInput);
    }
    let missing = world.outbox.replay(&key("m9", 0), None).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
    world.enqueue("m1", "a").await;
    let hold = Report::AuthFailed { reason: "401".into() };
    assert_eq!(world.round(&hold).await, ["m1"]);
    assert_eq!(world.stored("m1").await.entry.attempts, 0);
}

/// Postgres takes no U+0000, and a platform may answer with a whole page.
async fn what_a_platform_says_is_kept_whatever_it_says(world: World) {
    world.enqueue("m1", "a").await;
    let reason = format!("no\0 {}", "…".repeat(100_000));
    assert_eq!(world.round(&Report::Rejected { reason: reason.into() }).await, ["m1"]);
    let told = world.stored("m1").await.last_error.unwrap();
    assert!(told.starts_with("no …"), "{told}");
    assert_eq!(told.chars().count(), 1_000);
}

/// Two that say the same are in doubt, and the platform shows one.
async fn a_message_that_is_found_settles_one_entry(world: World) {
    let found = async |name: &str| {
        let (lease, native) = (&world.lease, Some("n1".parse().unwrap()));
        let (there, looked) = (Reconciled::Delivered, world.stored(name).await);
        world.outbox.reconciled(lease, Repeat::Never, &looked, there, native).await.unwrap();
    };
    for name in ["m1", "m2"] {
        world.enqueue(name, "a").await;
        assert_eq!(world.round(&unclear()).await, [name]);
        found(name).await;
    }
    assert_eq!(world.state("m1", 0).await, None, "it has ended");
    let second = world.stored("m2").await;
    assert_eq!((second.entry.state, second.aside), (OutboxState::Unknown, true));
    // A change is no message: it says which one it is about.
    let mut change = World::envelope("m3", "a", &["x"]);
    change.parts = vec![Operation::Delete { message: "n1".parse().unwrap() }];
    world.outbox.enqueue(change).await.unwrap();
    let done = Report::Delivered { native: Some("n1".parse().unwrap()) };
    assert_eq!(world.round(&done).await, ["m3"]);
    assert_eq!(world.state("m3", 0).await, None, "it has ended");
}

/// A human has it sent again while the platform is still being asked.
async fn an_answer_about_an_earlier_attempt_says_nothing_of_a_later_one(world: World) {
    world.enqueue("m1", "a").await;
    assert_eq!(world.round(&unclear()).await, ["m1"]);
    let looked = world.stored("m1").await;
    world.outbox.resolve(&looked.key, Resolution::Resend, None).await.unwrap();
    assert_eq!(world.round(&unclear()).await, ["m1"]);
    let answer = async |looked: &Stored, found| {
        world.outbox.reconciled(&world.lease, Repeat::Never, looked, found, None).await.unwrap();
        world.state("m1", 0).await
    };
    for found in [Reconciled::NotDelivered, Reconciled::Delivered] {
        assert_eq!(answer(&looked, found).await, Some(OutboxState::Unknown), "{found:?}");
    }
    let looked = world.stored("m1").await;
    assert_eq!(answer(&looked, Reconciled::NotDelivered).await, Some(OutboxState::Pending));
}

/// It was too old when it was read, and has been replayed since.
async fn what_was_read_before_it_changed_is_not_given_up_on_the_strength_of_that(world: World) {
    world.enqueue("m1", "a").await;
    let read = world.stored("m1").await;
    world.pass(Duration::from_hours(25));
    assert!(world.begin_due().await.is_empty());
    world.outbox.replay(&read.key, None).await.unwrap();
    let begun = world.begin(vec![Attempt::Begin(read.clone())]).await.unwrap();
    assert!(begun.is_empty(), "{begun:?}");
    let until = world.clock.now() + Duration::from_hours(1);
    world.begin(vec![Attempt::Wait(read, until)]).await.unwrap();
    assert_eq!(world.round(&delivered()).await, ["m1"]);
}
