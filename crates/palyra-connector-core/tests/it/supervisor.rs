//! Connectors at work: real time, a platform in memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use palyra_common::ids::ConnectorId;
use palyra_common::queue::{Backoff, QueueSettings};
use palyra_common::runtime_contracts::{
    ConnectorLiveness, ConnectorReadiness, OutboxState, RetryClass, RouteReason,
};
use palyra_common::time::Timestamp;
use palyra_connector_core::{
    ChannelError, ConnectorSupervisor, Connectors, EntryKey, Inbound, InboundEvent, InboundSink,
    Outbox, Outgoing, Platforms, Pulse, Statuses, SupervisorOptions, SystemDice, Taken,
};
use palyra_policy::outbox::Repeat;
use palyra_storage::lease::{LeaseKeeper, Leases};
use palyra_storage::{Database, Sql, SystemClock, Tx, params, sql};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::platform::{Adapters, Fault, Platform};
use crate::world::{Record, WithoutCanary, World, connector, on_every_engine};

on_every_engine!(
    messages_arrive_once_and_in_order_through_every_fault,
    where_nothing_deduplicates_the_answer_that_was_lost_is_looked_for,
    one_that_dies_is_started_again,
    an_adapter_that_fails_at_once_is_asked_again,
    nothing_is_sent_through_an_adapter_that_has_ended,
    what_a_platform_says_is_cleaned_before_it_is_cut,
    a_refused_credential_keeps_the_queue_until_it_is_changed,
    other_settings_are_tried_whatever_becomes_of_the_old_ones,
    one_that_cannot_be_made_says_why,
    another_node_goes_on_when_one_dies,
    another_node_goes_on_however_much_there_is_to_send,
    a_restart_takes_over_what_was_under_way,
    one_that_dies_again_and_again_still_takes_over_what_was_under_way,
    who_loses_the_lease_lets_go_of_the_connection,
    who_has_lost_the_lease_tells_nothing,
    who_loses_the_lease_while_it_waits_does_not_begin_again,
    one_that_leaves_unasked_waits_like_one_that_was_lost,
    everybody_can_ask_how_a_connector_does,
    how_a_connector_does_is_in_the_feed,
    a_supervisor_that_works_can_be_told_from_one_that_does_not,
    what_dies_again_at_once_is_replayed_once,
    an_end_that_cannot_be_kept_keeps_no_other_from_being_kept,
    one_name_of_the_platform_settles_one_message,
);

/// Long enough for any machine; nothing waits for it unless something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
/// Short, so that a node that died is noticed soon.
const TTL: Duration = Duration::from_secs(2);
/// How long what a dead node has sent may still be on its way.
const GRACE: Duration = Duration::from_millis(100);
/// What a slow machine may take beyond that, and beyond the time between two renewals.
const MARGIN: Duration = Duration::from_secs(10);

struct Deaf;

impl InboundSink for Deaf {
    fn accept(
        &self,
        _: &mut Tx<'_>,
        _: &InboundEvent,
        _: &dyn Outgoing,
        _: Timestamp,
    ) -> Result<Taken, ChannelError> {
        Ok(Taken::Ignored(RouteReason::NoRule))
    }
}

/// A node that runs connectors.
pub(crate) struct Node {
    pulse: Pulse,
    pub(crate) statuses: Statuses,
    pub(crate) platforms: Platforms,
    pub(crate) inbound: Inbound,
    pub(crate) outbox: Outbox,
    pub(crate) connectors: Connectors,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
    keeping: JoinHandle<()>,
}

