//! What a restored database does not do by itself.

use std::sync::Arc;

use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{
    ConnectorEventKind, InboundState, OutboxState, RouteReason, UnknownRule,
};
use palyra_common::time::{Clock, Duration};
use palyra_connector_core::{
    Accepted, CameBack, Envelope, Release, What, history, settle_what_came_back,
};
use palyra_policy::outbox::{Repeat, Resolution};
use palyra_storage::Tx;

use crate::inbound::{Answer, inbound, message};
use crate::world::{START, World, connector, delivered, key, name, on_every_engine, unclear};

on_every_engine!(
    what_had_not_gone_out_waits_for_a_human,
    each_part_is_decided_for_itself,
    no_setting_decides_for_a_human,
    what_was_undecided_is_answered_by_nobody,
);

async fn restored(world: &World) -> CameBack {
    let record = world.record.clone();
    let settle = move |tx: &mut Tx<'_>| settle_what_came_back(tx, &*record, START);
    world.db.write(settle).await.unwrap()
}

async fn unknown(world: &World) -> Vec<String> {
    let state = OutboxState::Unknown;
    let waiting = world.outbox.waiting_for_human(&connector(), state, None, 10).await.unwrap();
    waiting.iter().map(name).collect()
}

/// Everything that goes out by itself.
async fn rest(world: &World) -> Vec<String> {
    let mut sent = Vec::new();
    for _ in 0..10 {
        world.pass(Duration::from_mins(10));
        sent.extend(world.round(&delivered()).await);
    }
    sent
}

async fn what_had_not_gone_out_waits_for_a_human(world: World) {
    let resolve = async |id, resolution| world.outbox.resolve(&key(id, 0), resolution, None).await;
    world.enqueue("done", "a").await;
    world.round(&delivered()).await;
    world.enqueue("sending", "a").await;
    let begun = world.begin_due().await.pop().unwrap();
    world.enqueue("waiting", "a").await;
    world.enqueue("unclear", "b").await;
    world.round(&unclear()).await;
    let held = Envelope { release: Release::AfterApproval, ..World::envelope("held", "a", &["x"]) };
    world.outbox.enqueue(held).await.unwrap();

    assert_eq!(restored(&world).await, CameBack { in_doubt: 3, held: 1, set_aside: 0 });
    assert_eq!(unknown(&world).await, ["sending", "unclear", "waiting"]);
    assert_eq!(world.state("held", 0).await, Some(OutboxState::Held));
    world.settle(begun, delivered()).await;
    assert_eq!(rest(&world).await, [""; 0], "nothing goes out by itself");
    assert_eq!(unknown(&world).await, ["sending", "unclear", "waiting"]);
    let told = world.stored("waiting").await.last_error.unwrap();
    assert!(told.contains("restored"), "{told}");

    resolve("sending", Resolution::MarkDelivered).await.unwrap();
    resolve("waiting", Resolution::Resend).await.unwrap();
    world.enqueue("after", "a").await;
    assert_eq!(rest(&world).await, ["waiting", "after"]);
    let again = restored(&world).await.in_doubt;
    assert_eq!((again, unknown(&world).await), (0, vec!["unclear".into()]));
}

/// All of them may have gone out, or some.
async fn each_part_is_decided_for_itself(world: World) {
    world.outbox.enqueue(World::envelope("long", "a", &["one", "two", "three"])).await.unwrap();
    world.round(&delivered()).await;
    assert_eq!(restored(&world).await.in_doubt, 2);
    assert_eq!(world.record.take(), ["long unknown"]);
    world.outbox.resolve(&key("long", 1), Resolution::Resend, None).await.unwrap();
    assert_eq!(rest(&world).await, ["long/1"]);
    assert_eq!(unknown(&world).await, ["long/2"]);
    world.outbox.resolve(&key("long", 2), Resolution::Resend, None).await.unwrap();
    assert_eq!(rest(&world).await, ["long/2"]);
}

async fn no_setting_decides_for_a_human(mut world: World) {
    world.repeat = Repeat::Always;
    let queue = QueueSettings { on_unknown: UnknownRule::Resend, ..QueueSettings::default() };
    let settings = serde_json::json!({});
    world.connectors.configure(&connector(), Some(settings), Some(queue), None).await.unwrap();
    world.enqueue("m1", "a").await;
    world.begin_due().await;
    world.enqueue("m2", "a").await;
    assert_eq!(restored(&world).await.in_doubt, 2);
    let (lease, repeat) = (&world.lease, world.repeat);
    let recovered = world.outbox.recover(lease, repeat, &connector()).await.unwrap();
    assert_eq!((recovered, rest(&world).await), (0, vec![]));
    assert_eq!(unknown(&world).await, ["m1", "m2"]);
}

async fn what_was_undecided_is_answered_by_nobody(world: World) {
    let sink = Arc::new(Answer::default());
    let inbound = inbound(&world, &sink);
    inbound.accept(message("n0", "before")).await.unwrap();
    world.round(&delivered()).await;
    sink.fail(true);
    assert_eq!(inbound.accept(message("n1", "hi")).await.unwrap(), Accepted::Later);
    assert_eq!(inbound.accept(message("n2", "hello?")).await.unwrap(), Accepted::Later);

    assert_eq!(restored(&world).await, CameBack { in_doubt: 0, held: 0, set_aside: 2 });
    sink.fail(false);
    world.pass(Duration::from_mins(10));
    assert_eq!(inbound.decide_waiting(10).await.unwrap(), (0, None));
    assert_eq!(inbound.accept(message("n1", "hi")).await.unwrap(), Accepted::Before);
    assert_eq!(rest(&world).await, [""; 0], "nothing is answered");

    let events = world.connectors.events(&connector(), None, 10).await.unwrap();
    let named = events.iter().filter(|event| event.kind == ConnectorEventKind::MessageSetAside);
    let named: Vec<_> = named.filter_map(|event| event.detail.as_deref()).collect();
    assert_eq!(named.len(), 2);
    assert!(named.iter().any(|detail| detail.starts_with("n1 of ann in a,")), "{named:?}");
    let said = history(&world.db, &connector(), &"a".parse().unwrap(), world.clock.now(), 10).await;
    let fates = said.unwrap().into_iter().filter_map(|said| match said.what {
        What::In { state, reason, .. } => Some((said.native?, state, reason?)),
        What::Out { .. } => None,
    });
    let mut fates: Vec<_> = fates.collect();
    fates.sort();
    let aside = |id: &str| (id.to_owned(), InboundState::Ignored, RouteReason::Restored);
    let answered = ("n0".to_owned(), InboundState::Routed, RouteReason::Direct);
    assert_eq!(fates, [answered, aside("n1"), aside("n2")]);
    assert_eq!(restored(&world).await.set_aside, 0);
}
