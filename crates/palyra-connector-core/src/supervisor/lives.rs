//! Which connectors run here.

use std::collections::HashMap;
use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::queue::Backoff;
use palyra_common::runtime_contracts::{
    ConnectorContact, ConnectorEventKind, ConnectorLiveness, ConnectorReadiness,
};
use palyra_common::time::{Duration, Timestamp};
use palyra_policy::connector::{self, Action, Ended, Event, Rules, Wanted, contact, silent_since};
use palyra_storage::lease::{Lease, LeaseName};
use palyra_storage::{EngineKind, StorageError};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::Shared;
use super::status::{Said, TELL_EVERY};
use super::worker::{self, Held};
use crate::adapter::End;
use crate::store::connectors::Connector;

const RULES: Rules = Rules {
    backoff: Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) },
    stable_after: Duration::from_mins(10),
};

/// When to ask again for a lease that another node has.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// One connector, as this node sees it.
struct Life {
    row: Arc<Connector>,
    state: connector::Connector,
    held: Option<Held>,
    running: Option<Running>,
    restarts: i64,
    last_error: Option<(String, Timestamp)>,
    /// What everybody was told that its task does.
    told: ConnectorLiveness,
    /// Whether its platform was heard when that was last looked at.
    contact: ConnectorContact,
}

struct Running {
    task: Id,
    /// What it was started with.
    row: Arc<Connector>,
    stop: watch::Sender<bool>,
    wake: Arc<Notify>,
}

/// How the task of a worker ended.
pub(super) type WorkerEnd = Result<(Id, End), JoinError>;

pub(super) struct Lives {
    shared: Arc<Shared>,
    lives: HashMap<ConnectorId, Life>,
    tasks: JoinSet<End>,
    told_at: Timestamp,
}

