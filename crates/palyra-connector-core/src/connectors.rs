//! The instances that an operator has set up.

use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::ConnectorReadiness;
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_storage::{Database, StorageError, Topic, Tx};
use serde_json::Value;

use crate::store::connectors::{self, Connector};
use crate::{ChannelError, QueueSettings};

/// Told when a connector was set up or changed.
pub(crate) const TOPIC: Topic = Topic::new("connectors");

/// The connectors. Cheap to clone.
#[derive(Clone)]
pub struct Connectors {
    db: Database,
    clock: Arc<dyn Clock>,
}

impl Connectors {
    /// The connectors in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock }
    }

    /// Waits for a change of any connector.
    pub fn subscribe(&self) -> palyra_storage::Subscription {
        self.db.subscribe(TOPIC)
    }

    /// Sets a connector up unless there is one of this name. Says whether there was none.
    pub async fn add(
        &self,
        id: ConnectorId,
        kind: &str,
        settings: Value,
        queue: QueueSettings,
    ) -> Result<bool, StorageError> {
        let connector = Connector {
            id,
            kind: kind.to_owned(),
            enabled: true,
            settings,
            queue,
            readiness: ConnectorReadiness::Ready,
            readiness_reason: None,
            paused_at: None,
            pause_reason: None,
            stopped_since: None,
            stopped_before: Duration::ZERO,
            version: 1,
            created_at: self.clock.now(),
        };
        let add = move |tx: &mut Tx<'_>| {
            let added = connectors::add(tx, &connector)?;
            if added {
                tx.notify(TOPIC);
            }
            Ok(added)
        };
        self.db.write(add).await
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Connector>, StorageError> {
        self.db.read(connectors::all).await
    }

    /// One of them.
    pub async fn get(&self, id: &ConnectorId) -> Result<Connector, ChannelError> {
        let wanted = id.clone();
        let found = self.db.read(move |tx| connectors::one(tx, &wanted)).await?;
        found.ok_or_else(|| ChannelError::NoConnector(id.clone()))
    }

    /// Switches a connector on or off. Says whether that changed anything.
    pub async fn set_enabled(&self, id: &ConnectorId, enabled: bool) -> Result<bool, ChannelError> {
        self.change(id, move |connector, _| connector.enabled = enabled).await
    }

    /// Keeps what is in the queue from going out. Says whether that changed anything.
    pub async fn pause(&self, id: &ConnectorId, reason: &str) -> Result<bool, ChannelError> {
        let reason = reason.to_owned();
        let pause = move |connector: &mut Connector, now| {
            if connector.paused_at.is_none() {
                connector.paused_at = Some(now);
                connector.pause_reason = Some(reason.clone());
            }
        };
        self.change(id, pause).await
    }

    /// Lets it go out again. Says whether that changed anything.
    pub async fn resume(&self, id: &ConnectorId) -> Result<bool, ChannelError> {
        let resume = |connector: &mut Connector, _| {
            (connector.paused_at, connector.pause_reason) = (None, None);
        };
        self.change(id, resume).await
    }

    /// Writes down whether a connector has what it needs, and if not, why.
    pub async fn set_readiness(
        &self,
        id: &ConnectorId,
        readiness: ConnectorReadiness,
        reason: Option<String>,
    ) -> Result<bool, ChannelError> {
        let set = move |connector: &mut Connector, _| {
            (connector.readiness, connector.readiness_reason) = (readiness, reason.clone());
        };
        self.change(id, set).await
    }

    /// Gives a connector other settings. What it lacked before says nothing about these.
    pub async fn configure(
        &self,
        id: &ConnectorId,
        settings: Value,
        queue: QueueSettings,
    ) -> Result<bool, ChannelError> {
        let set = move |connector: &mut Connector, _| {
            (connector.settings, connector.queue) = (settings.clone(), queue);
            (connector.readiness, connector.readiness_reason) = (ConnectorReadiness::Ready, None);
        };
        self.change(id, set).await
    }

    async fn change(
        &self,
        id: &ConnectorId,
        change: impl Fn(&mut Connector, Timestamp) + Send + Sync + 'static,
    ) -> Result<bool, ChannelError> {
        let (id, now) = (id.clone(), self.clock.now());
        let write = move |tx: &mut Tx<'_>| -> Result<bool, ChannelError> {
            let was = connectors::lock(tx, &id)?;
            let was = was.ok_or_else(|| ChannelError::NoConnector(id.clone()))?;
            let mut is = was.clone();
            change(&mut is, now);
            keep_clock(&mut is, now);
            if is == was {
                return Ok(false);
            }
            is.version += 1;
            connectors::save(tx, &is)?;
            tx.notify(TOPIC);
            // What could not go out before may be due.
            tx.notify(crate::outbox::TOPIC);
            Ok(true)
        };
        self.db.try_write(write).await
    }
}

/// What waits in the queue does not grow old while nothing may go out.
fn keep_clock(connector: &mut Connector, now: Timestamp) {
    let locked_out = match connector.readiness {
        ConnectorReadiness::Ready => false,
        ConnectorReadiness::MissingCredential
        | ConnectorReadiness::AuthFailed
        | ConnectorReadiness::Misconfigured => true,
    };
    let stopped = locked_out || connector.paused_at.is_some() || !connector.enabled;
    match (stopped, connector.stopped_since) {
        (true, None) => connector.stopped_since = Some(now),
        (false, Some(since)) => {
            let before = connector.stopped_before.as_millis();
            let more = now.since(since).as_millis();
            connector.stopped_before = Duration::from_millis(before.saturating_add(more));
            connector.stopped_since = None;
        }
        (true, Some(_)) | (false, None) => {}
    }
}
