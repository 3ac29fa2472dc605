//! `runs`: pieces of work, and where they are.

mod part;
mod worker;

use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase};
use palyra_common::time::{Duration, Timestamp};
use palyra_policy::budget::Amount;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, params, sql, text};

pub(crate) use part::in_part;
pub(crate) use worker::{
    claim, free, give_back, new_of_worker, next_due, of_worker, stumble, workers,
};

macro_rules! columns {
    () => {
        "id, session_id, session_seq, agent, phase, due_at, worker, next_seq, recoveries, active,
         deadline, history, tokens, micros, ended, answers, parent, parent_call, depth, created_at,
         changed_at"
    };
}
use columns;

const ADD: Sql = sql!(
    "INSERT INTO runs (id, session_id, session_seq, agent, phase, due_at, worker, next_seq,
         snapshot_seq, recoveries, active, deadline, tokens, micros, answers, parent, parent_call,
         depth, created_at, changed_at)
     VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, 0, 0, 0, $8, 0, 0, $9, $10, $11, $12, $13, $13)"
);

/// The first statement of everything that a worker writes about its run: without the token, nothing.
const ADVANCE: Sql = sql!(
    "UPDATE runs SET next_seq = next_seq + $3, phase = $4, due_at = $5, worker = $6,
         recoveries = $7, active = $8, tokens = tokens + $9, micros = micros + $10, history = $11,
         ended = $12, changed_at = $13
     WHERE id = $1 AND worker = $2 RETURNING next_seq, tokens, micros"
);

/// What others use for a run, which may have ended.
const CHARGE: Sql = sql!(
    "UPDATE runs SET tokens = tokens + $2 - $3, micros = micros + $4 - $5 WHERE id = $1
     RETURNING tokens, micros, parent"
);

const SNAPSHOT: Sql = sql!("UPDATE runs SET snapshot = $2, snapshot_seq = $3 WHERE id = $1");

/// How far a tape has come, and in which phase its run is.
const PLACE: Sql = sql!("SELECT next_seq, phase FROM runs WHERE id = $1");

const READ_SNAPSHOT: Sql = sql!("SELECT snapshot, snapshot_seq FROM runs WHERE id = $1");

/// Events of a run that no worker has.
const APPEND: Sql = sql!(
    "UPDATE runs SET next_seq = next_seq + $2, changed_at = $3 WHERE id = $1 RETURNING next_seq"
);

/// One event of a run, whoever has it.
const COUNT_EVENT: Sql =
    sql!("UPDATE runs SET next_seq = next_seq + 1, changed_at = $2 WHERE id = $1");

const LOCK_LATER: Sql = sql!("UPDATE runs SET next_seq = next_seq WHERE id = $1");

const MOVE: Sql = sql!(
    "UPDATE runs SET phase = $2, due_at = $3, history = $4, ended = $5, changed_at = $6
     WHERE id = $1 AND worker IS NULL"
);

const ALLOW_UNTIL: Sql = sql!("UPDATE runs SET deadline = $2 WHERE id = $1");

/// What would be worked on by itself.
const PAUSE_ALL: Sql = sql!(
    "UPDATE runs SET phase = 'paused', due_at = NULL, worker = NULL, changed_at = $1
     WHERE history IS NULL AND phase IN ('queued', 'running') RETURNING id"
);

/// The next one of a session that waits for its turn.
const NEXT_IN_SESSION: Sql = sql!(
    "SELECT id FROM runs WHERE session_id = $1 AND history IS NULL AND phase = 'queued'
         AND due_at IS NULL AND worker IS NULL
     ORDER BY session_seq LIMIT 1"
);

/// How many of a session wait for their turn, and the last of them.
const WAITING_IN_SESSION: Sql = sql!(
    "SELECT count(*), max(session_seq) FROM runs WHERE session_id = $1 AND history IS NULL
         AND phase = 'queued' AND due_at IS NULL AND worker IS NULL"
);

const COUNT_OPEN: Sql =
    sql!("SELECT phase, count(*) FROM runs WHERE history IS NULL GROUP BY phase");

const BY_SEQ: Sql =
    sql!(concat!("SELECT ", columns!(), " FROM runs WHERE session_id = $1 AND session_seq = $2"));

const ONE: Sql = sql!(concat!("SELECT ", columns!(), " FROM runs WHERE id = $1"));

