//! Deciding what agents ask. A decision and what follows from it are one transaction; of several who
//! decide at once one wins, and the others are told so.

use std::sync::Arc;

use palyra_common::api::{Approval, ApprovalDecision, ApprovalVerdict, Page};
use palyra_common::ids::{ApprovalId, RunId};
use palyra_common::runtime_contracts::{ApprovalState, RunLifecyclePhase};
use palyra_common::text::strip_nul;
use palyra_common::time::{Clock, Timestamp};
use palyra_connector_core::Trail;
use palyra_policy::approval::{Event, Why, step};
use palyra_storage::approval::{self, ApprovalRecord, Decision};
use palyra_storage::journal::JournalEvent;
use palyra_storage::{Database, StorageError, Tx};
use serde_json::json;

use crate::actor::Actor;
use crate::engine::{Signal, TOPIC, rejoin};
use crate::error::GatewayError;
use crate::shown::shown_approval;
use crate::store::{run_signals, runs, sessions};

const MAX_REASON_CHARS: usize = 1_000;
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

impl Verdict {
    /// As it stands in the audit trail.
    fn action(self) -> &'static str {
        match self {
            Self::Approve => "approval.approved",
            Self::Deny => "approval.denied",
        }
    }
}

impl From<ApprovalVerdict> for Verdict {
    fn from(verdict: ApprovalVerdict) -> Self {
        match verdict {
            ApprovalVerdict::Approve => Self::Approve,
            ApprovalVerdict::Deny => Self::Deny,
        }
    }
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

impl Answer {
    /// What somebody has sent, and the entry about it for the audit trail.
    pub fn of(
        id: ApprovalId,
        decision: ApprovalDecision,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<(Self, JournalEvent), GatewayError> {
        let ApprovalDecision { verdict, reason, payload_sha256 } = decision;
        if reason.as_ref().is_some_and(|text| text.chars().count() > MAX_REASON_CHARS) {
            let what = format!("reason has at most {MAX_REASON_CHARS} characters");
            return Err(GatewayError::Invalid(what));
        }
        let is_digest = |text: &String| {
            text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
        };
        if payload_sha256.as_ref().is_some_and(|text| !is_digest(text)) {
            let what = "payload_sha256 is 64 hexadecimal digits in lower case";
            return Err(GatewayError::Invalid(what.to_owned()));
        }
        let verdict = Verdict::from(verdict);
        let seen = json!({ "payload_sha256": payload_sha256 });
        let note = actor.noted(now, verdict.action(), format!("approval:{id}"), seen);
        let reason = reason.map(|reason| strip_nul(&reason).into_owned());
        Ok((Self { verdict, by: actor.by.to_string(), reason, payload_sha256 }, note))
    }
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

    /// Questions as they are shown, the newest first, behind `after`; all, or those in one state.
    pub async fn page(
        &self,
        after: Option<ApprovalId>,
        state: Option<ApprovalState>,
        limit: u32,
    ) -> Result<Page<Approval>, GatewayError> {
        let records = self.list(after, state, limit).await?;
        let last = records.last().filter(|_| records.len() >= limit as usize);
        let next = last.map(|record| record.id.to_string());
        let items = records.into_iter().map(shown_approval).collect::<Result<_, _>>()?;
        Ok(Page { items, next })
    }

    /// Answers a question.
    pub async fn decide(
        &self,
        id: ApprovalId,
        answer: Answer,
        trail: Trail,
    ) -> Result<ApprovalRecord, GatewayError> {
        let (now, deciding) = (self.clock.now(), Deciding { id, answer, trail });
        // Too late is written down, and told.
        in_time(self.db.try_write(move |tx| deciding.decide(tx, None, now)).await?)
    }
}

/// An answer to a question.
#[derive(Debug, Clone)]
pub(crate) struct Deciding {
    pub(crate) id: ApprovalId,
    pub(crate) answer: Answer,
    pub(crate) trail: Trail,
}

impl Deciding {
    /// Answers, as part of a transaction. If it is too late the question has expired then.
    pub(crate) fn decide(
        &self,
        tx: &mut Tx<'_>,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<ApprovalRecord, GatewayError> {
        let Self { id, answer, trail } = self;
        let event = match answer.verdict {
            Verdict::Approve => Event::Approve,
            Verdict::Deny => Event::Deny,
        };
        let record = approval::one(tx, *id)?.ok_or(GatewayError::NoApproval(*id))?;
        GatewayError::unless_changed("approval", version(&record), expected)?;
        if answer.payload_sha256.as_ref().is_some_and(|seen| *seen != record.payload_sha256) {
            return Err(GatewayError::OtherPayload(*id));
        }
        let (by, reason) = (Some(answer.by.clone()), answer.reason.clone());
        let decided = settle(tx, &record, event, by, reason, now)?;
        if decided.state() != ApprovalState::Expired {
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
        }
        Ok(decided)
    }
}

/// Refuses what came too late.
pub(crate) fn in_time(decided: ApprovalRecord) -> Result<ApprovalRecord, GatewayError> {
    match decided.state() {
        state @ ApprovalState::Expired => Err(GatewayError::Decided { id: decided.id, state }),
        ApprovalState::Pending
        | ApprovalState::Approved
        | ApprovalState::Denied
        | ApprovalState::Cancelled => Ok(decided),
    }
}

/// How often a question was changed: it is asked, and once it is decided.
fn version(record: &ApprovalRecord) -> i64 {
    match record.state() {
        ApprovalState::Pending => 1,
        ApprovalState::Approved
        | ApprovalState::Denied
        | ApprovalState::Expired
        | ApprovalState::Cancelled => 2,
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
