//! The worker of a node: takes runs that are due, and looks after those that it has.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use palyra_common::ids::RunId;
use palyra_common::time::Timestamp;
use palyra_connector_core::Pulse;
use palyra_storage::lease::{Lease, LeaseName, end_if_over, is_held};
use palyra_storage::{StorageError, Tx};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;

use super::drive::Held;
use super::hands::Hands;
use super::signal::Call;
use super::{EngineOptions, TOPIC, children, unreadable};
use crate::approvals::expire_overdue;
use crate::auxiliary;
use crate::store::run_signals;
use crate::store::runs::{self, Run};

/// How often to look without having been told: a notice can be missed, and a node can die.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// How long to leave a run alone that could not be worked on.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);
/// How often that is doubled, at most.
const MOST_DOUBLED: u32 = 6;
/// How long what is under way may go on at the stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Works on the runs that this node has room for.
pub struct Engine {
    options: Arc<EngineOptions>,
    hands: Hands,
    pulse: Pulse,
}

struct Worker {
    options: Arc<EngineOptions>,
    hands: Hands,
    pulse: Pulse,
    lease: Lease,
    tasks: JoinSet<Outcome>,
    active: HashMap<RunId, Arc<Call>>,
    by_task: HashMap<Id, RunId>,
    /// Runs that are ours again before the task that let them go has ended.
    again: HashSet<RunId>,
    /// When to look for what nobody tells of: runs of workers that are gone, our own that nothing
    /// drives, questions whose time is up.
    thoroughly_at: Instant,
    /// When the time of a question is up.
    expiry: Option<Timestamp>,
}

/// What became of a run that was driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It is no longer this worker's.
    LetGo,
    /// It still is.
    Kept,
}

impl Engine {
    /// An engine that does not run yet.
    pub fn new(options: EngineOptions) -> Self {
        let pulse = Pulse::new(options.clock.now());
        Self { options: Arc::new(options), hands: Hands::default(), pulse }
    }

    /// What it offers, for those who bring work.
    pub fn hands(&self) -> Hands {
        self.hands.clone()
    }

    /// Whether it works, for whoever asks.
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Runs until `shutdown`, then lets what is under way end for a moment, and gives the rest back.
    /// What is asked for on the side is done beside the runs.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let side_calls = auxiliary::Worker::new(self.options.clone());
        // Both are told at once, so that they end within the same time.
        let shutdown = async move {
            shutdown.await;
            drop(stop);
        };
        let stopped = async {
            let _ = stopped.await;
        };
        tokio::join!(self.work_on_runs(shutdown), side_calls.run(stopped));
    }

    async fn work_on_runs(self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        loop {
            let lease = tokio::select! {
                lease = self.lease() => lease,
                () = &mut shutdown => return,
            };
            let worker = Worker {
                options: self.options.clone(),
                hands: self.hands.clone(),
                pulse: self.pulse.clone(),
                lease,
                tasks: JoinSet::new(),
                active: HashMap::new(),
                by_task: HashMap::new(),
                again: HashSet::new(),
                thoroughly_at: Instant::now(),
                expiry: None,
            };
            if worker.work(&mut shutdown).await {
                return;
            }
        }
    }

    /// The lease under which this node works.
    async fn lease(&self) -> Lease {
        let name = LeaseName::new(format!("engine:{}", self.options.db.incarnation()));
        loop {
            match self.options.leases.try_take(&name).await {
                Ok(Some(lease)) => return lease,
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "no runs can be taken now; trying again"),
            }
            tokio::time::sleep(AFTER_TROUBLE).await;
        }
    }
}

