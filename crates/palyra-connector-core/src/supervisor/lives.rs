//! Which connectors run here.

use std::collections::HashMap;
use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::ConnectorReadiness;
use palyra_common::time::Duration;
use palyra_policy::backoff::Backoff;
use palyra_policy::connector::{self, Action, Ended, Event, Rules, Wanted};
use palyra_storage::StorageError;
use palyra_storage::lease::{Lease, LeaseName};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinError, JoinSet};

use super::Shared;
use super::worker;
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
    lease: Option<Lease>,
    running: Option<Running>,
}

struct Running {
    task: Id,
    stop: watch::Sender<bool>,
    wake: Arc<Notify>,
}

/// How the task of a worker ended.
pub(super) type WorkerEnd = Result<(Id, End), JoinError>;

pub(super) struct Lives {
    shared: Arc<Shared>,
    lives: HashMap<ConnectorId, Life>,
    tasks: JoinSet<End>,
}

impl Lives {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, lives: HashMap::new(), tasks: JoinSet::new() }
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
        self.wake_due().await
    }

    async fn look_at(&mut self, row: Connector) -> Result<(), StorageError> {
        let id = row.id.clone();
        let events = match self.lives.get_mut(&id) {
            None => {
                let wanted = Wanted::Off;
                let state = connector::Connector::new(wanted);
                let life = Life { row: Arc::new(row), state, lease: None, running: None };
                let life = self.lives.entry(id.clone()).or_insert(life);
                vec![wish(&life.row)]
            }
            Some(life) => {
                let mut events = Vec::new();
                if life.row.enabled != row.enabled {
                    events.push(wish(&row));
                } else if (&life.row.settings, life.row.queue) != (&row.settings, row.queue) {
                    events.push(Event::Changed);
                }
                life.row = Arc::new(row);
                if let (Some(lease), Some(running)) = (&life.lease, &life.running)
                    && !self.shared.leases.holds(lease)
                {
                    tracing::warn!(connector = %id, "the lease of a connector was lost");
                    running.stop.send_replace(true);
                    life.lease = None;
                }
                events.push(Event::Due);
                events
            }
        };
        for event in events {
            self.happens(&id, event).await?;
        }
        Ok(())
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
                if life.lease.is_none() {
                    let name = LeaseName::new(format!("connector:{id}"));
                    life.lease = self.shared.leases.try_take(&name).await?;
                }
                if let Some(lease) = life.lease.clone() {
                    let row = life.row.clone();
                    life.running = Some(start(&self.shared, &mut self.tasks, row, lease));
                    life.state = started;
                }
            }
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
            Err(error) => (error.id(), End::Lost(format!("its task failed: {error}"))),
        };
        let owner = self.lives.iter().find_map(|(id, life)| {
            let running = life.running.as_ref()?;
            (running.task == task).then(|| id.clone())
        });
        let Some(id) = owner else { return Ok(()) };
        if let Some(life) = self.lives.get_mut(&id) {
            life.running = None;
        }
        let (ended, readiness, reason) = told(end);
        if let Some(reason) = &reason {
            tracing::warn!(connector = %id, reason, "a connector has ended");
        }
        if readiness != ConnectorReadiness::Ready
            && let Err(error) = self.shared.connectors.set_readiness(&id, readiness, reason).await
        {
            tracing::warn!(connector = %id, %error, "why a connector ended could not be kept");
        }
        self.happens(&id, Event::Ended(ended)).await?;
        self.give_back_if_unwanted(&id).await;
        self.look().await
    }

    async fn give_back_if_unwanted(&mut self, id: &ConnectorId) {
        let Some(life) = self.lives.get_mut(id) else { return };
        if life.state.start_at.is_none()
            && let Some(lease) = life.lease.take()
        {
            release(&self.shared, lease).await;
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
        for lease in self.lives.into_values().filter_map(|life| life.lease) {
            release(&self.shared, lease).await;
        }
    }
}

fn start(
    shared: &Arc<Shared>,
    tasks: &mut JoinSet<End>,
    row: Arc<Connector>,
    lease: Lease,
) -> Running {
    let (stop, stopped) = watch::channel(false);
    let wake = Arc::new(Notify::new());
    let work = worker::run(shared.clone(), row, lease, stopped, wake.clone());
    Running { task: tasks.spawn(work).id(), stop, wake }
}

async fn release(shared: &Shared, lease: Lease) {
    if let Err(error) = shared.leases.release(lease).await {
        tracing::warn!(%error, "the lease of a connector is left to expire");
    }
}

fn wish(row: &Connector) -> Event {
    if row.enabled { Event::Enabled } else { Event::Disabled }
}

/// Another node has it, or the database does not tell: it is asked for again.
fn not_started(
    state: connector::Connector,
    again: palyra_common::time::Timestamp,
) -> connector::Connector {
    let liveness = palyra_common::runtime_contracts::ConnectorLiveness::Stopped;
    connector::Connector { liveness, start_at: Some(again), ..state }
}

fn told(end: End) -> (Ended, ConnectorReadiness, Option<String>) {
    match end {
        End::AsAsked => (Ended::AsAsked, ConnectorReadiness::Ready, None),
        End::Lost(reason) => (Ended::Crashed, ConnectorReadiness::Ready, Some(reason)),
        End::AuthFailed(reason) => {
            (Ended::AuthFailed, ConnectorReadiness::AuthFailed, Some(reason))
        }
        End::MissingCredential(reason) => {
            (Ended::MissingCredential, ConnectorReadiness::MissingCredential, Some(reason))
        }
        End::Misconfigured(reason) => {
            (Ended::Misconfigured, ConnectorReadiness::Misconfigured, Some(reason))
        }
    }
}