/// The last run in the session of some key that answers some message.
const ANSWERING: Sql = sql!(
    "SELECT id FROM runs
     WHERE session_id = (SELECT id FROM sessions WHERE key = $1) AND answers = $2
     ORDER BY session_seq DESC LIMIT 1"
);

const OPEN_UNDER_KEY: Sql = sql!(
    "SELECT r.id FROM sessions s JOIN runs r ON r.session_id = s.id
     WHERE s.key = $1 AND r.parent = $2 AND r.history IS NULL"
);

const OPEN_BELOW: Sql = sql!("SELECT id FROM runs WHERE parent = $1 AND history IS NULL");

const LOCK: Sql =
    sql!(concat!("UPDATE runs SET agent = agent WHERE id = $1 RETURNING ", columns!()));

/// The newest first.
const IN_SESSION: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM runs WHERE session_id = $1 AND session_seq < $2 ORDER BY session_seq DESC LIMIT $3"
));

const ENDED_BEFORE: Sql = claim_sql!(
    "SELECT id FROM runs WHERE history IS NOT NULL AND changed_at < $1 ORDER BY changed_at LIMIT $2",
    ""
);

const REMOVE: Sql = sql!("DELETE FROM runs WHERE id = $1");

const LIST: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM runs WHERE id < $1 AND ($2 = '' OR session_id = $2) AND ($3 = '' OR phase = $3)
     ORDER BY id DESC LIMIT $4"
));

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The conversation that it is part of.
    pub session: SessionId,
    /// Its place there.
    pub session_seq: i64,
    /// Who does it.
    pub agent: AgentId,
    /// Where it is in its life.
    pub phase: RunLifecyclePhase,
    /// From when a worker may take it.
    pub due_at: Option<Timestamp>,
    pub(crate) worker: Option<i64>,
    /// How many events its tape has had.
    pub next_seq: i64,
    pub(crate) recoveries: u32,
    /// How long it has worked.
    pub active: Duration,
    /// Too late to begin.
    pub deadline: Timestamp,
    pub(crate) history: Option<i64>,
    /// Tokens that it used, with those of runs that work for it and what is set aside for these.
    pub tokens: u64,
    /// What that cost, in millionths of a dollar.
    pub micros: u64,
    /// Why it ended.
    pub ended: Option<RunEnd>,
    /// The message that it answers, by the platform's name.
    pub answers: Option<String>,
    /// The run that waits for it, and the call there.
    pub parent: Option<(RunId, String)>,
    /// How many runs stand above it.
    pub depth: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// When something last happened to it.
    pub changed_at: Timestamp,
}

/// A run that is to be.
pub(crate) struct NewRun<'a> {
    pub(crate) id: RunId,
    pub(crate) session: SessionId,
    pub(crate) session_seq: i64,
    pub(crate) agent: &'a AgentId,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) worker: Option<i64>,
    pub(crate) events: i64,
    pub(crate) deadline: Timestamp,
    pub(crate) answers: Option<&'a str>,
    pub(crate) parent: Option<(RunId, &'a str)>,
    pub(crate) depth: u32,
}

/// What a worker writes about its run.
pub(crate) struct Advance {
    pub(crate) events: i64,
    pub(crate) phase: RunLifecyclePhase,
    pub(crate) due_at: Option<Timestamp>,
    /// Who has it from now on.
    pub(crate) worker: Option<i64>,
    pub(crate) recoveries: u32,
    pub(crate) active: Duration,
    /// What the run used since it was last written.
    pub(crate) charged: Amount,
    pub(crate) history: Option<i64>,
    pub(crate) ended: Option<RunEnd>,
}

pub(crate) fn add(tx: &mut Tx<'_>, new: &NewRun<'_>, now: Timestamp) -> Result<(), StorageError> {
    let (parent, call) = new.parent.unzip();
    let params = params![
        text(new.id),
        text(new.session),
        new.session_seq,
        new.agent.as_str(),
        new.due_at,
        new.worker,
        new.events + 1,
        new.deadline,
        new.answers,
        parent.map(text),
        call,
        new.depth,
        now,
    ];
    tx.execute_later(&ADD, params)
}