impl Worker {
    /// Works until the lease is lost, or `shutdown`: then it says so.
    async fn work(mut self, shutdown: &mut (impl Future<Output = ()> + Unpin)) -> bool {
        let mut told = self.options.db.subscribe(TOPIC);
        let mut look_at = Instant::now();
        loop {
            let was_full = self.room() == 0;
            let looks = tokio::select! {
                () = told.changed() => true,
                () = tokio::time::sleep_until(look_at) => true,
                // Whatever else there is to do was found before, if there was room for it.
                Some(ended) = self.tasks.join_next_with_id() => self.have_ended(ended) || was_full,
                () = &mut *shutdown => {
                    self.stop().await;
                    return true;
                }
            };
            if !self.options.leases.holds(&self.lease) {
                // Whoever frees our runs is right to: nothing that we still write counts.
                self.hands.withdraw();
                self.tasks.shutdown().await;
                return false;
            }
            if looks {
                look_at = Instant::now() + self.look_after().await;
            }
            self.hands.offer(self.lease.token(), self.room());
        }
    }

    /// Looks after runs. Says for how long that will do.
    async fn look_after(&mut self) -> Duration {
        match self.look().await {
            Ok(due) => {
                let now = self.options.clock.now();
                self.pulse.beat(now);
                let until = due.map_or(LOOK_AT_LEAST_EVERY, |due| due.since(now).into());
                until.clamp(Duration::from_millis(5), LOOK_AT_LEAST_EVERY)
            }
            Err(error) => {
                tracing::warn!(%error, "runs could not be looked after; trying again");
                self.thoroughly_at = Instant::now();
                AFTER_TROUBLE
            }
        }
    }

    /// Takes what is due and there is room for. Says when to look again.
    async fn look(&mut self) -> Result<Option<Timestamp>, StorageError> {
        let (now, token) = (self.options.clock.now(), self.lease.token());
        let is_up = self.expiry.is_some_and(|expiry| expiry <= now);
        let thoroughly = is_up || self.thoroughly_at <= Instant::now();
        let read = move |tx: &mut Tx<'_>| {
            let (mine, gone) = match thoroughly {
                true => (runs::of_worker(tx, token)?, gone(tx, token, now)?),
                false => (runs::new_of_worker(tx, token)?, Vec::new()),
            };
            Ok((mine, gone, run_signals::for_worker(tx, token)?, runs::next_due(tx)?))
        };
        let (mine, gone, signalled, mut due) = self.options.db.read(read).await?;
        signalled.iter().filter_map(|run| self.active.get(run)).for_each(|run| run.call());
        for run in mine {
            if !self.active.contains_key(&run.id) && self.room() > 0 {
                self.begin(run);
            }
        }
        let room = u32::try_from(self.room()).unwrap_or(u32::MAX);
        let claimable = due.is_some_and(|due| due <= now) || !gone.is_empty();
        if room > 0 && claimable {
            let lease = self.lease.clone();
            let claim = move |tx: &mut Tx<'_>| {
                lease.fence(tx)?;
                for worker in &gone {
                    if end_if_over(tx, *worker, now)? {
                        runs::free(tx, *worker, now)?;
                    }
                }
                Ok((runs::claim(tx, token, now, room)?, runs::next_due(tx)?))
            };
            let (claimed, next) = self.options.db.write(claim).await?;
            claimed.into_iter().for_each(|run| self.begin(run));
            due = next;
        }
        if thoroughly {
            children::end_those_at_rest(&self.options.db, now).await?;
            self.expiry = expire_overdue(&self.options.db, now).await?;
            self.thoroughly_at = Instant::now() + LOOK_AT_LEAST_EVERY;
        }
        Ok(due.filter(|_| self.room() > 0).into_iter().chain(self.expiry).min())
    }

    fn room(&self) -> usize {
        self.options.capacity.saturating_sub(self.active.len())
    }

    fn begin(&mut self, run: Run) {
        if self.active.contains_key(&run.id) {
            self.again.insert(run.id);
            return;
        }
        let (id, signalled) = (run.id, Arc::new(Call::default()));
        let (options, worker) = (self.options.clone(), self.lease.token());
        let hands = self.hands.clone();
        self.active.insert(id, signalled.clone());
        let task = self.tasks.spawn(async move {
            let (db, stumbled) = (options.db.clone(), run.recoveries);
            if let Some(outcome) = drive(options, worker, run, signalled).await {
                if outcome == Outcome::LetGo {
                    hands.give_back();
                }
                return outcome;
            }
            // Where the database is in trouble, nothing is counted.
            if let Err(error) = db.write(move |tx| runs::stumble(tx, id, worker)).await {
                tracing::warn!(run = %id, %error, "a run that stumbled could not be counted");
            }
            tokio::time::sleep(AFTER_TROUBLE * 2_u32.pow(stumbled.min(MOST_DOUBLED))).await;
            Outcome::Kept
        });
        self.by_task.insert(task.id(), id);
    }

    /// One and whatever else has ended: there is room for as many at once. Says whether there is
    /// something to look for.
    fn have_ended(&mut self, first: Result<(Id, Outcome), tokio::task::JoinError>) -> bool {
        let mut looks = self.has_ended(first);
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            looks |= self.has_ended(ended);
        }
        looks
    }

    /// Says whether there is something to look for.
    fn has_ended(&mut self, ended: Result<(Id, Outcome), tokio::task::JoinError>) -> bool {
        let (id, outcome) = match &ended {
            Ok((id, outcome)) => (*id, *outcome),
            Err(error) => (error.id(), Outcome::Kept),
        };
        let Some(run) = self.by_task.remove(&id) else { return false };
        self.active.remove(&run);
        if let Err(error) = ended {
            tracing::error!(%run, %error, "working on a run did not end well");
        }
        let is_ours = self.again.remove(&run) || outcome == Outcome::Kept;
        if is_ours {
            self.thoroughly_at = Instant::now();
        }
        is_ours
    }

    async fn stop(mut self) {
        self.hands.withdraw();
        let end = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, end).await.is_err() {
            self.tasks.shutdown().await;
        }
        let (now, token) = (self.options.clock.now(), self.lease.token());
        let give_back = move |tx: &mut Tx<'_>| {
            for run in runs::of_worker(tx, token)? {
                runs::give_back(tx, run.id, token, now)?;
            }
            Ok(())
        };
        if let Err(error) = self.options.db.write(give_back).await {
            tracing::warn!(%error, "runs could not be given back; others take them over");
        }
        if let Err(error) = self.options.leases.release(self.lease).await {
            tracing::warn!(%error, "the lease of the engine could not be given back");
        }
    }
}

