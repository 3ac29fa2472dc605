//! The instances that an operator has set up.

use std::sync::Arc;

use palyra_common::ids::{ConnectorId, EventId};
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{ConnectorEventKind, ConnectorReadiness};
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_storage::journal::JournalEvent;
use palyra_storage::{Database, StorageError, Topic, Tx, new_id};
use serde_json::Value;

use crate::store::connector_events::{self, ConnectorEvent};
use crate::store::connectors::{self, Connector};
use crate::{ChannelError, feed};

/// Told when a connector was set up or changed.
pub(crate) const TOPIC: Topic = Topic::new("connectors");

/// Told when a connector was started or has ended.
pub(crate) const TOPIC_STATUS: Topic = Topic::new("connector_status");

/// What an entry of the audit trail says about a change; nothing: nobody asked for it. It is written
/// if something is changed, in the same transaction.
pub type Trail = Option<JournalEvent>;

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
        trail: Trail,
    ) -> Result<bool, StorageError> {
        let (now, kind) = (self.clock.now(), kind.to_owned());
        let add = move |tx: &mut Tx<'_>| {
            let added = set_up(tx, &id, &kind, &settings, queue, now)?;
            if added {
                trail.clone().into_iter().for_each(|entry| tx.record(entry));
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

    /// What happened to a connector, the newest first, before `before`.
    pub async fn events(
        &self,
        id: &ConnectorId,
        before: Option<EventId>,
        limit: u32,
    ) -> Result<Vec<ConnectorEvent>, ChannelError> {
        let id = self.get(id).await?.id;
        Ok(self.db.read(move |tx| connector_events::list(tx, &id, before, limit)).await?)
    }

    /// Switches a connector on or off. Says whether that changed anything.
    pub async fn set_enabled(
        &self,
        id: &ConnectorId,
        enabled: bool,
        trail: Trail,
    ) -> Result<bool, ChannelError> {
        let kind = if enabled { ConnectorEventKind::Enabled } else { ConnectorEventKind::Disabled };
        let set = move |connector: &mut Connector, _| {
            connector.enabled = enabled;
            if enabled {
                // Whoever switches it on wants it to be tried again.
                (connector.readiness, connector.readiness_reason) =
                    (ConnectorReadiness::Ready, None);
            }
        };
        self.change(id, (kind, None), trail, set).await
    }

    /// Keeps what is in the queue from going out. Says whether that changed anything.
    pub async fn pause(
        &self,
        id: &ConnectorId,
        reason: &str,
        trail: Trail,
    ) -> Result<bool, ChannelError> {
        let event = (ConnectorEventKind::Paused, Some(reason.to_owned()));
        let reason = reason.to_owned();
        let pause = move |connector: &mut Connector, now| {
            if connector.paused_at.is_none() {
                connector.paused_at = Some(now);
                connector.pause_reason = Some(reason.clone());
            }
        };
        self.change(id, event, trail, pause).await
    }

    /// Lets it go out again. Says whether that changed anything.
    pub async fn resume(&self, id: &ConnectorId, trail: Trail) -> Result<bool, ChannelError> {
        let resume = |connector: &mut Connector, _| {
            (connector.paused_at, connector.pause_reason) = (None, None);
        };
        self.change(id, (ConnectorEventKind::Resumed, None), trail, resume).await
    }

    /// Writes down that a connector lacks what it needs, and why, unless it has been given other
    /// settings than those it was started with: what went wrong says nothing about them. Says
    /// whether they are the same.
    pub async fn set_unready(
        &self,
        started_with: &Arc<Connector>,
        readiness: ConnectorReadiness,
        reason: Option<String>,
    ) -> Result<bool, ChannelError> {
        let kind = match readiness {
            ConnectorReadiness::Ready => return Ok(true),
            ConnectorReadiness::AuthFailed => ConnectorEventKind::AuthFailed,
            ConnectorReadiness::MissingCredential => ConnectorEventKind::MissingCredential,
            ConnectorReadiness::Misconfigured => ConnectorEventKind::Misconfigured,
        };
        let (started_with, now) = (started_with.clone(), self.clock.now());
        let write = move |tx: &mut Tx<'_>| -> Result<bool, ChannelError> {
            let was = lock(tx, &started_with.id)?;
            if was.settings != started_with.settings {
                return Ok(false);
            }
            let (reason, event) = (reason.clone(), (kind, reason.clone()));
            let is = Connector { readiness, readiness_reason: reason, ..was.clone() };
            keep(tx, &was, is, event, None, now)?;
            Ok(true)
        };
        self.db.try_write(write).await
    }

    /// Gives a connector other settings, or its queue; nothing: they stay what they are by then. What
    /// it lacked before says nothing about these.
    pub async fn configure(
        &self,
        id: &ConnectorId,
        settings: Option<Value>,
        queue: Option<QueueSettings>,
        trail: Trail,
    ) -> Result<bool, ChannelError> {
        let set = move |connector: &mut Connector, _| {
            if let Some(settings) = &settings {
                connector.settings.clone_from(settings);
            }
            connector.queue = queue.unwrap_or(connector.queue);
            (connector.readiness, connector.readiness_reason) = (ConnectorReadiness::Ready, None);
        };
        self.change(id, (ConnectorEventKind::Configured, None), trail, set).await
    }

    async fn change(
        &self,
        id: &ConnectorId,
        (kind, detail): (ConnectorEventKind, Option<String>),
        trail: Trail,
        change: impl Fn(&mut Connector, Timestamp) + Send + Sync + 'static,
    ) -> Result<bool, ChannelError> {
        let (id, now) = (id.clone(), self.clock.now());
        let write = move |tx: &mut Tx<'_>| -> Result<bool, ChannelError> {
            let was = lock(tx, &id)?;
            let mut is = was.clone();
            change(&mut is, now);
            Ok(keep(tx, &was, is, (kind, detail.clone()), trail.clone(), now)?)
        };
        self.db.try_write(write).await
    }
}