impl Node {
    pub(crate) fn start(db: &Database, platform: &Arc<Platform>, repeat: Repeat) -> Self {
        let clock = Arc::new(SystemClock);
        let leases = Leases::new(db.clone(), clock.clone(), TTL.into());
        let (keeper, _) = LeaseKeeper::new(db.clone(), leases.clone());
        let supervisor = ConnectorSupervisor::new(SupervisorOptions {
            db: db.clone(),
            leases,
            clock: clock.clone(),
            dice: Arc::new(SystemDice),
            adapters: Arc::new(Adapters(platform.clone(), repeat)),
            sink: Arc::new(Deaf),
            outgoing: Arc::new(WithoutCanary),
            deliveries: Arc::<Record>::default(),
            takeover_grace: Some(GRACE),
        });
        let (stop, stopped) = oneshot::channel();
        Self {
            pulse: supervisor.pulse(),
            statuses: supervisor.statuses(),
            platforms: supervisor.platforms(),
            inbound: supervisor.inbound(),
            outbox: Outbox::new(
                db.clone(),
                clock.clone(),
                Arc::new(SystemDice),
                Arc::<Record>::default(),
            ),
            connectors: Connectors::new(db.clone(), clock),
            stop: Some(stop),
            running: tokio::spawn(supervisor.run(async { drop(stopped.await) })),
            keeping: tokio::spawn(keeper.run(std::future::pending())),
        }
    }

    pub(crate) async fn add(&self, id: &str, kind: &str) -> ConnectorId {
        self.add_with(id, kind, quick()).await
    }

    pub(crate) async fn add_with(&self, id: &str, kind: &str, queue: QueueSettings) -> ConnectorId {
        let id: ConnectorId = id.parse().unwrap();
        self.connectors.add(id.clone(), kind, serde_json::json!({}), queue, None).await.unwrap();
        id
    }

    pub(crate) async fn send(&self, connector: &ConnectorId, id: &str, conversation: &str) {
        let mut envelope = World::envelope(id, conversation, &[id]);
        envelope.connector = connector.clone();
        self.outbox.enqueue(envelope).await.unwrap();
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        tokio::time::timeout(LIMIT, &mut self.running).await.unwrap().unwrap();
        self.keeping.abort();
    }

    /// Until a round has begun and ended.
    async fn whole_round(&self) {
        for what in ["a round begins", "the next one begins"] {
            let before = self.pulse.last();
            until(what, async || self.pulse.last() > before).await;
        }
    }

    /// Until it has looked again and again for this long.
    pub(crate) async fn works_for(&self, length: palyra_common::time::Duration) {
        let begun = self.pulse.last();
        until("it goes on", async || self.pulse.last() > begun + length).await;
    }

    /// As if the process were gone: nothing is settled, nothing given back.
    pub(crate) fn die(self) -> Instant {
        self.running.abort();
        self.keeping.abort();
        Instant::now()
    }
}

/// What fails is tried again soon.
pub(crate) fn quick() -> QueueSettings {
    let ms = palyra_common::time::Duration::from_millis;
    QueueSettings {
        max_attempts: 1_000,
        backoff: Backoff { base: ms(1), cap: ms(20) },
        look_after: ms(10),
        attempt_timeout: ms(30_000),
        ..QueueSettings::default()
    }
}

pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let holds = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, holds).await.is_ok(), "never: {what}");
}

/// The connector of the world is of no use here: its time stands still.
pub(crate) async fn fresh(world: &World) {
    world.connectors.set_enabled(&connector(), false, None).await.unwrap();
}

async fn flood(node: &Node, connector: &ConnectorId, messages: usize, conversations: usize) {
    for n in 0..messages {
        let conversation = format!("c{}", n % conversations);
        node.send(connector, &format!("m{n}"), &conversation).await;
    }
}

fn assert_in_order(platform: &Platform, messages: usize, conversations: usize) {
    let arrived = platform.arrived.lock().unwrap();
    for (conversation, said) in &*arrived {
        let lane: usize = conversation[1..].parse().unwrap();
        let sent = (lane..messages).step_by(conversations).map(|n| format!("m{n}"));
        assert_eq!(*said, sent.collect::<Vec<_>>(), "{conversation}");
    }
    assert_eq!(arrived.len(), conversations);
}