/// The number of the first of the events that are added, and what the run has used. Nothing: the run is
/// no longer the worker's.
pub(crate) fn advance(
    tx: &mut Tx<'_>,
    run: RunId,
    worker: i64,
    to: &Advance,
    now: Timestamp,
) -> Result<Option<(i64, Amount)>, StorageError> {
    let params = params![
        text(run),
        worker,
        to.events,
        to.phase.as_str(),
        to.due_at,
        to.worker,
        to.recoveries,
        millis(to.active),
        int(to.charged.tokens),
        int(to.charged.micros),
        to.history,
        to.ended.map(RunEnd::as_str),
        now,
    ];
    tx.query_opt(&ADVANCE, params, |row| Ok((row.get::<i64>(0)? - to.events, used(row, 1)?)))
}

/// Charges a run with what others used for it, and takes back what was set aside for them. Gives what
/// it has used then, and the run that it works for itself.
pub(crate) fn charge(
    tx: &mut Tx<'_>,
    run: RunId,
    more: Amount,
    less: Amount,
) -> Result<Option<(Amount, Option<RunId>)>, StorageError> {
    let (tokens, micros) = (int(more.tokens), int(more.micros));
    let params = params![text(run), tokens, int(less.tokens), micros, int(less.micros)];
    tx.query_opt(&CHARGE, params, |row| {
        let above: Option<String> = row.get(2)?;
        Ok((used(row, 0)?, above.map(|_| row.parse(2)).transpose()?))
    })
}

fn used(row: &Row<'_>, from: usize) -> Result<Amount, StorageError> {
    Ok(Amount { tokens: row.get(from)?, micros: row.get(from + 1)? })
}

pub(crate) fn save_snapshot(
    tx: &mut Tx<'_>,
    run: RunId,
    snapshot: &str,
    seq: i64,
) -> Result<(), StorageError> {
    tx.execute_later(&SNAPSHOT, params![text(run), snapshot, seq])
}