/// The workers that have runs and no lease any more.
fn gone(tx: &mut Tx<'_>, own: i64, now: Timestamp) -> Result<Vec<i64>, StorageError> {
    let mut gone = Vec::new();
    for worker in runs::workers(tx)? {
        if worker != own && !is_held(tx, worker, now)? {
            gone.push(worker);
        }
    }
    Ok(gone)
}

/// Works on a run. Nothing: something is wrong with it. What is wrong with the database passes, and
/// what is wrong with a run, or with us, is met again by whoever tries it again.
async fn drive(
    options: Arc<EngineOptions>,
    worker: i64,
    run: Run,
    signalled: Arc<Call>,
) -> Option<Outcome> {
    let id = run.id;
    let driven = async {
        match Held::load(options.clone(), worker, run.clone(), signalled).await {
            Ok(held) => held.drive().await,
            Err(error) if unreadable::is_given_up(&run, &error) => {
                tracing::warn!(run = %id, %error, "a run cannot be read, and is given up");
                unreadable::give_up(&options, worker, run).await
            }
            Err(error) => Err(error),
        }
    };
    // A tool that panics ends its run, after some tries, and not the others of this node.
    match AssertUnwindSafe(driven).catch_unwind().await {
        Ok(Ok(true)) => Some(Outcome::LetGo),
        Ok(Ok(false)) => Some(Outcome::Kept),
        Ok(Err(error)) => {
            tracing::warn!(run = %id, %error, "a run could not be worked on; trying again");
            let passes = error.envelope().retryable();
            if passes {
                tokio::time::sleep(AFTER_TROUBLE).await;
            }
            passes.then_some(Outcome::Kept)
        }
        Err(_) => {
            tracing::error!(run = %id, "working on a run panicked; trying again");
            None
        }
    }
}
