//! A node that runs connectors, in real time.

use std::sync::Arc;
use std::time::Duration;

use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::queue::{Backoff, QueueSettings};
use palyra_common::runtime_contracts::OutboxState;
use palyra_storage::lease::{LeaseKeeper, Leases};
use palyra_storage::{Database, OpenOptions, SystemClock};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::received::Answers;
use super::{Arrived, AsItIs, Broken, NoRecord, Platform, Weather};
use crate::{
    CleanText, ConnectorSupervisor, Connectors, EntryKey, Envelope, Inbound, Operation, Outbox,
    Platforms, Release, Statuses, Stored, SupervisorOptions, SystemDice,
};

/// Long enough for any machine; nothing waits for it unless something is wrong.
const LIMIT: Duration = Duration::from_secs(120);
/// Short, so that a node that died is noticed soon.
const TTL: palyra_common::time::Duration = palyra_common::time::Duration::from_secs(2);

/// A queue that waits for nothing that it need not wait for.
pub(super) fn queue() -> QueueSettings {
    let ms = palyra_common::time::Duration::from_millis;
    QueueSettings {
        max_attempts: 100,
        backoff: Backoff { base: ms(1), cap: ms(20) },
        max_looks: 1,
        look_after: ms(10),
        attempt_timeout: ms(60_000),
        ..QueueSettings::default()
    }
}

pub(super) struct Node {
    pub(super) platform: Arc<dyn Platform>,
    pub(super) outbox: Outbox,
    pub(super) connectors: Connectors,
    pub(super) inbound: Inbound,
    pub(super) platforms: Platforms,
    pub(super) statuses: Statuses,
    db: Database,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
    keeping: JoinHandle<()>,
}

impl Node {
    pub(super) async fn start(
        options: &OpenOptions,
        platform: &Arc<dyn Platform>,
    ) -> Result<Self, Broken> {
        let db = Database::open(options.clone()).await?;
        let clock = Arc::new(SystemClock);
        let leases = Leases::new(db.clone(), clock.clone(), TTL);
        let (keeper, _) = LeaseKeeper::new(db.clone(), leases.clone());
        let supervisor = ConnectorSupervisor::new(SupervisorOptions {
            db: db.clone(),
            leases,
            clock: clock.clone(),
            dice: Arc::new(SystemDice),
            adapters: platform.adapters(),
            sink: Arc::new(Answers::default()),
            outgoing: Arc::new(AsItIs),
            deliveries: Arc::new(NoRecord),
            takeover_grace: Some(Duration::from_millis(100)),
        });
        let (stop, stopped) = oneshot::channel();
        Ok(Self {
            platform: platform.clone(),
            outbox: Outbox::new(
                db.clone(),
                clock.clone(),
                Arc::new(SystemDice),
                Arc::new(NoRecord),
            ),
            connectors: Connectors::new(db.clone(), clock),
            inbound: supervisor.inbound(),
            platforms: supervisor.platforms(),
            statuses: supervisor.statuses(),
            stop: Some(stop),
            running: tokio::spawn(supervisor.run(async { drop(stopped.await) })),
            keeping: tokio::spawn(keeper.run(std::future::pending())),
            db,
        })
    }

    /// Sets a connector up, in this weather.
    pub(super) async fn add(
        &self,
        name: &str,
        weather: Weather,
        queue: QueueSettings,
    ) -> Result<ConnectorId, Broken> {
        let kind = self.platform.kind();
        let id = format!("{kind}:{name}").parse::<ConnectorId>();
        let id = id.map_err(|error| Broken(error.to_string()))?;
        let settings = self.platform.turn(&id, weather);
        self.connectors.add(id.clone(), kind, settings, queue, None).await?;
        Ok(id)
    }

    /// The weather changes, and the connector is told what it has to know of that.
    pub(super) async fn turn(&self, id: &ConnectorId, weather: Weather) -> Result<(), Broken> {
        let settings = self.platform.turn(id, weather);
        self.connectors.configure(id, Some(settings), Some(queue()), None).await?;
        Ok(())
    }