impl Lives {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let told_at = shared.clock.now();
        Self { shared, lives: HashMap::new(), tasks: JoinSet::new(), told_at }
    }

    /// Compares what runs with what is wanted.
    pub(super) async fn look(&mut self) -> Result<(), StorageError> {
        let rows = self.shared.connectors.list().await?;
        self.lives.retain(|id, life| {
            // A connector that is gone ends first; its row is looked for again then.
            life.running.is_some() || rows.iter().any(|row| row.id == *id)
        });
        for row in rows {
            self.look_at(row).await?;
        }
        self.tell_connections().await?;
        self.wake_due().await
    }

    /// Where nodes share a database: how the connections of this one are.
    async fn tell_connections(&mut self) -> Result<(), StorageError> {
        let now = self.shared.clock.now();
        let shared = self.shared.db.engine() == EngineKind::Postgres;
        if !shared || now.since(self.told_at) < TELL_EVERY {
            return Ok(());
        }
        self.told_at = now;
        let running = self.lives.iter().filter(|(_, life)| life.running.is_some());
        let said = running.filter_map(|(id, life)| life.said(id, None)).collect();
        self.shared.statuses.tell(said).await
    }

    async fn look_at(&mut self, row: Connector) -> Result<(), StorageError> {
        let id = row.id.clone();
        let events = match self.lives.get_mut(&id) {
            None => {
                let wanted = Wanted::Off;
                let state = connector::Connector::new(wanted);
                let life = Life {
                    row: Arc::new(row),
                    state,
                    held: None,
                    running: None,
                    restarts: 0,
                    last_error: None,
                    told: ConnectorLiveness::Stopped,
                    contact: ConnectorContact::None,
                };
                let life = self.lives.entry(id.clone()).or_insert(life);
                vec![wish(&life.row)]
            }
            Some(life) => {
                let mut events = Vec::new();
                let lacks = row.readiness != ConnectorReadiness::Ready;
                if life.row.enabled != row.enabled || (lacks && life.running.is_none()) {
                    events.push(wish(&row));
                } else if (&life.row.settings, life.row.queue) != (&row.settings, row.queue)
                    || is_to_be_tried_again(life, &row)
                {
                    events.push(Event::Changed);
                }
                life.row = Arc::new(row);
                events.extend(connection_event(&self.shared, &id, life));
                if let (Some(held), Some(running)) = (&life.held, &life.running)
                    && !self.shared.leases.holds(&held.lease)
                {
                    tracing::warn!(connector = %id, "the lease of a connector was lost");
                    running.stop.send_replace(true);
                    life.held = None;
                }
                events.push(Event::Due);
                events
            }
        };
        for event in events {
            self.happens(&id, event).await?;
        }
        self.listen(&id).await;
        self.give_back_if_unwanted(&id).await;
        Ok(())
    }

    /// Tells when a platform is not heard any more, and when it is again.
    async fn listen(&mut self, id: &ConnectorId) {
        let now = self.shared.clock.now();
        let connection = self.shared.statuses.connection(id).unwrap_or_default();
        let facts = connection.contact_facts();
        let Some(life) = self.lives.get_mut(id) else { return };
        let was = std::mem::replace(&mut life.contact, contact(&facts, now));
        let event = match (was, life.contact) {
            (ConnectorContact::None | ConnectorContact::Heard, ConnectorContact::Silent) => {
                let since = silent_since(&facts, now).unwrap_or(now);
                Some((ConnectorEventKind::Silent, Some(format!("since {since}"))))
            }
            (ConnectorContact::Silent, ConnectorContact::Heard) => {
                Some((ConnectorEventKind::HeardAgain, None))
            }
            (ConnectorContact::Silent, ConnectorContact::None | ConnectorContact::Silent)
            | (_, ConnectorContact::None | ConnectorContact::Heard) => None,
        };
        if event.is_some() {
            tracing::warn!(connector = %id, ?event, "whether the platform is heard has changed");
            life.tell(&self.shared, id, event).await;
        }
    }

    /// Decides what an event means for a connector, and does it.
    async fn happens(&mut self, id: &ConnectorId, event: Event) -> Result<(), StorageError> {
        let (now, chance) = (self.shared.clock.now(), self.shared.dice.roll());
        let Some(life) = self.lives.get_mut(id) else { return Ok(()) };
        let (state, action) = connector::step(&life.state, event, &RULES, now, chance);
        life.state = state;
        match action {
            Action::Nothing => {}
            Action::Stop => {
                if let Some(running) = &life.running {
                    running.stop.send_replace(true);
                }
            }
            Action::Start => {
                // Whatever comes of the lease, nothing runs yet.
                let started = life.state;
                life.state = not_started(started, now + ASK_AGAIN);
                // One that waited to be started may have lost its lease meanwhile.
                life.held.take_if(|held| !self.shared.leases.holds(&held.lease));
                if life.held.is_none() {
                    let name = LeaseName::new(format!("connector:{id}"));
                    let taken = self.shared.leases.try_take(&name).await?;
                    life.held = taken.map(|lease| Held { lease, since: Instant::now() });
                }
                // Whoever had the lease may have written down what it lacks since that was read. What
                // else has changed since is what it starts with.
                if let Some(held) = life.held.clone()
                    && let Ok(is) = self.shared.connectors.get(id).await
                    && matches!(wish(&is), Event::Enabled)
                {
                    let row = Arc::new(is);
                    life.row = row.clone();
                    life.running = Some(start(&self.shared, &mut self.tasks, row, held));
                    life.state = started;
                    life.tell(&self.shared, id, Some((ConnectorEventKind::Started, None))).await;
                }
            }
        }
        if life.held.is_some() && life.told != life.state.liveness {
            life.tell(&self.shared, id, None).await;
        }
        Ok(())
    }

    /// Wakes those that have something due.
    pub(super) async fn wake_due(&mut self) -> Result<(), StorageError> {
        for id in self.shared.outbox.due_connectors().await? {
            if let Some(running) = self.lives.get(&id).and_then(|life| life.running.as_ref()) {
                running.wake.notify_one();
            }
        }
        Ok(())
    }

    /// Waits for a worker to end. May be dropped at any time.
    pub(super) async fn ended(&mut self) -> WorkerEnd {
        match self.tasks.join_next_with_id().await {
            Some(ended) => ended,
            None => std::future::pending().await,
        }
    }

    /// Writes down why a worker has ended, and decides what follows.
    pub(super) async fn has_ended(&mut self, ended: WorkerEnd) -> Result<(), StorageError> {
        let (task, end) = match ended {
            Ok((task, end)) => (task, end),
            Err(error) => (error.id(), End::Lost(format!("its task failed: {error}").into())),
        };
        let owner = self.lives.iter().find_map(|(id, life)| {
            let running = life.running.as_ref()?;
            (running.task == task).then(|| id.clone())
        });
        let Some(id) = owner else { return Ok(()) };
        let running = self.lives.get_mut(&id).and_then(|life| life.running.take());
        let Some(Running { row, .. }) = running else { return Ok(()) };
        let (ended, reason) = self.keep_unready(&row, end).await;
        self.keep_end(&id, ended, reason);
        self.happens(&id, Event::Ended(ended)).await?;
        self.tell_end(&id, ended).await;
        self.give_back_if_unwanted(&id).await;
        self.look().await
    }

    /// Writes down what a connector lacks. With other settings by now it may lack nothing; and if it
    /// cannot be written down, it is found out again by trying.
    async fn keep_unready(&self, row: &Arc<Connector>, end: End) -> (Ended, Option<String>) {
        let (ended, readiness, reason) = told(end);
        if let Some(reason) = &reason {
            tracing::warn!(connector = %row.id, reason, "a connector has ended");
        }
        match self.shared.connectors.set_unready(row, readiness, reason.clone()).await {
            Ok(true) => (ended, reason),
            Ok(false) => (Ended::AsAsked, None),
            Err(error) => {
                tracing::warn!(connector = %row.id, %error, "why it ended could not be kept");
                (Ended::Crashed, reason)
            }
        }
    }

    fn keep_end(&mut self, id: &ConnectorId, ended: Ended, reason: Option<String>) {
        let now = self.shared.clock.now();
        let Some(life) = self.lives.get_mut(id) else { return };
        life.restarts += i64::from(ended == Ended::Crashed);
        life.last_error = reason.map(|reason| (reason, now)).or(life.last_error.take());
    }

    async fn tell_end(&mut self, id: &ConnectorId, ended: Ended) {
        let Some(life) = self.lives.get_mut(id) else { return };
        let event = match ended {
            Ended::AsAsked => Some((ConnectorEventKind::Stopped, None)),
            Ended::Crashed => {
                let why = life.last_error.as_ref().map(|(reason, _)| reason.clone());
                Some((ConnectorEventKind::Lost, why))
            }
            // Their events are told with the change of readiness.
            Ended::AuthFailed | Ended::MissingCredential | Ended::Misconfigured => None,
        };
        if event.is_some() {
            life.tell(&self.shared, id, event).await;
        }
    }

    async fn give_back_if_unwanted(&mut self, id: &ConnectorId) {
        let Some(life) = self.lives.get_mut(id) else { return };
        if life.running.is_none()
            && life.state.start_at.is_none()
            && let Some(held) = life.held.take()
        {
            release(&self.shared, held.lease).await;
        }
    }

    /// Stops all of them, and gives the leases back.
    pub(super) async fn stop(mut self) {
        for life in self.lives.values() {
            if let Some(running) = &life.running {
                running.stop.send_replace(true);
            }
        }
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a connector did not end well");
            }
        }
        let ran = self.lives.iter().filter(|(_, life)| life.running.is_some());
        let stopped = Some((ConnectorEventKind::Stopped, None));
        let said = ran.filter_map(|(id, life)| {
            let said = life.said(id, stopped.clone())?;
            Some(Said { liveness: ConnectorLiveness::Stopped, ..said })
        });
        if let Err(error) = self.shared.statuses.tell(said.collect()).await {
            tracing::warn!(%error, "that connectors were stopped could not be kept");
        }
        for held in self.lives.into_values().filter_map(|life| life.held) {
            release(&self.shared, held.lease).await;
        }
    }
}

