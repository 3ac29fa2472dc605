//! What readers of the event feed see of channels.

use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::UnknownRule;
use palyra_common::time::Duration;
use palyra_connector_core::Report;
use palyra_policy::outbox::{Reconciled, Repeat, Resolution};
use palyra_storage::{Database, events};
use serde_json::{Value, json};

use crate::world::{World, connector, delivered, key, on_every_engine, rejected, unclear};

on_every_engine!(
    changes_of_a_connector_are_told,
    what_needs_a_human_and_what_they_decide_is_told,
    what_a_rule_drops_is_told,
    what_is_delivered_or_tried_again_is_not_told,
);

/// A reader that goes on from where it was.
pub(crate) struct Reader {
    db: Database,
    cursor: i64,
}

impl Reader {
    /// Of what comes from now on.
    pub(crate) async fn from_now(db: &Database) -> Self {
        Self { db: db.clone(), cursor: events::newest(db).await.unwrap() }
    }

    /// What came about one subject, and its details.
    pub(crate) async fn read(&mut self, subject: &str) -> Vec<(String, Value)> {
        let page = events::page_after(&self.db, self.cursor, 1_000).await.unwrap();
        self.cursor = page.events.last().map_or(self.cursor, |event| event.seq);
        let about = page.events.into_iter().filter(|event| event.subject == subject);
        about.map(|event| (event.kind, event.body)).collect()
    }
}

const SUBJECT: &str = "connector:echo:default";

async fn kinds(reader: &mut Reader) -> Vec<String> {
    reader.read(SUBJECT).await.into_iter().map(|(kind, _)| kind).collect()
}

fn told(kind: &str, body: Value) -> (String, Value) {
    (kind.to_owned(), body)
}

async fn changes_of_a_connector_are_told(world: World) {
    // The world has set its connector up.
    let mut reader = Reader { db: world.db.clone(), cursor: 0 };
    assert_eq!(reader.read(SUBJECT).await, [told("connector.added", json!({}))]);
    let (id, connectors) = (connector(), &world.connectors);
    for _twice in 0..2 {
        connectors.pause(&id, "for a while", None).await.unwrap();
    }
    connectors.resume(&id, None).await.unwrap();
    connectors.set_enabled(&id, false, None).await.unwrap();
    connectors.set_enabled(&id, true, None).await.unwrap();
    let queue = connectors.get(&id).await.unwrap().queue;
    connectors.configure(&id, Some(json!({ "a": 1 })), Some(queue), None).await.unwrap();
    let seen = reader.read(SUBJECT).await;
    assert_eq!(seen[0], told("connector.paused", json!({ "detail": "for a while" })));
    let kinds: Vec<_> = seen.iter().map(|(kind, _)| &**kind).collect();
    let since = ["paused", "resumed", "disabled", "enabled", "configured"];
    assert_eq!(kinds, since.map(|kind| format!("connector.{kind}")));
}

async fn what_needs_a_human_and_what_they_decide_is_told(world: World) {
    let mut reader = Reader::from_now(&world.db).await;
    for name in ["m1", "m2", "m3"] {
        world.enqueue(name, name).await;
    }
    assert_eq!(world.round(&rejected()).await.len(), 3);
    let of = |envelope: &str, reason: &str| {
        told("outbox.dead", json!({ "envelope": envelope, "part": 0, "reason": reason }))
    };
    let mut seen = reader.read(SUBJECT).await;
    seen.sort_by_key(|(_, body)| body["envelope"].to_string());
    assert_eq!(seen, [of("m1", "rejected"), of("m2", "rejected"), of("m3", "rejected")]);

    let outbox = &world.outbox;
    outbox.replay(&key("m1", 0), None).await.unwrap();
    outbox.discard(&key("m2", 0), None).await.unwrap();
    assert_eq!(outbox.replay_many(&connector(), None, 10, None).await.unwrap(), 1);
    // Deciding twice is deciding once.
    outbox.replay(&key("m1", 0), None).await.unwrap();
    let one = |kind, envelope: &str| told(kind, json!({ "envelope": envelope, "part": 0 }));
    assert_eq!(
        reader.read(SUBJECT).await,
        [
            one("outbox.replayed", "m1"),
            one("outbox.discarded", "m2"),
            told("outbox.replayed", json!({ "count": 1 })),
        ]
    );

    assert_eq!(world.round(&unclear()).await, ["m1", "m3"]);
    assert_eq!(kinds(&mut reader).await, [""; 0], "the platform is asked first");
    world.pass(Duration::from_secs(5));
    for name in ["m1", "m3"] {
        let (lease, still) = (&world.lease, Reconciled::StillUnknown);
        let looked = world.stored(name).await;
        outbox.reconciled(lease, Repeat::Never, &looked, still, None).await.unwrap();
        // It cannot be seen that this was written down, so it is written down once more.
        outbox.reconciled(lease, Repeat::Never, &looked, still, None).await.unwrap();
    }
    outbox.resolve(&key("m1", 0), Resolution::Resend, None).await.unwrap();
    outbox.resolve(&key("m3", 0), Resolution::MarkDelivered, None).await.unwrap();
    assert_eq!(
        reader.read(SUBJECT).await,
        [
            one("outbox.unknown", "m1"),
            one("outbox.unknown", "m3"),
            one("outbox.resent", "m1"),
            one("outbox.marked_delivered", "m3"),
        ]
    );
}

/// Nobody has decided it, and the rest of the message can still be sent.
async fn what_a_rule_drops_is_told(world: World) {
    let queue = QueueSettings { on_unknown: UnknownRule::Drop, ..world.started_with.queue };
    world.connectors.configure(&connector(), Some(json!({})), Some(queue), None).await.unwrap();
    let mut reader = Reader::from_now(&world.db).await;
    world.outbox.enqueue(World::envelope("long", "a", &["one", "two", "three"])).await.unwrap();
    world.enqueue("next", "a").await;
    assert_eq!(world.round(&unclear()).await, ["long"]);
    let (looked, still) = (world.stored("long").await, Reconciled::StillUnknown);
    world.outbox.reconciled(&world.lease, Repeat::Never, &looked, still, None).await.unwrap();
    let of = |part| json!({ "envelope": "long", "part": part, "reason": "part_failed" });
    assert_eq!(
        reader.read(SUBJECT).await,
        [
            told("outbox.cancelled", json!({ "envelope": "long", "part": 0 })),
            told("outbox.dead", of(1)),
            told("outbox.dead", of(2)),
        ]
    );
    assert_eq!(world.round(&delivered()).await, ["next"]);
    world.outbox.replay(&key("long", 1), None).await.unwrap();
    assert_eq!(world.round(&delivered()).await, ["long/1"]);
    assert_eq!(world.round(&delivered()).await, ["long/2"]);
}

/// The number of an event is a lock that everybody waits for: what is frequent is not told.
async fn what_is_delivered_or_tried_again_is_not_told(world: World) {
    let mut reader = Reader::from_now(&world.db).await;
    world.enqueue("m1", "a").await;
    let class = palyra_common::runtime_contracts::RetryClass::RateLimit;
    let limited = Report::Retry { class, after: None, reason: "429".into() };
    assert_eq!(world.round(&limited).await, ["m1"]);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.round(&delivered()).await, ["m1"]);
    assert_eq!(kinds(&mut reader).await, [""; 0]);
}
