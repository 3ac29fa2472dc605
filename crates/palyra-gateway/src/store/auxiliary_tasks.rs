//! `auxiliary_tasks`: side calls to models.

use palyra_common::ids::{AgentId, AuxiliaryTaskId, RunId, SessionId};
use palyra_common::runtime_contracts::{
    AuxiliaryPurpose, AuxiliaryReason, AuxiliaryTaskKind, AuxiliaryTaskState,
};
use palyra_common::time::Timestamp;
use palyra_policy::budget::Amount;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, params, sql, text};

use super::{from_text, to_json};

macro_rules! columns {
    () => {
        "id, kind, purpose, state, agent, session_id, run_id, input, input_sha256, output, model,
         attempts, failures, reserved_tokens, reserved_micros, scopes, spent_tokens, spent_micros,
         reason, detail, created_at, begun_at, ended_at"
    };
}

const ADD: Sql = sql!(
    "INSERT INTO auxiliary_tasks (id, key, kind, purpose, state, agent, session_id, run_id, input,
         input_sha256, attempts, failures, reserved_tokens, reserved_micros, scopes, spent_tokens,
         spent_micros, due_at, created_at)
     VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, 0, 0, 0, 0, '[]', 0, 0, $10, $11)
     ON CONFLICT (key) DO NOTHING"
);

/// Without the token of the worker, nothing; a part of a run has none, and the run's is asked for.
const CHANGE: Sql = sql!(
    "UPDATE auxiliary_tasks SET state = $2, output = $3, model = COALESCE($4, model), attempts = $5,
         failures = $6, reserved_tokens = $7, reserved_micros = $8, scopes = $9,
         spent_tokens = spent_tokens + $10, spent_micros = spent_micros + $11, reason = $12,
         detail = $13, due_at = $14, worker = $15, begun_at = COALESCE(begun_at, $16),
         ended_at = $17
     WHERE id = $1 AND ended_at IS NULL AND COALESCE(worker, 0) = $18"
);

/// A part of a run that has ended without a word about it.
const LOSE_OF_RUN: Sql = sql!(
    "UPDATE auxiliary_tasks SET state = 'failed', reason = 'interrupted',
         spent_tokens = spent_tokens + reserved_tokens,
         spent_micros = spent_micros + reserved_micros, reserved_tokens = 0, reserved_micros = 0,
         ended_at = $2
     WHERE run_id = $1 AND ended_at IS NULL"
);

/// What a restored database would do by itself.
const OPEN: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM auxiliary_tasks WHERE run_id IS NULL AND ended_at IS NULL ORDER BY id LIMIT $1"
));

/// It may have been done since. What it is for can be asked for again.
const CANCEL: Sql = sql!(
    "UPDATE auxiliary_tasks SET state = 'cancelled', reason = 'interrupted', key = id,
         due_at = NULL, worker = NULL, spent_tokens = spent_tokens + reserved_tokens,
         spent_micros = spent_micros + reserved_micros, reserved_tokens = 0, reserved_micros = 0,
         ended_at = $2
     WHERE id = $1 AND ended_at IS NULL"
);

const CLAIM: Sql = claim_sql!(
    "UPDATE auxiliary_tasks SET worker = $1, due_at = NULL WHERE id IN (
         SELECT id FROM auxiliary_tasks WHERE due_at <= $2 ORDER BY due_at LIMIT $3",
    concat!(") RETURNING ", columns!())
);

const OF_WORKER: Sql =
    sql!(concat!("SELECT ", columns!(), " FROM auxiliary_tasks WHERE worker = $1 ORDER BY id"));

const WORKERS: Sql = sql!("SELECT DISTINCT worker FROM auxiliary_tasks WHERE worker IS NOT NULL");

const NEXT_DUE: Sql = sql!("SELECT min(due_at) FROM auxiliary_tasks WHERE due_at IS NOT NULL");

const ONE: Sql = sql!(concat!("SELECT ", columns!(), " FROM auxiliary_tasks WHERE id = $1"));

const LIST: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM auxiliary_tasks WHERE id < $1 AND ($2 = '' OR run_id = $2)
         AND ($3 = '' OR session_id = $3) AND ($4 = '' OR state = $4)
     ORDER BY id DESC LIMIT $5"
));

const FAILED_SINCE: Sql = sql!(
    "SELECT count(*) FROM auxiliary_tasks WHERE session_id = $1 AND purpose = 'compaction'
         AND state = 'failed' AND ended_at > $2"
);