async fn messages_arrive_once_and_in_order_through_every_fault(world: World) {
    fresh(&world).await;
    let within = Repeat::Within(palyra_common::time::Duration::from_hours(1));
    through_every_fault(&world, within, "memory:a").await;
    // Here a second copy would be seen by whoever reads the conversation.
    let platform = through_every_fault(&world, Repeat::Never, "memory:b").await;
    assert_eq!(platform.repeats.load(Ordering::SeqCst), 0);
}

async fn through_every_fault(world: &World, repeat: Repeat, id: &str) -> Arc<Platform> {
    const MESSAGES: usize = 1_000;
    const CONVERSATIONS: usize = 50;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, repeat);
    platform.set(id, Fault::Random);
    let id = node.add(id, "memory").await;
    flood(&node, &id, MESSAGES, CONVERSATIONS).await;
    until("all arrive", async || platform.count() == MESSAGES).await;
    assert_in_order(&platform, MESSAGES, CONVERSATIONS);
    // Nothing is due either while an attempt is under way, which the next node would make again.
    let row = world.connectors.get(&id).await.unwrap();
    let is_empty = async || node.outbox.view(&row).await.unwrap().waiting == 0;
    until("all is settled", is_empty).await;
    node.stop().await;
    platform
}

async fn where_nothing_deduplicates_the_answer_that_was_lost_is_looked_for(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    platform.set("memory:a", Fault::LoseAnswer);
    flood(&node, &id, 20, 4).await;
    until("all arrive", async || platform.count() == 20).await;
    assert_in_order(&platform, 20, 4);
    node.stop().await;
}

/// What it was asked for is not left under way for ever, and nothing is started anew.
async fn an_adapter_that_fails_at_once_is_asked_again(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    for (sent, fault) in [(1, Fault::PanicAtAdmission), (2, Fault::PanicAtOnce)] {
        platform.set("memory:a", fault);
        let key = EntryKey { connector: id.clone(), ..crate::world::key(&format!("m{sent}"), 0) };
        node.send(&id, key.envelope.as_str(), "a").await;
        let failed = async || {
            let entry = node.outbox.entry(&key).await.unwrap();
            entry.filter(|stored| stored.last_error.is_some())
        };
        until("it has failed", async || failed().await.is_some()).await;
        if fault == Fault::PanicAtAdmission {
            let told = failed().await.unwrap();
            assert_eq!(told.last_class, Some(RetryClass::ConnectorRestarting), "nobody was told");
            assert_eq!(told.entry.attempts, 0);
        }
        platform.set("memory:a", Fault::None);
        until("it goes out", async || platform.count() == sent).await;
    }
    assert_eq!(platform.starts.lock().unwrap()["memory:a"], 1);
    node.stop().await;
}

async fn nothing_is_sent_through_an_adapter_that_has_ended(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    platform.set("memory:a", Fault::LoseConnection);
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    node.send(&id, "m0", "c0").await;
    let starts = || platform.starts.lock().unwrap().get("memory:a").copied().unwrap_or_default();
    until("it is started again", async || starts() >= 2).await;
    assert_eq!(platform.count(), 0, "it was sent without a connection");
    platform.set("memory:a", Fault::None);
    until("it goes out", async || platform.count() == 1).await;
    node.stop().await;
}

