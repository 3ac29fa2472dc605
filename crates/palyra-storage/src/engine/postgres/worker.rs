//! One connection and the thread that runs units on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use palyra_common::ids::{EventId, IncarnationId};
use tokio::runtime::Runtime;

use super::connect::{Dial, Link};
use super::doorbell::Outgoing;
use super::fault::{Again, Fault, classify};
use super::marks::{self, Fate, Slot};
use super::statements::PostgresStatements;
use crate::engine::queue::SharedQueue;
use crate::notify::Bell;
use crate::tx::{AfterCommit, Tx};
use crate::unit::{UnitOfWork, Verdict};
use crate::{StorageError, crash_point};

/// Pauses between two runs of a unit double up to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const FIRST_PAUSE: Duration = Duration::from_millis(5);

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
    }

    fn work(&mut self, mut unit: Box<dyn UnitOfWork>) {
        let deadline = Instant::now() + self.retry_for;
        let mut pause = FIRST_PAUSE;
        let answer = loop {
            let Fault { error, again } = match self.attempt(unit.as_mut(), deadline) {
                Ok(Ended::Kept(after)) => {
                    self.tell(&after);
                    break None;
                }
                Ok(Ended::Undone) => break None,
                Err(fault) => fault,
            };
            if again == Some(Again::Reconnect) {
                self.link = None;
            }
            if again.is_none() || Instant::now() + pause >= deadline || unit.is_abandoned() {
                break Some(error);
            }
            // Two units in each other's way must not meet again at the same moment.
            std::thread::sleep(pause.mul_f64(0.5 + crate::clock::fraction() / 2.0));
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        unit.answer(answer);
    }

    fn tell(&self, after: &AfterCommit) {
        for topic in &after.topics {
            self.bell.ring(topic.as_str());
            self.outgoing.push(*topic);
        }
    }

    fn attempt(&mut self, unit: &mut dyn UnitOfWork, deadline: Instant) -> Result<Ended, Fault> {
        let link = match &mut self.link {
            Some(link) => link,
            none => {
                let opened = self.runtime.block_on(self.dial.link(self.node));
                none.insert(opened.map_err(classify)?)
            }
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
        };
        let mut tx = Tx::new(&mut statements);
        let verdict = unit.run(&mut tx);
        let spoilt = tx.spoilt().cloned();
        let (opened, again) = (statements.opening.is_none(), statements.again);
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
            (Verdict::Keep(after), _) => self.commit(deadline).map(|()| Ended::Kept(after)),
        }
    }

    fn roll_back(&mut self) {
        if let Some(link) = &self.link
            && self.runtime.block_on(link.client.batch_execute("ROLLBACK")).is_err()
        {
            self.link = None;
        }
    }

    fn commit(&mut self, deadline: Instant) -> Result<(), Fault> {
        let Some(link) = &mut self.link else {
            return Err(Fault::defect("a transaction without a connection"));
        };
        let (Access::Write, Some(slot)) = (self.access, link.slot.take()) else {
            return self.runtime.block_on(link.client.batch_execute("COMMIT")).map_err(classify);
        };
        crash_point!("postgres.before_commit");
        let unit = crate::clock::new_id::<EventId>().to_string();
        let outcome = self.runtime.block_on(slot.commit(&link.client, &unit));
        crash_point!("postgres.after_commit");
        match outcome {
            Ok(()) => {
                link.slot = Some(slot);
                Ok(())
            }
            Err(error) if marks::slot_is_gone(&error) => {
                Err(Fault { again: Some(Again::Reconnect), ..classify(error) })
            }
            Err(error) => {
                let fault = classify(error);
                if fault.again == Some(Again::Reconnect) {
                    self.link = None;
                    return self.settle(&slot, &unit, fault, deadline);
                }
                link.slot = Some(slot);
                self.roll_back();
                Err(fault)
            }
        }
    }

    /// The connection broke during COMMIT: asks a new one what became of it.
    fn settle(
        &mut self,
        slot: &Slot,
        unit: &str,
        lost: Fault,
        deadline: Instant,
    ) -> Result<(), Fault> {
        let mut pause = FIRST_PAUSE;
        loop {
            let asked = self.runtime.block_on(async {
                let link = self.dial.link(self.node).await?;
                let fate = slot.take(&link.client, unit).await?;
                Ok::<_, tokio_postgres::Error>((link, fate))
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
                Err(_) if Instant::now() + pause < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(_) => return Err(lost.into_unknown()),
            }
        }
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
