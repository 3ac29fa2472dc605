//! Deciding what agents ask. A decision and what follows from it are one transaction; of several who
//! decide at once one wins, and the others are told so.

use std::sync::Arc;

use palyra_common::ids::{ApprovalId, RunId};
use palyra_common::runtime_contracts::{ApprovalState, RunLifecyclePhase};
use palyra_common::time::{Clock, Timestamp};
use palyra_connector_core::Trail;
use palyra_policy::approval::{Event, Why, step};
use palyra_storage::approval::{self, ApprovalRecord, Decision};
use palyra_storage::{Database, StorageError, Tx};

use crate::engine::{Signal, TOPIC, rejoin};
use crate::error::GatewayError;
use crate::store::{run_signals, runs, sessions};

/// Questions whose time is up, in one transaction.
const EXPIRED_TOGETHER: u32 = 64;

/// What a human says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Do it.
    Approve,
    /// Do not.
    Deny,
}

/// The answer of somebody.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Yes or no.
    pub verdict: Verdict,
    /// Who says so.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// What they were shown. Nothing: whatever it is.
    pub payload_sha256: Option<String>,
}

/// Questions to humans. Cheap to clone.
#[derive(Clone)]
pub struct Approvals {
    db: Database,
    clock: Arc<dyn Clock>,
}

impl Approvals {
    /// The questions in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock }
    }

    /// One question.
    pub async fn get(&self, id: ApprovalId) -> Result<ApprovalRecord, GatewayError> {
        let found = self.db.read(move |tx| approval::one(tx, id)).await?;
        found.ok_or(GatewayError::NoApproval(id))
    }

    /// Questions, the newest first, behind `after`; all, or those in one state.
    pub async fn list(
        &self,
        after: Option<ApprovalId>,
        state: Option<ApprovalState>,
        limit: u32,
    ) -> Result<Vec<ApprovalRecord>, StorageError> {
        approval::list(&self.db, after, state, limit).await
    }

    /// Waits for questions and answers.
    pub fn subscribe(&self) -> palyra_storage::Subscription {
        self.db.subscribe(approval::TOPIC)
    }

    /// Answers a question.
    pub async fn decide(
        &self,
        id: ApprovalId,
        answer: Answer,
        trail: Trail,
    ) -> Result<ApprovalRecord, GatewayError> {
        let now = self.clock.now();
        let event = match answer.verdict {
            Verdict::Approve => Event::Approve,
            Verdict::Deny => Event::Deny,
        };
        let decide = move |tx: &mut Tx<'_>| -> Result<ApprovalRecord, GatewayError> {
            let record = approval::one(tx, id)?.ok_or(GatewayError::NoApproval(id))?;
            if answer.payload_sha256.as_ref().is_some_and(|seen| *seen != record.payload_sha256) {
                return Err(GatewayError::OtherPayload(id));
            }
            let (by, reason) = (Some(answer.by.clone()), answer.reason.clone());
            let decided = settle(tx, &record, event, by, reason, now)?;
            match &decided.decision {
                // Too late is written down, and told.
                Some(decision) if decision.state == ApprovalState::Expired => {}
                Some(_) | None => {
                    trail.clone().into_iter().for_each(|entry| tx.record(entry));
                }
            }
            Ok(decided)
        };
        let decided = self.db.try_write(decide).await?;
        match decided.state() {
            ApprovalState::Expired => {
                Err(GatewayError::Decided { id, state: ApprovalState::Expired })
            }
            ApprovalState::Pending
            | ApprovalState::Approved
            | ApprovalState::Denied
            | ApprovalState::Cancelled => Ok(decided),
        }
    }
}

/// Writes an answer down, and lets the run that waits for it go on.
fn settle(
    tx: &mut Tx<'_>,
    record: &ApprovalRecord,
    event: Event,
    by: Option<String>,
    reason: Option<String>,
    now: Timestamp,
) -> Result<ApprovalRecord, GatewayError> {
    let id = record.id;
    // Session, run, question: in the order in which everybody locks.
    let session = match &record.asker {
        Some(asker) => sessions::lock(tx, asker.session)?,
        None => None,
    };
    let run = match &record.asker {
        Some(asker) => runs::lock(tx, asker.run)?,
        None => None,
    };
    let was = approval::one(tx, id)?.ok_or(GatewayError::NoApproval(id))?;
    let state = match step(was.state(), was.expires_at, event, now) {
        Ok(state) => state,
        Err(Why::Decided(state)) => return Err(GatewayError::Decided { id, state }),
        Err(Why::NotYet) => return Ok(was),
    };
    let decision = Decision { state, at: now, by: by.clone(), reason: reason.clone() };
    if !approval::decide(tx, id, &decision)? {
        let state = approval::one(tx, id)?.map_or(ApprovalState::Cancelled, |now| now.state());
        return Err(GatewayError::Decided { id, state });
    }
    if let (Some(asker), Some(session), Some(run)) = (&record.asker, session, run) {
        let call = asker.call.clone();
        let signal = Signal::Decided { approval: id, call, state, by, reason };
        run_signals::add(tx, run.id, &signal, now)?;
        if run.phase == RunLifecyclePhase::WaitingForApproval {
            rejoin(tx, &session, run.id, now)?;
        }
        tx.notify(TOPIC);
    }
    Ok(ApprovalRecord { decision: Some(decision), ..was })
}

/// Takes back what a run still asks: it goes on no more. The run is locked.
pub(crate) fn withdraw(
    tx: &mut Tx<'_>,
    run: RunId,
    reason: &str,
    now: Timestamp,
) -> Result<(), StorageError> {
    for open in approval::pending_of_run(tx, run)? {
        if let Ok(state) = step(open.state(), open.expires_at, Event::Withdraw, now) {
            let reason = Some(reason.to_owned());
            approval::decide(tx, open.id, &Decision { state, at: now, by: None, reason })?;
        }
    }
    Ok(())
}

/// Ends questions that nobody answered in time. Says when the next one ends.
pub(crate) async fn expire_overdue(
    db: &Database,
    now: Timestamp,
) -> Result<Option<Timestamp>, StorageError> {
    let (overdue, next) = db.read(move |tx| approval::overdue(tx, now, EXPIRED_TOGETHER)).await?;
    for id in overdue {
        let expire = move |tx: &mut Tx<'_>| -> Result<(), GatewayError> {
            match approval::one(tx, id)? {
                Some(record) => settle(tx, &record, Event::Tick, None, None, now).map(drop),
                None => Ok(()),
            }
        };
        match db.try_write(expire).await {
            Ok(()) | Err(GatewayError::Decided { .. }) => {}
            Err(GatewayError::Storage(error)) => return Err(error),
            Err(error) => tracing::warn!(approval = %id, %error, "a question could not be ended"),
        }
    }
    Ok(next)
}
