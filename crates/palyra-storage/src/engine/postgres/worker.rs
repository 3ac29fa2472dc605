//! One connection and the thread that runs units on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::Either;
use palyra_common::ids::{EventId, IncarnationId};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::connect::{ANSWER_TIMEOUT, Dial, Link, answer};
use super::doorbell::Outgoing;
use super::fault::{Again, Fault, classify};
use super::marks::{self, Fate, Slot};
use super::statements::{Kept, PostgresStatements, commit_behind, send_all};
use crate::engine::queue::SharedQueue;
use crate::notify::Bell;
use crate::tx::{AfterCommit, Tx};
use crate::unit::{UnitOfWork, Verdict};
use crate::{StorageError, crash_point, metrics};

/// Time to find out what became of a lost COMMIT, however long the unit took before it. Longer
/// than the server keeps a transaction whose program has gone silent.
const SETTLE_TIME: Duration = Duration::from_secs(20);

/// How long a server that was not there is taken to be away without trying.
const BELIEVED_AWAY: Duration = Duration::from_secs(1);

/// What the connections of a pool are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
}

pub(crate) struct Worker {
    pub(crate) access: Access,
    pub(crate) dial: Dial,
    pub(crate) node: IncarnationId,
    pub(crate) runtime: Runtime,
    pub(crate) units: SharedQueue,
    pub(crate) bell: Arc<Bell>,
    pub(crate) outgoing: Arc<Outgoing>,
    /// How long a unit is tried while the server is away or others are in the way.
    pub(crate) retry_for: Duration,
    pub(crate) link: Option<Link>,
    /// When the last try found no server, if it did.
    pub(crate) away: Option<Instant>,
    /// The database is being closed: nothing is tried again.
    pub(crate) closed: watch::Receiver<bool>,
}

/// How one run of a unit ended, if not in an error that is worth another.
enum Ended {
    Kept(AfterCommit),
    Undone,
}

impl Worker {
    /// Works until the last handle is gone.
    pub(crate) fn run(mut self) {
        while let Some(unit) = self.units.take() {
            self.work(unit);
        }
        if let Some(link) = &self.link
            && let Some(slot) = &link.slot
        {
            // A row that stays is swept some day.
            let _ = self.runtime.block_on(answer(ANSWER_TIMEOUT, slot.close(&link.client)));
        }
    }

    fn work(&mut self, mut unit: Box<dyn UnitOfWork>) {
        let deadline = unit.submitted() + self.retry_for;
        let mut pause = Pause::default();
        let mut runs = 0;
        let answer = loop {
            // While the server is away, what has waited its time out in line is not tried at all:
            // a long line would take its length times the patience of one. Only for a while: a
            // server that is back is found by trying.
            let away = self.away.is_some_and(|at| at.elapsed() < BELIEVED_AWAY);
            if away && Instant::now() >= deadline {
                let waited = std::io::Error::from(std::io::ErrorKind::TimedOut);
                let error = StorageError::Unavailable(Arc::new(waited));
                break Some(error.at_server(self.dial.place().name()));
            }
            let Fault { error, again } = match self.attempt(unit.as_mut(), deadline) {
                Ok(ended) => {
                    self.away = None;
                    if let Ended::Kept(after) = ended {
                        self.tell(&after);
                    }
                    break None;
                }
                Err(fault) => fault.at(self.dial.place()),
            };
            runs += 1;
            let lost = again == Some(Again::Reconnect);
            self.away = lost.then(Instant::now);
            if lost {
                self.link = None;
            }
            // A unit that took all its time before others were in its way still gets one more run.
            let out_of_time = Instant::now() >= deadline && (runs > 1 || lost);
            let hopeless = again.is_none() || unit.is_abandoned() || *self.closed.borrow();
            if out_of_time || hopeless {
                break Some(error);
            }
            pause.take();
        };
        unit.answer(answer);
    }

    fn tell(&self, after: &AfterCommit) {
        for topic in &after.topics {
            self.bell.ring(topic.as_str());
        }
        for topic in after.topics.iter().chain(&after.topics_of_others) {
            self.outgoing.push(topic.as_str());
        }
    }