/// Of a secret that stands across the end of what is kept, the beginning is one, too.
async fn what_a_platform_says_is_cleaned_before_it_is_cut(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let clean = |told: &str| {
        assert!(told.starts_with("xxx") && told.contains("[gone]"), "{told}");
        assert!(!told.contains("can") && told.chars().count() <= 1_000, "{told}");
    };
    platform.set("memory:a", Fault::RejectWithCanary);
    node.send(&id, "m0", "c0").await;
    let key = EntryKey { connector: id.clone(), ..crate::world::key("m0", 0) };
    let error =
        async || node.outbox.entry(&key).await.unwrap().and_then(|stored| stored.last_error);
    until("it was refused", async || error().await.is_some()).await;
    clean(&error().await.unwrap());

    let conversation = "c0".parse().unwrap();
    let refused = node.platforms.typing(&id, &conversation).await.unwrap_err().to_string();
    assert!(refused.contains("[gone]") && !refused.contains("can"), "{refused}");

    platform.set("memory:a", Fault::LoseConnection);
    let other = serde_json::json!({ "other": true });
    node.connectors.configure(&id, Some(other), None, None).await.unwrap();
    let lost = async || node.statuses.of(&id).await.unwrap().and_then(|status| status.last_error);
    until("its end is told", async || lost().await.is_some()).await;
    clean(&lost().await.unwrap());
    for event in node.connectors.events(&id, None, 100).await.unwrap() {
        event.detail.iter().for_each(|told| clean(told));
    }
    node.stop().await;
}

async fn one_that_dies_is_started_again(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    platform.set("memory:a", Fault::Panic);
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let starts = || platform.starts.lock().unwrap().get("memory:a").copied().unwrap_or_default();
    until("it is started again", async || starts() >= 2).await;
    platform.set("memory:a", Fault::None);
    node.send(&id, "m0", "c0").await;
    until("it works again", async || platform.count() == 1).await;
    // A panic in the middle of a send is an outcome that nobody knows; the platform is asked.
    platform.set("memory:a", Fault::Panic);
    node.send(&id, "m1", "c0").await;
    let m1 = EntryKey { connector: id.clone(), envelope: "m1".parse().unwrap(), part: 0 };
    let tried = async || {
        node.outbox.entry(&m1).await.unwrap().is_some_and(|stored| stored.entry.attempts > 0)
    };
    until("it was tried", tried).await;
    platform.set("memory:a", Fault::None);
    until("it arrives", async || platform.count() == 2).await;
    node.stop().await;
}

async fn a_refused_credential_keeps_the_queue_until_it_is_changed(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    platform.set("memory:a", Fault::Unauthorized);
    flood(&node, &id, 10, 2).await;
    let readiness = async || node.connectors.get(&id).await.unwrap().readiness;
    until("it is locked out", async || readiness().await == ConnectorReadiness::AuthFailed).await;
    let told = node.connectors.get(&id).await.unwrap();
    assert_eq!(told.readiness_reason.as_deref(), Some("401"));
    assert!(told.stopped_since.is_some());
    let dead = node.outbox.waiting_for_human(&id, OutboxState::Dead, None, 10).await.unwrap();
    assert!(dead.is_empty());
    platform.set("memory:a", Fault::None);
    let settings = serde_json::json!({ "token": "another" });
    assert!(node.connectors.configure(&id, Some(settings), Some(told.queue), None).await.unwrap());
    until("the queue goes out", async || platform.count() == 10).await;
    assert_in_order(&platform, 10, 2);
    node.stop().await;
}

/// What was begun with the old ones is refused when the new ones are there, seen by then or not.
async fn other_settings_are_tried_whatever_becomes_of_the_old_ones(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let queue = node.connectors.get(&id).await.unwrap().queue;
    for (sent, seen) in [(1, false), (2, true)] {
        platform.set("memory:a", Fault::UnauthorizedLate);
        let key = EntryKey { connector: id.clone(), ..crate::world::key(&format!("m{sent}"), 0) };
        node.send(&id, key.envelope.as_str(), "a").await;
        until("it is under way", async || {
            let entry = node.outbox.entry(&key).await.unwrap();
            entry.is_some_and(|stored| stored.entry.state == OutboxState::Sending)
        })
        .await;
        let settings = serde_json::json!({ "token": sent });
        node.connectors.configure(&id, Some(settings), Some(queue), None).await.unwrap();
        if seen {
            node.whole_round().await;
        }
        platform.set("memory:a", Fault::None);
        until("it goes out", async || platform.count() == sent).await;
        let is = node.connectors.get(&id).await.unwrap();
        assert_eq!(is.readiness, ConnectorReadiness::Ready);
    }
    node.stop().await;
}

