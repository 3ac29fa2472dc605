//! `approvals`: questions to humans, and their answers.

use palyra_common::ids::{ApprovalId, RunId};
use palyra_common::runtime_contracts::ApprovalState;
use palyra_common::time::Timestamp;

use crate::approval::{ApprovalRecord, Asker, Decision};
use crate::{Row, Sql, StorageError, Tx, claim_sql, params, sql, text};

macro_rules! columns {
    () => {
        "id, subject, payload, payload_sha256, summary, risk, run_id, call, session_id, agent, state,
         requested_at, expires_at, decided_at, decided_by, reason"
    };
}

const ADD: Sql = sql!(concat!(
    "INSERT INTO approvals (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, NULL, NULL, NULL)"
));

/// Of several who decide at once, one changes the row.
const DECIDE: Sql = sql!(
    "UPDATE approvals SET state = $2, decided_at = $3, decided_by = $4, reason = $5
     WHERE id = $1 AND state = 'pending'"
);

const ONE: Sql = sql!(concat!("SELECT ", columns!(), " FROM approvals WHERE id = $1"));

const PENDING_OF_RUN: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM approvals WHERE run_id = $1 AND state = 'pending' ORDER BY id"
));

const LIST: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM approvals WHERE id < $1 AND ($2 = '' OR state = $2) ORDER BY id DESC LIMIT $3"
));

const OVERDUE: Sql = sql!(
    "SELECT id FROM approvals WHERE state = 'pending' AND expires_at <= $1
     ORDER BY expires_at LIMIT $2"
);

const NEXT_EXPIRY: Sql = sql!("SELECT min(expires_at) FROM approvals WHERE state = 'pending'");

const COUNT_PENDING: Sql = sql!("SELECT count(*) FROM approvals WHERE state = 'pending'");

const SWEEP: Sql = claim_sql!(
    "DELETE FROM approvals WHERE id IN (
         SELECT id FROM approvals WHERE decided_at < $1 ORDER BY decided_at LIMIT $2",
    ")"
);

pub(crate) fn add(tx: &mut Tx<'_>, record: &ApprovalRecord) -> Result<(), StorageError> {
    let asker = record.asker.as_ref();
    let params = params![
        text(record.id),
        record.subject.as_str(),
        &record.payload,
        &record.payload_sha256,
        &record.summary,
        record.risk.as_str(),
        asker.map(|asker| text(asker.run)),
        asker.map(|asker| asker.call.as_str()),
        asker.map(|asker| text(asker.session)),
        asker.map(|asker| asker.agent.as_str()),
        record.requested_at,
        record.expires_at,
    ];
    tx.execute(&ADD, params).map(drop)
}

/// Says whether it was still pending.
pub(crate) fn decide(
    tx: &mut Tx<'_>,
    id: ApprovalId,
    decision: &Decision,
) -> Result<bool, StorageError> {
    let Decision { state, at, by, reason } = decision;
    let params = params![text(id), state.as_str(), *at, by.as_deref(), reason.as_deref()];
    Ok(tx.execute(&DECIDE, params)? == 1)
}

pub(crate) fn one(tx: &mut Tx<'_>, id: ApprovalId) -> Result<Option<ApprovalRecord>, StorageError> {
    tx.query_opt(&ONE, params![text(id)], read)
}

pub(crate) fn pending_of_run(
    tx: &mut Tx<'_>,
    run: RunId,
) -> Result<Vec<ApprovalRecord>, StorageError> {
    tx.query(&PENDING_OF_RUN, params![text(run)], read)
}

/// The newest first, behind `after`, all or in one state.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    after: Option<ApprovalId>,
    state: Option<ApprovalState>,
    limit: u32,
) -> Result<Vec<ApprovalRecord>, StorageError> {
    let after = after.map_or_else(|| "~".to_owned(), |id| id.to_string());
    let state = state.map(ApprovalState::as_str).unwrap_or_default();
    tx.query(&LIST, params![&after, state, limit], read)
}

pub(crate) fn overdue(
    tx: &mut Tx<'_>,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<ApprovalId>, StorageError> {
    tx.query(&OVERDUE, params![now, limit], |row| row.parse(0))
}

pub(crate) fn next_expiry(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StorageError> {
    tx.query_one(&NEXT_EXPIRY, params![], |row| row.get(0))
}

pub(crate) fn count_pending(tx: &mut Tx<'_>) -> Result<i64, StorageError> {
    tx.query_one(&COUNT_PENDING, params![], |row| row.get(0))
}

pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}

fn read(row: &Row<'_>) -> Result<ApprovalRecord, StorageError> {
    let asker = match row.get::<Option<String>>(6)? {
        Some(_) => Some(Asker {
            run: row.parse(6)?,
            call: row.get(7)?,
            session: row.parse(8)?,
            agent: row.get(9)?,
        }),
        None => None,
    };
    let decided_at: Option<Timestamp> = row.get(13)?;
    let state: ApprovalState = row.parse(10)?;
    let decision = match decided_at {
        Some(at) => Some(Decision { state, at, by: row.get(14)?, reason: row.get(15)? }),
        None => None,
    };
    Ok(ApprovalRecord {
        id: row.parse(0)?,
        subject: row.parse(1)?,
        payload: row.get(2)?,
        payload_sha256: row.get(3)?,
        summary: row.get(4)?,
        risk: row.parse(5)?,
        asker,
        requested_at: row.get(11)?,
        expires_at: row.get(12)?,
        decision,
    })
}