fn lock(tx: &mut Tx<'_>, id: &ConnectorId) -> Result<Connector, ChannelError> {
    connectors::lock(tx, id)?.ok_or_else(|| ChannelError::NoConnector(id.clone()))
}

/// Writes a change down and tells of it, if it is one.
fn keep(
    tx: &mut Tx<'_>,
    was: &Connector,
    mut is: Connector,
    (kind, detail): (ConnectorEventKind, Option<String>),
    trail: Trail,
    now: Timestamp,
) -> Result<bool, StorageError> {
    keep_clock(&mut is, now);
    if is == *was {
        return Ok(false);
    }
    is.version += 1;
    connectors::save(tx, &is)?;
    note(tx, &is.id, kind, detail, now)?;
    trail.into_iter().for_each(|entry| tx.record(entry));
    tx.notify(TOPIC);
    // What could not go out before may be due.
    tx.notify(crate::outbox::TOPIC);
    Ok(true)
}

/// Sets a connector up unless there is one of this name, as part of a transaction. Says whether there
/// was none.
pub fn set_up(
    tx: &mut Tx<'_>,
    id: &ConnectorId,
    kind: &str,
    settings: &Value,
    queue: QueueSettings,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let connector = Connector {
        id: id.clone(),
        kind: kind.to_owned(),
        enabled: true,
        settings: settings.clone(),
        queue,
        readiness: ConnectorReadiness::Ready,
        readiness_reason: None,
        paused_at: None,
        pause_reason: None,
        stopped_since: None,
        stopped_before: Duration::ZERO,
        version: 1,
        created_at: now,
    };
    let added = connectors::add(tx, &connector)?;
    if added {
        note(tx, id, ConnectorEventKind::Added, None, now)?;
        tx.notify(TOPIC);
    }
    Ok(added)
}

/// One connector, for whoever decides something in a transaction.
pub fn connector(tx: &mut Tx<'_>, id: &ConnectorId) -> Result<Option<Connector>, StorageError> {
    connectors::one(tx, id)
}

/// Writes down what happened to a connector, and tells readers of the feed.
pub(crate) fn note(
    tx: &mut Tx<'_>,
    id: &ConnectorId,
    kind: ConnectorEventKind,
    detail: Option<String>,
    at: Timestamp,
) -> Result<(), StorageError> {
    feed::connector(tx, id, kind, detail.as_deref(), at);
    let event = ConnectorEvent { id: new_id(), connector: id.clone(), at, kind, detail };
    connector_events::add(tx, &event)
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