async fn one_that_cannot_be_made_says_why(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("carrier:pigeon", "pigeon").await;
    let get = async || node.connectors.get(&id).await.unwrap();
    let misconfigured = ConnectorReadiness::Misconfigured;
    until("it says so", async || get().await.readiness == misconfigured).await;
    let reason = get().await.readiness_reason.unwrap();
    assert!(reason.contains("pigeon"), "{reason}");
    node.stop().await;
}

async fn another_node_goes_on_when_one_dies(world: World) {
    let Some(second) = world.second_node().await else { return };
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let within = Repeat::Within(palyra_common::time::Duration::from_hours(1));
    let first = Node::start(&world.db, &platform, within);
    let id = first.add("memory:a", "memory").await;
    first.send(&id, "m0", "c0").await;
    until("the first works", async || platform.count() == 1).await;
    let second = Node::start(&second, &platform, within);
    platform.set("memory:a", Fault::Hang);
    flood(&second, &id, 20, 4).await;
    let begun = async || {
        let key = EntryKey { connector: id.clone(), envelope: "m1".parse().unwrap(), part: 0 };
        let entry = first.outbox.entry(&key).await.unwrap();
        entry.is_some_and(|stored| stored.entry.state == OutboxState::Sending)
    };
    until("something is under way", begun).await;
    let died = first.die();
    platform.set("memory:a", Fault::None);
    until("the second goes on", async || platform.count() == 20).await;
    assert_taken_over(died);
    assert_in_order(&platform, 20, 4);
    assert_eq!(platform.starts.lock().unwrap()["memory:a"], 2);
    second.stop().await;
}

/// What is sent rings all the time, and is no reason not to look whose lease is over.
async fn another_node_goes_on_however_much_there_is_to_send(world: World) {
    let Some(second) = world.second_node().await else { return };
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let first = Node::start(&world.db, &platform, Repeat::Never);
    let id = first.add("memory:a", "memory").await;
    first.send(&id, "m0", "c0").await;
    until("the first works", async || platform.count() == 1).await;
    let second = Node::start(&second, &platform, Repeat::Never);
    let (died, mut sent) = (first.die(), 1);
    until("the second goes on", async || {
        second.send(&id, &format!("m{sent}"), "c0").await;
        sent += 1;
        platform.count() > 1
    })
    .await;
    assert_taken_over(died);
    until("all arrive", async || platform.count() == sent).await;
    assert_in_order(&platform, sent, 1);
    second.stop().await;
}

/// Now, somebody has gone on who waited for no more than the lease.
fn assert_taken_over(died: Instant) {
    let took = died.elapsed();
    println!("taken over after {took:?}, with a lease of {TTL:?}");
    assert!(took < TTL + TTL / 3 + GRACE + MARGIN, "{took:?}");
}

async fn a_restart_takes_over_what_was_under_way(mut world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let first = Node::start(&world.db, &platform, Repeat::Never);
    let id = first.add("memory:a", "memory").await;
    platform.set("memory:a", Fault::Hang);
    first.send(&id, "m0", "c0").await;
    let key = EntryKey { connector: id.clone(), envelope: "m0".parse().unwrap(), part: 0 };
    let sending = async || {
        let entry = first.outbox.entry(&key).await.unwrap();
        entry.is_some_and(|stored| stored.entry.state == OutboxState::Sending)
    };
    until("it is under way", sending).await;
    first.die();
    world.restart().await;
    platform.set("memory:a", Fault::None);
    // The platform is asked, has not seen it, and gets it.
    let second = Node::start(&world.db, &platform, Repeat::Never);
    until("it arrives", async || platform.count() == 1).await;
    second.stop().await;
}

