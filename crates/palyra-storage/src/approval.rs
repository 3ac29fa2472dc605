//! Questions to humans. A question is bound to the digest of exactly what is to be done; it is
//! decided once, by one of those who try, and stays on record.

use palyra_common::ids::{ApprovalId, RunId, SessionId};
use palyra_common::runtime_contracts::{ApprovalState, ApprovalSubject, RiskLevel};
use palyra_common::time::Timestamp;
use serde_json::{Value, json};

use crate::events::NewEvent;
use crate::notify::Topic;
use crate::store::approvals as rows;
use crate::{Database, StorageError, Tx};

/// Rung when a question was asked or decided.
pub const TOPIC: Topic = Topic::new("approvals");

/// The most questions that one page holds.
pub const PAGE_LIMIT: u32 = 200;

/// A question, and its answer if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Its id.
    pub id: ApprovalId,
    /// What it is about.
    pub subject: ApprovalSubject,
    /// What exactly is to be done: these bytes, and no others, are executed.
    pub payload: String,
    /// Their SHA-256 together with what they are bound to, in hexadecimal.
    pub payload_sha256: String,
    /// The same in words.
    pub summary: String,
    /// How bad a mistake would be, as the human sees it.
    pub risk: RiskLevel,
    /// Who asks.
    pub asker: Option<Asker>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it is too late.
    pub expires_at: Timestamp,
    /// The answer.
    pub decision: Option<Decision>,
}

/// The run that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The run.
    pub run: RunId,
    /// Its call.
    pub call: String,
    /// The conversation.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What it is.
    pub state: ApprovalState,
    /// When.
    pub at: Timestamp,
    /// Who gave it; nothing: time did, or nobody wants to know any more.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

impl ApprovalRecord {
    /// Where it is in its life.
    pub fn state(&self) -> ApprovalState {
        self.decision.as_ref().map_or(ApprovalState::Pending, |decision| decision.state)
    }
}

/// Asks, as part of the transaction that wants to know.
pub fn request(tx: &mut Tx<'_>, record: &ApprovalRecord) -> Result<(), StorageError> {
    tx.notify(TOPIC);
    let body =
        json!({ "state": ApprovalState::Pending, "risk": record.risk, "run": run_of(record) });
    tell(tx, "approval.requested", record.id, body, record.requested_at);
    rows::add(tx, record)
}

/// Answers, as part of the transaction that acts on it. Says whether nobody had before.
pub fn decide(tx: &mut Tx<'_>, id: ApprovalId, decision: &Decision) -> Result<bool, StorageError> {
    let first = rows::decide(tx, id, decision)?;
    if first {
        tx.notify(TOPIC);
        tell(tx, "approval.decided", id, json!({ "state": decision.state }), decision.at);
    }
    Ok(first)
}

fn run_of(record: &ApprovalRecord) -> Option<RunId> {
    record.asker.as_ref().map(|asker| asker.run)
}

/// Tells readers of the feed, without what it is about.
fn tell(tx: &mut Tx<'_>, kind: &str, id: ApprovalId, body: Value, at: Timestamp) {
    tx.emit(NewEvent { at, kind: kind.into(), subject: format!("approval:{id}"), body });
}

/// One question.
pub fn one(tx: &mut Tx<'_>, id: ApprovalId) -> Result<Option<ApprovalRecord>, StorageError> {
    rows::one(tx, id)
}

/// The open questions of a run.
pub fn pending_of_run(tx: &mut Tx<'_>, run: RunId) -> Result<Vec<ApprovalRecord>, StorageError> {
    rows::pending_of_run(tx, run)
}

/// How many questions are open.
pub fn count_pending(tx: &mut Tx<'_>) -> Result<i64, StorageError> {
    rows::count_pending(tx)
}

/// Questions, the newest first, behind `after`; all, or those in one state.
pub async fn list(
    db: &Database,
    after: Option<ApprovalId>,
    state: Option<ApprovalState>,
    limit: u32,
) -> Result<Vec<ApprovalRecord>, StorageError> {
    db.read(move |tx| rows::list(tx, after, state, limit.min(PAGE_LIMIT))).await
}

/// Open questions whose time is up, and when that is the case with the next.
pub fn overdue(
    tx: &mut Tx<'_>,
    now: Timestamp,
    limit: u32,
) -> Result<(Vec<ApprovalId>, Option<Timestamp>), StorageError> {
    Ok((rows::overdue(tx, now, limit)?, rows::next_expiry(tx)?))
}
