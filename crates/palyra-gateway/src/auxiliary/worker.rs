//! The worker of a node for tasks by themselves: takes what is due, and what others have left.

use std::sync::Arc;
use std::time::Duration;

use palyra_common::time::Timestamp;
use palyra_storage::lease::{Lease, LeaseName, end_if_over, is_held};
use palyra_storage::{StorageError, Tx};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::perform::{perform, return_lost};
use super::{LOOK_EVERY, TOPIC};
use crate::engine::EngineOptions;
use crate::error::GatewayError;
use crate::store::auxiliary_tasks::{self, AuxiliaryTask};

/// How many tasks a node works on at once: they wait for models, and nobody waits for them.
const CAPACITY: usize = 4;
/// How long to wait when the database is in trouble.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);
/// How long what is under way may go on at the stop.
const DRAIN: Duration = Duration::from_secs(2);

/// Does tasks. It takes a lease when there is one, and spends nothing while there is none.
pub(crate) struct Worker {
    options: Arc<EngineOptions>,
    lease: Option<Lease>,
    tasks: JoinSet<()>,
}

/// What there is to do.
struct Seen {
    due: Option<Timestamp>,
    /// Workers that have tasks and no lease any more.
    gone: Vec<i64>,
}

impl Worker {
    pub(crate) fn new(options: Arc<EngineOptions>) -> Self {
        Self { options, lease: None, tasks: JoinSet::new() }
    }

    /// Works until `shutdown`, then lets what is under way end for a moment, and gives the rest back.
    pub(crate) async fn run(mut self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let mut told = self.options.db.subscribe(TOPIC);
        let mut look_at = Instant::now();
        loop {
            tokio::select! {
                () = told.changed() => {}
                () = tokio::time::sleep_until(look_at) => {}
                Some(ended) = self.tasks.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "a side call did not end well");
                    }
                }
                () = &mut shutdown => {
                    self.stop().await;
                    return;
                }
            }
            look_at = Instant::now() + self.look_after().await;
        }
    }

    async fn look_after(&mut self) -> Duration {
        match self.look().await {
            Ok(due) => {
                let now = self.options.clock.now();
                let until = due.map_or(LOOK_EVERY, |due| due.since(now).into());
                until.clamp(Duration::from_millis(5), LOOK_EVERY)
            }
            Err(error) => {
                tracing::warn!(%error, "side calls could not be looked after; trying again");
                AFTER_TROUBLE
            }
        }
    }

    /// Takes what is due and there is room for. Says when to look again.
    async fn look(&mut self) -> Result<Option<Timestamp>, GatewayError> {
        if self.lease.as_ref().is_some_and(|lease| !self.options.leases.holds(lease)) {
            // Whoever takes our tasks is right to: nothing that we still write counts.
            self.tasks.shutdown().await;
            self.lease = None;
        }
        let now = self.options.clock.now();
        let own = self.lease.as_ref().map(Lease::token);
        let seen = self.options.db.read(move |tx| seen(tx, own, now)).await?;
        for worker in seen.gone {
            self.take_back(worker, now).await?;
        }
        let room = CAPACITY.saturating_sub(self.tasks.len());
        if room == 0 || seen.due.is_none_or(|due| due > now) {
            return Ok(seen.due.filter(|_| room > 0));
        }
        let Some(lease) = self.lease().await? else { return Ok(None) };
        let (token, room) = (lease.token(), u32::try_from(room).unwrap_or(u32::MAX));
        let claim = move |tx: &mut Tx<'_>| {
            lease.fence(tx)?;
            Ok((auxiliary_tasks::claim(tx, token, now, room)?, auxiliary_tasks::next_due(tx)?))
        };
        let (claimed, due) = self.options.db.write(claim).await?;
        for task in claimed {
            self.tasks.spawn(done(self.options.clone(), token, task));
        }
        Ok(due)
    }

    async fn lease(&mut self) -> Result<Option<Lease>, StorageError> {
        if self.lease.is_none() {
            let name = LeaseName::new(format!("auxiliary:{}", self.options.db.incarnation()));
            self.lease = self.options.leases.try_take(&name).await?;
        }
        Ok(self.lease.clone())
    }

    /// What a worker has left that is gone.
    async fn take_back(&self, worker: i64, now: Timestamp) -> Result<(), GatewayError> {
        let take = move |tx: &mut Tx<'_>| -> Result<(), GatewayError> {
            match end_if_over(tx, worker, now)? {
                true => return_lost(tx, worker, now),
                false => Ok(()),
            }
        };
        self.options.db.try_write(take).await
    }

    async fn stop(mut self) {
        let end = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, end).await.is_err() {
            self.tasks.shutdown().await;
        }
        let Some(lease) = self.lease else { return };
        let (now, token) = (self.options.clock.now(), lease.token());
        let give_back = move |tx: &mut Tx<'_>| return_lost(tx, token, now);
        if let Err(error) = self.options.db.try_write(give_back).await {
            tracing::warn!(%error, "side calls could not be given back; others take them over");
        }
        if let Err(error) = self.options.leases.release(lease).await {
            tracing::warn!(%error, "the lease of side calls could not be given back");
        }
    }
}

fn seen(tx: &mut Tx<'_>, own: Option<i64>, now: Timestamp) -> Result<Seen, StorageError> {
    let mut gone = Vec::new();
    for worker in auxiliary_tasks::workers(tx)? {
        if own != Some(worker) && !is_held(tx, worker, now)? {
            gone.push(worker);
        }
    }
    Ok(Seen { due: auxiliary_tasks::next_due(tx)?, gone })
}

async fn done(options: Arc<EngineOptions>, worker: i64, task: AuxiliaryTask) {
    let id = task.id;
    if let Err(error) = perform(&options, worker, task).await {
        tracing::warn!(task = %id, %error, "a side call could not be made; trying again");
        tokio::time::sleep(AFTER_TROUBLE).await;
        let now = options.clock.now();
        let give_back = move |tx: &mut Tx<'_>| super::perform::return_one(tx, worker, id, now);
        if let Err(error) = options.db.try_write(give_back).await {
            tracing::warn!(task = %id, %error, "a side call could not be put off");
        }
    }
}