impl Life {
    /// What there is to say, which is nothing where another node may have it.
    fn said(
        &self,
        id: &ConnectorId,
        event: Option<(ConnectorEventKind, Option<String>)>,
    ) -> Option<Said> {
        let held = self.held.as_ref()?;
        Some(Said {
            connector: id.clone(),
            lease: held.lease.clone(),
            liveness: self.state.liveness,
            restarts: self.restarts,
            last_error: self.last_error.clone(),
            event,
        })
    }

    /// Writes down how it does. It works without being told about, too.
    async fn tell(
        &mut self,
        shared: &Shared,
        id: &ConnectorId,
        event: Option<(ConnectorEventKind, Option<String>)>,
    ) {
        self.told = self.state.liveness;
        let said = self.said(id, event).into_iter().collect();
        if let Err(error) = shared.statuses.tell(said).await {
            tracing::warn!(connector = %id, %error, "how a connector does could not be kept");
        }
    }
}

/// Whether somebody has given a connector what it lacked.
fn is_to_be_tried_again(life: &Life, is: &Connector) -> bool {
    let lacked = [life.row.readiness, life.state.readiness];
    is.readiness == ConnectorReadiness::Ready && lacked != [ConnectorReadiness::Ready; 2]
}

/// What the adapter says about its connection, if that is new.
fn connection_event(shared: &Shared, id: &ConnectorId, life: &Life) -> Option<Event> {
    life.running.as_ref()?;
    let connected = shared.statuses.connection(id)?.connected_since.is_some();
    match (life.state.liveness, connected) {
        (ConnectorLiveness::Starting | ConnectorLiveness::Restarting, true) => {
            Some(Event::Connected)
        }
        (ConnectorLiveness::Running, false) => Some(Event::Reconnecting),
        (ConnectorLiveness::Starting | ConnectorLiveness::Restarting, false)
        | (ConnectorLiveness::Running, true)
        | (ConnectorLiveness::Stopped | ConnectorLiveness::Crashed, true | false) => None,
    }
}