const COUNT_OPEN: Sql =
    sql!("SELECT state, count(*) FROM auxiliary_tasks WHERE ended_at IS NULL GROUP BY state");

const SWEEP: Sql = claim_sql!(
    "DELETE FROM auxiliary_tasks WHERE id IN (
         SELECT id FROM auxiliary_tasks WHERE ended_at < $1 ORDER BY ended_at LIMIT $2",
    ")"
);

/// A side call as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct AuxiliaryTask {
    /// Its id.
    pub id: AuxiliaryTaskId,
    /// What it does.
    pub kind: AuxiliaryTaskKind,
    /// What for.
    pub purpose: AuxiliaryPurpose,
    /// Where it is in its life.
    pub state: AuxiliaryTaskState,
    /// Whose models and budgets it uses.
    pub agent: AgentId,
    /// The conversation that it is about.
    pub session: Option<SessionId>,
    /// The run that it is a part of.
    pub run: Option<RunId>,
    pub(crate) input: Option<String>,
    /// The SHA-256 of what goes into it, in hexadecimal.
    pub input_sha256: String,
    pub(crate) output: Option<String>,
    /// The model that was asked last.
    pub model: Option<String>,
    /// How often a model was asked.
    pub attempts: u32,
    pub(crate) failures: u32,
    /// What is set aside for the attempt that is under way.
    pub reserved: Amount,
    pub(crate) scopes: Vec<String>,
    /// What it took.
    pub spent: Amount,
    /// Why no model has met its contract.
    pub reason: Option<AuxiliaryReason>,
    /// The same in words.
    pub detail: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When a model was first asked.
    pub begun_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl AuxiliaryTask {
    /// Whether a plain substitute took the place of its output.
    pub fn is_degraded(&self) -> bool {
        self.state == AuxiliaryTaskState::Failed && self.output.is_some()
    }
}

/// A task that is to be.
#[derive(Debug, Clone)]
pub(crate) struct NewTask {
    pub(crate) id: AuxiliaryTaskId,
    /// What makes it the same task.
    pub(crate) key: String,
    pub(crate) kind: AuxiliaryTaskKind,
    pub(crate) purpose: AuxiliaryPurpose,
    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    pub(crate) run: Option<RunId>,
    pub(crate) input: Option<String>,
    pub(crate) input_sha256: String,
}

/// What becomes of a task.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) state: AuxiliaryTaskState,
    pub(crate) output: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) failures: u32,
    pub(crate) reserved: Amount,
    pub(crate) scopes: Vec<String>,
    /// What it took since it was last written.
    pub(crate) charged: Amount,
    pub(crate) reason: Option<AuxiliaryReason>,
    pub(crate) detail: Option<String>,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) worker: Option<i64>,
    pub(crate) begun_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
}

impl Change {
    /// The same task in another state, with nothing set aside and nobody who has it.
    pub(crate) fn to(state: AuxiliaryTaskState, attempts: u32) -> Self {
        Self {
            state,
            output: None,
            model: None,
            attempts,
            failures: 0,
            reserved: Amount::default(),
            scopes: Vec::new(),
            charged: Amount::default(),
            reason: None,
            detail: None,
            due_at: None,
            worker: None,
            begun_at: None,
            ended_at: None,
        }
    }
}

/// Says whether there was none with that key.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    new: &NewTask,
    due_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let params = params![
        text(new.id),
        &new.key,
        new.kind.as_str(),
        new.purpose.as_str(),
        new.agent.as_str(),
        new.session.map(text),
        new.run.map(text),
        new.input.as_deref(),
        &new.input_sha256,
        due_at,
        now,
    ];
    Ok(tx.execute(&ADD, params)? == 1)
}

/// Changes a task of `worker`; nothing: a part of a run. Says whether it is still that worker's.
pub(crate) fn change(
    tx: &mut Tx<'_>,
    id: AuxiliaryTaskId,
    worker: Option<i64>,
    to: &Change,
) -> Result<bool, StorageError> {
    let scopes = to_json(&to.scopes)?;
    let params = params![
        text(id),
        to.state.as_str(),
        to.output.as_deref(),
        to.model.as_deref(),
        to.attempts,
        to.failures,
        int(to.reserved.tokens),
        int(to.reserved.micros),
        &scopes,
        int(to.charged.tokens),
        int(to.charged.micros),
        to.reason.map(AuxiliaryReason::as_str),
        to.detail.as_deref(),
        to.due_at,
        to.worker,
        to.begun_at,
        to.ended_at,
        worker.unwrap_or(0),
    ];
    Ok(tx.execute(&CHANGE, params)? == 1)
}