/// The last snapshot and the number of the event after which it was taken.
pub(crate) fn snapshot(tx: &mut Tx<'_>, run: RunId) -> Result<(Option<String>, i64), StorageError> {
    tx.query_one(&READ_SNAPSHOT, params![text(run)], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The number of the first of `count` events of a run that no worker has.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    run: RunId,
    count: i64,
    now: Timestamp,
) -> Result<Option<i64>, StorageError> {
    let next = tx.query_opt(&APPEND, params![text(run), count, now], |row| row.get::<i64>(0))?;
    Ok(next.map(|next| next - count))
}

/// Counts an event, which is the last one then.
pub(crate) fn count_event(tx: &mut Tx<'_>, run: RunId, now: Timestamp) -> Result<(), StorageError> {
    tx.execute_later(&COUNT_EVENT, params![text(run), now])
}

/// Locks a run of which nothing has to be known.
pub(crate) fn lock_later(tx: &mut Tx<'_>, run: RunId) -> Result<(), StorageError> {
    tx.execute_later(&LOCK_LATER, params![text(run)])
}

/// Moves a run that no worker has. Says whether none has it.
pub(crate) fn set(
    tx: &mut Tx<'_>,
    run: RunId,
    phase: RunLifecyclePhase,
    due_at: Option<Timestamp>,
    ended: Option<(i64, RunEnd)>,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let (history, ended) = ended.unzip();
    let params =
        params![text(run), phase.as_str(), due_at, history, ended.map(RunEnd::as_str), now];
    Ok(tx.execute(&MOVE, params)? == 1)
}

/// Gives a run another time to be begun in.
pub(crate) fn allow_until(
    tx: &mut Tx<'_>,
    run: RunId,
    deadline: Timestamp,
) -> Result<(), StorageError> {
    tx.execute(&ALLOW_UNTIL, params![text(run), deadline]).map(drop)
}

pub(crate) fn next_in_session(
    tx: &mut Tx<'_>,
    session: SessionId,
) -> Result<Option<RunId>, StorageError> {
    tx.query_opt(&NEXT_IN_SESSION, params![text(session)], |row| row.parse(0))
}

/// Pauses every run that would be worked on by itself, whoever has it.
pub(crate) fn pause_all(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<RunId>, StorageError> {
    tx.query(&PAUSE_ALL, params![now], |row| row.parse(0))
}

/// How many runs of a session wait for their turn, and the place of the last.
pub(crate) fn waiting_in_session(
    tx: &mut Tx<'_>,
    session: SessionId,
) -> Result<(i64, Option<i64>), StorageError> {
    let params = params![text(session)];
    tx.query_one(&WAITING_IN_SESSION, params, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// How many runs are in each phase but the last.
pub(crate) fn count_open(tx: &mut Tx<'_>) -> Result<Vec<(RunLifecyclePhase, i64)>, StorageError> {
    tx.query(&COUNT_OPEN, params![], |row| Ok((row.parse(0)?, row.get(1)?)))
}

pub(crate) fn by_seq(
    tx: &mut Tx<'_>,
    session: SessionId,
    seq: i64,
) -> Result<Option<Run>, StorageError> {
    tx.query_opt(&BY_SEQ, params![text(session), seq], read)
}

pub(crate) fn one(tx: &mut Tx<'_>, run: RunId) -> Result<Option<Run>, StorageError> {
    tx.query_opt(&ONE, params![text(run)], read)
}

pub(crate) fn answering(
    tx: &mut Tx<'_>,
    session_key: &str,
    message: &str,
) -> Result<Option<RunId>, StorageError> {
    tx.query_opt(&ANSWERING, params![session_key, message], |row| row.parse(0))
}

/// The number of the next event of a run, and its phase.
pub(crate) fn place(
    tx: &mut Tx<'_>,
    run: RunId,
) -> Result<Option<(i64, RunLifecyclePhase)>, StorageError> {
    tx.query_opt(&PLACE, params![text(run)], |row| Ok((row.get(0)?, row.parse(1)?)))
}

pub(crate) fn lock(tx: &mut Tx<'_>, run: RunId) -> Result<Option<Run>, StorageError> {
    tx.query_opt(&LOCK, params![text(run)], read)
}

/// Runs that have not ended, in the session with a key, that work for a run.
pub(crate) fn open_under_key(
    tx: &mut Tx<'_>,
    key: &str,
    parent: RunId,
) -> Result<Vec<RunId>, StorageError> {
    tx.query(&OPEN_UNDER_KEY, params![key, text(parent)], |row| row.parse(0))
}

/// Runs that have not ended and work for a run.
pub(crate) fn open_below(tx: &mut Tx<'_>, parent: RunId) -> Result<Vec<RunId>, StorageError> {
    tx.query(&OPEN_BELOW, params![text(parent)], |row| row.parse(0))
}

/// Runs of a session before a place in it, the newest first.
pub(crate) fn in_session(
    tx: &mut Tx<'_>,
    session: SessionId,
    below: i64,
    limit: u32,
) -> Result<Vec<Run>, StorageError> {
    tx.query(&IN_SESSION, params![text(session), below, limit], read)
}

/// Runs, the newest first, behind `after`; of one session, or in one phase.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    after: Option<RunId>,
    session: Option<SessionId>,
    phase: Option<RunLifecyclePhase>,
    limit: u32,
) -> Result<Vec<Run>, StorageError> {
    let after = after.map_or_else(|| "~".to_owned(), |id| id.to_string());
    let session = session.map(|id| id.to_string()).unwrap_or_default();
    let phase = phase.map(RunLifecyclePhase::as_str).unwrap_or_default();
    tx.query(&LIST, params![&after, &session, phase, limit], read)
}

/// Runs that have ended before some time.
pub(crate) fn ended_before(
    tx: &mut Tx<'_>,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<RunId>, StorageError> {
    tx.query(&ENDED_BEFORE, params![before, limit], |row| row.parse(0))
}

pub(crate) fn remove(tx: &mut Tx<'_>, run: RunId) -> Result<(), StorageError> {
    tx.execute(&REMOVE, params![text(run)]).map(drop)
}

fn read(row: &Row<'_>) -> Result<Run, StorageError> {
    let optional = |index: usize| -> Result<Option<String>, StorageError> { row.get(index) };
    let parent = match (optional(16)?, optional(17)?) {
        (Some(_), Some(call)) => Some((row.parse(16)?, call)),
        _ => None,
    };
    Ok(Run {
        id: row.parse(0)?,
        session: row.parse(1)?,
        session_seq: row.get(2)?,
        agent: row.parse(3)?,
        phase: row.parse(4)?,
        due_at: row.get(5)?,
        worker: row.get(6)?,
        next_seq: row.get(7)?,
        recoveries: row.get(8)?,
        active: row.get(9)?,
        deadline: row.get(10)?,
        history: row.get(11)?,
        tokens: row.get(12)?,
        micros: row.get(13)?,
        ended: optional(14)?.map(|_| row.parse(14)).transpose()?,
        answers: optional(15)?,
        parent,
        depth: row.get(18)?,
        created_at: row.get(19)?,
        changed_at: row.get(20)?,
    })
}

fn millis(length: Duration) -> i64 {
    int(length.as_millis())
}

fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