/// Each of its lives is shorter than what the requests of another may take.
async fn one_that_dies_again_and_again_still_takes_over_what_was_under_way(mut world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let first = Node::start(&world.db, &platform, Repeat::Never);
    let id = first.add("memory:a", "memory").await;
    platform.set("memory:a", Fault::Hang);
    first.send(&id, "m0", "c0").await;
    let key = EntryKey { connector: id.clone(), envelope: "m0".parse().unwrap(), part: 0 };
    let state = async |outbox: &Outbox| outbox.entry(&key).await.unwrap().unwrap().entry.state;
    let sending = OutboxState::Sending;
    until("it is under way", async || state(&first.outbox).await == sending).await;
    first.die();
    world.restart().await;
    platform.set("memory:a", Fault::Panic);
    let second = Node::start(&world.db, &platform, Repeat::Never);
    let unknown = OutboxState::Unknown;
    until("it is in doubt", async || state(&second.outbox).await == unknown).await;
    second.stop().await;
}

/// Another node takes the lease of `memory:a`.
const STEAL: Sql = sql!(
    "UPDATE leases SET owner = 'somebody', token = token + 1000, expires_at = $1
     WHERE name = 'connector:memory:a'"
);

/// What the new holder says of it stays.
async fn who_has_lost_the_lease_tells_nothing(world: World) {
    const TELL: Sql =
        sql!("UPDATE connector_status SET node = 'somebody' WHERE connector_id = 'memory:a'");
    const TOLD: Sql = sql!("SELECT node FROM connector_status WHERE connector_id = 'memory:a'");
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let is_told = async || {
        let status = node.statuses.of(&id).await.unwrap();
        status.is_some_and(|status| status.liveness == ConnectorLiveness::Running)
    };
    until("it runs", is_told).await;
    let steal = |tx: &mut Tx<'_>| {
        tx.execute(&STEAL, params![i64::MAX])?;
        tx.execute(&TELL, params![])
    };
    world.db.write(steal).await.unwrap();
    until("it lets go", async || platform.connected.load(Ordering::SeqCst) == 0).await;
    // It looks again whether the lease is free, with nothing to tell.
    node.whole_round().await;
    node.stop().await;
    let told = |tx: &mut Tx<'_>| tx.query_one(&TOLD, params![], |row| row.get::<String>(0));
    assert_eq!(world.db.read(told).await.unwrap(), "somebody");
}

async fn who_loses_the_lease_lets_go_of_the_connection(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    node.add("memory:a", "memory").await;
    let connected = || platform.connected.load(Ordering::SeqCst);
    until("it is connected", async || connected() == 1).await;
    world.db.write(|tx| tx.execute(&STEAL, params![i64::MAX])).await.unwrap();
    until("it lets go", async || connected() == 0).await;
    node.stop().await;
}

async fn who_loses_the_lease_while_it_waits_does_not_begin_again(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    platform.set("memory:a", Fault::LoseConnection);
    let node = Node::start(&world.db, &platform, Repeat::Never);
    node.add("memory:a", "memory").await;
    let starts = || platform.starts.lock().unwrap().get("memory:a").copied().unwrap_or_default();
    until("it waits to be started again", async || starts() >= 2).await;
    world.db.write(|tx| tx.execute(&STEAL, params![i64::MAX])).await.unwrap();
    // By then a renewal has found out that the lease is gone.
    node.works_for(TTL.into()).await;
    let before = starts();
    platform.set("memory:a", Fault::None);
    node.works_for(palyra_common::time::Duration::from_secs(6)).await;
    assert_eq!(starts(), before, "it began under the lease of somebody else");
    node.stop().await;
}