    fn attempt(&mut self, unit: &mut dyn UnitOfWork, deadline: Instant) -> Result<Ended, Fault> {
        let link = match &mut self.link {
            Some(link) => link,
            none => none.insert(self.runtime.block_on(match self.access {
                Access::Write => Either::Left(self.dial.marking_link(self.node)),
                Access::Read => Either::Right(self.dial.bare_link()),
            })?),
        };
        let opening = match self.access {
            Access::Write => "BEGIN",
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let mut statements = PostgresStatements {
            runtime: &self.runtime,
            link,
            opening: Some(opening),
            again: None,
            kept: Some(Vec::new()),
        };
        let mut tx = Tx::new(&mut statements);
        let verdict = unit.run(&mut tx);
        let spoilt = tx.spoilt().cloned();
        let (opened, again) = (statements.opening.is_none(), statements.again);
        let kept = statements.kept.take().unwrap_or_default();
        match (verdict, spoilt) {
            (Verdict::Undo, Some(error)) if again.is_some() => {
                if again == Some(Again::Conflict) {
                    self.roll_back();
                }
                Err(Fault { error, again })
            }
            (Verdict::Undo, _) => {
                if opened {
                    self.roll_back();
                }
                Ok(Ended::Undone)
            }
            (Verdict::Keep(after), _) if !opened => Ok(Ended::Kept(after)),
            (Verdict::Keep(after), _) => {
                let begun = Instant::now();
                self.commit(&kept, deadline)?;
                if self.access == Access::Write {
                    metrics::committed(begun.elapsed(), 1);
                }
                Ok(Ended::Kept(after))
            }
        }
    }

    fn roll_back(&mut self) {
        if let Some(link) = &self.link {
            let rolling_back = answer(ANSWER_TIMEOUT, link.client.batch_execute("ROLLBACK"));
            if self.runtime.block_on(rolling_back).is_err() {
                self.link = None;
            }
        }
    }

    /// Commits, behind what was kept back.
    fn commit(&mut self, kept: &[Kept], deadline: Instant) -> Result<(), Fault> {
        let Some(link) = &mut self.link else {
            return Err(Fault::defect("a transaction without a connection"));
        };
        let (Access::Write, Some(slot)) = (self.access, link.slot.take()) else {
            let committing = link.client.batch_execute("COMMIT");
            let ending = commit_behind(send_all(&link.client, kept), committing);
            return self.runtime.block_on(answer(ANSWER_TIMEOUT, ending));
        };
        crash_point!("postgres.before_commit");
        let unit = crate::clock::new_id::<EventId>().to_string();
        let committing =
            commit_behind(send_all(&link.client, kept), slot.commit(&link.client, &unit));
        let outcome =
            self.runtime.block_on(async { tokio::time::timeout(ANSWER_TIMEOUT, committing).await });
        crash_point!("postgres.after_commit");
        let fault = match outcome {
            Ok(Ok(())) => {
                link.slot = Some(slot);
                return Ok(());
            }
            Ok(Err(error)) if marks::slot_is_gone(&error) => {
                return Err(Fault { again: Some(Again::Reconnect), ..classify(error) });
            }
            Ok(Err(error)) => classify(error),
            Err(_) => Fault::silent(ANSWER_TIMEOUT),
        };
        if fault.again == Some(Again::Reconnect) {
            self.link = None;
            let deadline = deadline.max(Instant::now() + SETTLE_TIME);
            return self.settle(&slot, &unit, fault, deadline);
        }
        link.slot = Some(slot);
        self.roll_back();
        Err(fault)
    }

    /// The connection broke during COMMIT: asks a new one what became of it.
    fn settle(
        &mut self,
        slot: &Slot,
        unit: &str,
        lost: Fault,
        deadline: Instant,
    ) -> Result<(), Fault> {
        let mut pause = Pause::default();
        let mut seen = None;
        loop {
            let asked = self.runtime.block_on(async {
                let link = self.dial.marking_link(self.node).await?;
                let taking = slot.take(&link.client, unit, &mut seen);
                let fate = answer(ANSWER_TIMEOUT, taking).await?;
                Ok::<_, Fault>((link, fate))
            });
            match asked {
                Ok((link, fate)) => {
                    self.link = Some(link);
                    return match fate {
                        Fate::Committed => Ok(()),
                        Fate::NotCommitted => Err(Fault { again: Some(Again::Conflict), ..lost }),
                        Fate::Unknown => Err(lost.into_unknown()),
                    };
                }
                Err(_) if Instant::now() < deadline => pause.take(),
                Err(_) => return Err(lost.into_unknown()),
            }
        }
    }
}

/// The pause between two tries: longer each time, and never the same for two who met once.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(Duration::from_millis(5))
    }
}

impl Pause {
    const LONGEST: Duration = Duration::from_millis(500);

    fn take(&mut self) {
        std::thread::sleep(self.0.mul_f64(0.5 + crate::clock::fraction() / 2.0));
        self.0 = (self.0 * 2).min(Self::LONGEST);
    }
}

impl Fault {
    fn defect(what: &str) -> Self {
        Self { error: StorageError::internal(what), again: None }
    }

    fn into_unknown(self) -> Self {
        let cause: crate::error::Cause = Arc::new(self.error);
        Self { error: StorageError::CommitUnknown(cause), again: None }
    }
}