pub(crate) fn lose_of_run(tx: &mut Tx<'_>, run: RunId, now: Timestamp) -> Result<(), StorageError> {
    tx.execute(&LOSE_OF_RUN, params![text(run), now]).map(drop)
}

/// Tasks by themselves that have not ended.
pub(crate) fn open(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<AuxiliaryTask>, StorageError> {
    tx.query(&OPEN, params![limit], read)
}

/// Ends one, charged with all that was set aside for it.
pub(crate) fn cancel(
    tx: &mut Tx<'_>,
    id: AuxiliaryTaskId,
    now: Timestamp,
) -> Result<(), StorageError> {
    tx.execute(&CANCEL, params![text(id), now]).map(drop)
}

pub(crate) fn claim(
    tx: &mut Tx<'_>,
    worker: i64,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<AuxiliaryTask>, StorageError> {
    tx.query(&CLAIM, params![worker, now, limit], read)
}

pub(crate) fn of_worker(tx: &mut Tx<'_>, worker: i64) -> Result<Vec<AuxiliaryTask>, StorageError> {
    tx.query(&OF_WORKER, params![worker], read)
}

pub(crate) fn workers(tx: &mut Tx<'_>) -> Result<Vec<i64>, StorageError> {
    tx.query(&WORKERS, params![], |row| row.get(0))
}

pub(crate) fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StorageError> {
    tx.query_one(&NEXT_DUE, params![], |row| row.get(0))
}

pub(crate) fn one(
    tx: &mut Tx<'_>,
    id: AuxiliaryTaskId,
) -> Result<Option<AuxiliaryTask>, StorageError> {
    tx.query_opt(&ONE, params![text(id)], read)
}

/// Tasks, the newest first, behind `after`; of one run or session, or in one state.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    after: Option<AuxiliaryTaskId>,
    (run, session): (Option<RunId>, Option<SessionId>),
    state: Option<AuxiliaryTaskState>,
    limit: u32,
) -> Result<Vec<AuxiliaryTask>, StorageError> {
    // Behind every ULID.
    let after = after.map_or_else(|| "~".to_owned(), |after| after.to_string());
    let run = run.map(|run| run.to_string()).unwrap_or_default();
    let session = session.map(|session| session.to_string()).unwrap_or_default();
    let state = state.map_or("", AuxiliaryTaskState::as_str);
    tx.query(&LIST, params![&after, &run, &session, state, limit], read)
}

/// Whether a conversation could not be put into fewer words since then.
pub(crate) fn has_failed_since(
    tx: &mut Tx<'_>,
    session: SessionId,
    since: Timestamp,
) -> Result<bool, StorageError> {
    let params = params![text(session), since];
    Ok(tx.query_one(&FAILED_SINCE, params, |row| row.get::<i64>(0))? > 0)
}

/// How many tasks are in each state but the last ones.
pub(crate) fn count_open(tx: &mut Tx<'_>) -> Result<Vec<(AuxiliaryTaskState, i64)>, StorageError> {
    tx.query(&COUNT_OPEN, params![], |row| Ok((row.parse(0)?, row.get(1)?)))
}

pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}

fn read(row: &Row<'_>) -> Result<AuxiliaryTask, StorageError> {
    let optional = |index: usize| -> Result<Option<String>, StorageError> { row.get(index) };
    Ok(AuxiliaryTask {
        id: row.parse(0)?,
        kind: row.parse(1)?,
        purpose: row.parse(2)?,
        state: row.parse(3)?,
        agent: row.parse(4)?,
        session: optional(5)?.map(|_| row.parse(5)).transpose()?,
        run: optional(6)?.map(|_| row.parse(6)).transpose()?,
        input: row.get(7)?,
        input_sha256: row.get(8)?,
        output: row.get(9)?,
        model: row.get(10)?,
        attempts: row.get(11)?,
        failures: row.get(12)?,
        reserved: Amount { tokens: row.get(13)?, micros: row.get(14)? },
        scopes: from_text(&row.get::<String>(15)?)?,
        spent: Amount { tokens: row.get(16)?, micros: row.get(17)? },
        reason: optional(18)?.map(|_| row.parse(18)).transpose()?,
        detail: row.get(19)?,
        created_at: row.get(20)?,
        begun_at: row.get(21)?,
        ended_at: row.get(22)?,
    })
}

fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