async fn one_that_leaves_unasked_waits_like_one_that_was_lost(world: World) {
    use palyra_common::runtime_contracts::ConnectorEventKind as Kind;
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    platform.set("memory:a", Fault::Leave);
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let kinds = async || -> Vec<Kind> {
        let events = node.connectors.events(&id, None, 100).await.unwrap();
        events.iter().map(|event| event.kind).collect()
    };
    until("its end is told", async || {
        kinds().await.iter().any(|kind| *kind != Kind::Added && *kind != Kind::Started)
    })
    .await;
    let kinds = kinds().await;
    assert!(kinds.contains(&Kind::Lost) && !kinds.contains(&Kind::Stopped), "{kinds:?}");
    platform.set("memory:a", Fault::None);
    let connected = || platform.connected.load(Ordering::SeqCst);
    until("it is connected", async || connected() == 1).await;
    node.stop().await;
}

async fn everybody_can_ask_how_a_connector_does(world: World) {
    use palyra_common::runtime_contracts::ConnectorEventKind as Kind;
    use palyra_common::runtime_contracts::ConnectorLiveness as Liveness;
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let liveness =
        async |statuses: &Statuses| statuses.of(&id).await.unwrap().map(|status| status.liveness);
    until("it runs", async || liveness(&node.statuses).await == Some(Liveness::Running)).await;
    let status = node.statuses.of(&id).await.unwrap().unwrap();
    assert!(status.connection.connected_since.is_some(), "{status:?}");

    platform.set("memory:a", Fault::Panic);
    let queue = node.connectors.get(&id).await.unwrap().queue;
    let other = serde_json::json!({ "other": true });
    node.connectors.configure(&id, Some(other), Some(queue), None).await.unwrap();
    until("its end is told", async || {
        node.statuses.of(&id).await.unwrap().is_some_and(|status| status.restarts > 0)
    })
    .await;
    let told = node.statuses.of(&id).await.unwrap().unwrap();
    assert!(told.last_error.is_some() && told.last_error_at.is_some(), "{told:?}");
    node.connectors.set_enabled(&id, false, None).await.unwrap();
    until("it stops", async || liveness(&node.statuses).await == Some(Liveness::Stopped)).await;
    let events = node.connectors.events(&id, None, 100).await.unwrap();
    let kinds: Vec<_> = events.iter().rev().map(|event| event.kind).collect();
    assert_eq!(kinds[..2], [Kind::Added, Kind::Started]);
    assert!(kinds.contains(&Kind::Lost) && kinds.contains(&Kind::Disabled), "{kinds:?}");
    let older = node.connectors.events(&id, Some(events[0].id), 100).await.unwrap();
    assert_eq!(older, events[1..]);
    node.stop().await;
}

async fn how_a_connector_does_is_in_the_feed(world: World) {
    fresh(&world).await;
    let mut reader = crate::feed::Reader::from_now(&world.db).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    let queue = node.connectors.get(&id).await.unwrap().queue;
    let mut seen: Vec<(String, serde_json::Value)> = Vec::new();
    let mut until_told = async |kind: &str| {
        until(kind, async || {
            seen.extend(reader.read("connector:memory:a").await);
            seen.iter().any(|(told, _)| told == kind)
        })
        .await;
        std::mem::take(&mut seen)
    };
    let first = until_told("connector.started").await;
    assert_eq!(first[0].0, "connector.added", "{first:?}");
    platform.set("memory:a", Fault::Panic);
    let other = serde_json::json!({ "other": true });
    node.connectors.configure(&id, Some(other), Some(queue), None).await.unwrap();
    let lost = until_told("connector.lost").await;
    assert!(lost.last().unwrap().1["detail"].is_string(), "{lost:?}");
    platform.set("memory:a", Fault::Unauthorized);
    node.send(&id, "m1", "a").await;
    until_told("connector.auth_failed").await;
    platform.set("memory:a", Fault::None);
    node.connectors.set_enabled(&id, true, None).await.unwrap();
    until_told("connector.started").await;
    node.connectors.set_enabled(&id, false, None).await.unwrap();
    until_told("connector.stopped").await;
    node.stop().await;
}