fn start(
    shared: &Arc<Shared>,
    tasks: &mut JoinSet<End>,
    row: Arc<Connector>,
    held: Held,
) -> Running {
    let (stop, stopped) = watch::channel(false);
    let wake = Arc::new(Notify::new());
    let work = worker::run(shared.clone(), row.clone(), held, stopped, wake.clone());
    let outgoing = shared.outgoing.clone();
    let task = tasks.spawn(async move { work.await.cleaned(&*outgoing) });
    Running { task: task.id(), row, stop, wake }
}

async fn release(shared: &Shared, lease: Lease) {
    if let Err(error) = shared.leases.release(lease).await {
        tracing::warn!(%error, "the lease of a connector is left to expire");
    }
}

/// What is to become of it, as far as is known. Whatever another node or an earlier life has found it to
/// lack, it lacks until somebody changes something.
fn wish(row: &Connector) -> Event {
    match (row.enabled, row.readiness) {
        (false, _) => Event::Disabled,
        (true, ConnectorReadiness::Ready) => Event::Enabled,
        (true, lacks) => Event::Lacks(lacks),
    }
}

/// Another node has it, or the database does not tell: it is asked for again.
fn not_started(state: connector::Connector, again: Timestamp) -> connector::Connector {
    let liveness = ConnectorLiveness::Stopped;
    connector::Connector { liveness, start_at: Some(again), ..state }
}

fn told(end: End) -> (Ended, ConnectorReadiness, Option<String>) {
    match end {
        End::AsAsked => (Ended::AsAsked, ConnectorReadiness::Ready, None),
        End::Lost(reason) => (Ended::Crashed, ConnectorReadiness::Ready, Some(reason.into())),
        End::AuthFailed(reason) => {
            (Ended::AuthFailed, ConnectorReadiness::AuthFailed, Some(reason.into()))
        }
        End::MissingCredential(reason) => {
            (Ended::MissingCredential, ConnectorReadiness::MissingCredential, Some(reason.into()))
        }
        End::Misconfigured(reason) => {
            (Ended::Misconfigured, ConnectorReadiness::Misconfigured, Some(reason.into()))
        }
    }
}