    /// Enqueues a message of one part that says its own name.
    pub(super) async fn send(
        &self,
        id: &ConnectorId,
        name: &str,
        conversation: &str,
    ) -> Result<EntryKey, Broken> {
        self.send_parts(id, name, conversation, vec![name.to_owned()]).await
    }

    /// Enqueues a message of several parts.
    pub(super) async fn send_parts(
        &self,
        id: &ConnectorId,
        name: &str,
        conversation: &str,
        texts: Vec<String>,
    ) -> Result<EntryKey, Broken> {
        let envelope = envelope(id, name, conversation, texts)?;
        let key = EntryKey { connector: id.clone(), envelope: envelope.id.clone(), part: 0 };
        self.outbox.enqueue(envelope).await?;
        Ok(key)
    }

    pub(super) async fn entry(&self, key: &EntryKey) -> Result<Option<Stored>, Broken> {
        Ok(self.outbox.entry(key).await?)
    }

    /// Where an entry is, ended or not.
    pub(super) async fn state(&self, key: &EntryKey) -> Result<Option<OutboxState>, Broken> {
        let parts = self.outbox.envelope(&key.connector, &key.envelope).await?;
        Ok(parts.into_iter().find(|part| part.part == key.part).map(|part| part.state))
    }

    pub(super) async fn wait_for(&self, key: &EntryKey, state: OutboxState) -> Result<(), Broken> {
        until(
            &format!("the message is {state}"),
            async || Ok(self.state(key).await? == Some(state)),
        )
        .await
    }

    /// What a connector has said in a conversation.
    pub(super) fn said(&self, id: &ConnectorId, conversation: &str) -> Vec<String> {
        let arrived = self.platform.arrived(id).into_iter();
        let here = arrived.filter(|said| said.conversation == conversation);
        here.map(|Arrived { text, .. }| text).collect()
    }

    /// Lets what is under way end.
    pub(super) async fn stop(mut self) -> Result<(), Broken> {
        drop(self.stop.take());
        let stopped = tokio::time::timeout(LIMIT, &mut self.running).await;
        self.keeping.abort();
        self.db.close().await;
        match stopped {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Broken(format!("the supervisor failed: {error}"))),
            Err(_) => Err(Broken("the supervisor does not end".to_owned())),
        }
    }

    /// As if the process were gone: nothing is settled, nothing given back.
    pub(super) async fn die(self) {
        self.running.abort();
        self.keeping.abort();
        self.db.close().await;
    }
}

/// The weather changes while no node runs.
pub(super) async fn turn_while_down(
    options: &OpenOptions,
    platform: &dyn Platform,
    id: &ConnectorId,
    weather: Weather,
) -> Result<(), Broken> {
    let db = Database::open(options.clone()).await?;
    let connectors = Connectors::new(db.clone(), Arc::new(SystemClock));
    let turned =
        connectors.configure(id, Some(platform.turn(id, weather)), Some(queue()), None).await;
    db.close().await;
    turned.map(drop).map_err(Broken::from)
}

pub(super) fn envelope(
    connector: &ConnectorId,
    name: &str,
    conversation: &str,
    texts: Vec<String>,
) -> Result<Envelope, Broken> {
    let broken = |error: &dyn std::fmt::Display| Broken(error.to_string());
    let clean = |text: String| CleanText::of(&text, &AsItIs);
    let operation = |text| Operation::Send { text: clean(text), reply_to: None };
    Ok(Envelope {
        connector: connector.clone(),
        id: name.parse::<EnvelopeId>().map_err(|error| broken(&error))?,
        conversation: conversation.parse().map_err(|error| broken(&error))?,
        parts: texts.into_iter().map(operation).collect(),
        release: Release::AtOnce,
    })
}

/// Waits until something is so.
pub(super) async fn until(
    what: &str,
    mut is_so: impl AsyncFnMut() -> Result<bool, Broken>,
) -> Result<(), Broken> {
    let looking = async {
        while !is_so().await? {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    };
    match tokio::time::timeout(LIMIT, looking).await {
        Ok(looked) => looked,
        Err(_) => Err(Broken(format!("this never comes true: {what}"))),
    }
}