/// Whatever its connectors do: this one refuses everything.
async fn a_supervisor_that_works_can_be_told_from_one_that_does_not(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let node = Node::start(&world.db, &platform, Repeat::Never);
    node.add("broken:one", "unknown").await;
    let (pulse, began) = (node.pulse.clone(), node.pulse.last());
    let after = |seconds| palyra_common::time::Duration::from_secs(seconds);
    until("it goes on", async || pulse.last() > began + after(1)).await;
    assert!(pulse.is_felt(pulse.last() + after(59)));
    node.die();
    assert!(!pulse.is_felt(pulse.last() + after(61)));
}

/// A platform that refuses everything at once, while many are replayed.
async fn what_dies_again_at_once_is_replayed_once(world: World) {
    const LETTERS: u64 = 250;
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    platform.set("memory:a", Fault::Reject);
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    flood(&node, &id, 250, 25).await;
    let dead = async || {
        let connector = node.connectors.get(&id).await.unwrap();
        node.outbox.view(&connector).await.unwrap().facts.dead
    };
    until("all have died", async || dead().await == LETTERS).await;
    let replayed = node.outbox.replay_many(&id, None, 10_000, None).await.unwrap();
    assert_eq!(replayed, LETTERS);
    until("all have died again", async || dead().await == LETTERS).await;
    node.stop().await;
}

/// The database refuses what came of one attempt, for good.
async fn an_end_that_cannot_be_kept_keeps_no_other_from_being_kept(world: World) {
    const REFUSE: Sql = sql!(
        sqlite: "CREATE TRIGGER refuse BEFORE UPDATE ON outbox WHEN NEW.last_error = 'poison'
             BEGIN SELECT RAISE(ABORT, 'on purpose'); END",
        postgres: "ALTER TABLE outbox ADD CONSTRAINT refuse CHECK (last_error <> 'poison')",
    );
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    platform.set("memory:a", Fault::Poison);
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    world.db.write(|tx| tx.execute(&REFUSE, params![])).await.unwrap();
    node.connectors.pause(&id, "so that all go at once", None).await.unwrap();
    node.send(&id, "p0", "poison").await;
    flood(&node, &id, 20, 10).await;
    node.connectors.resume(&id, None).await.unwrap();
    let delivered = async |name: &str| {
        let parts = node.outbox.envelope(&id, &name.parse().unwrap()).await.unwrap();
        parts[0].state == OutboxState::Delivered
    };
    for n in 0..20 {
        until("it is settled", async || delivered(&format!("m{n}")).await).await;
    }
    // Nobody knows what became of it: it is looked for, and sent.
    platform.set("memory:a", Fault::None);
    until("it is looked for", async || delivered("p0").await).await;
    node.stop().await;
}

/// What was delivered under the name of another message is in doubt, and looked for.
async fn one_name_of_the_platform_settles_one_message(world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    platform.set("memory:a", Fault::SameName);
    let node = Node::start(&world.db, &platform, Repeat::Never);
    let id = node.add("memory:a", "memory").await;
    node.connectors.pause(&id, "so that all go at once", None).await.unwrap();
    node.send(&id, "m0", "a").await;
    node.send(&id, "m1", "a").await;
    // A name is one of a conversation.
    node.send(&id, "m2", "b").await;
    node.connectors.resume(&id, None).await.unwrap();
    let part = async |name: &str| {
        let parts = node.outbox.envelope(&id, &name.parse().unwrap()).await.unwrap();
        (parts[0].state == OutboxState::Delivered).then(|| parts[0].native.clone())
    };
    for name in ["m0", "m1", "m2"] {
        until("it is settled", async || part(name).await.is_some()).await;
    }
    let same = Some(Some("same".to_owned()));
    assert_eq!((part("m0").await, part("m2").await), (same.clone(), same));
    assert_eq!(part("m1").await, Some(None), "the same message has settled two");
    assert_eq!(platform.repeats.load(Ordering::SeqCst), 0);
    node.stop().await;
}
