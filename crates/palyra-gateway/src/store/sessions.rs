//! `sessions`: conversations with agents.

use palyra_common::ids::{AgentId, ConnectorId, ConversationId, RunId, SessionId};
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, lock_sql, params, sql, text};

/// The surface of conversations in which a run works for another one.
pub(crate) const DELEGATED: &str = "delegated";

macro_rules! columns {
    () => {
        "id, key, agent, surface, title, connector_id, conversation, next_run, next_history, holder,
         archived_at, created_at, changed_at, version, shown_run, shown_history, forked_from,
         forked_run, forked_history, forked_until"
    };
}

const ADD: Sql = sql!(
    "INSERT INTO sessions (id, key, agent, surface, title, connector_id, conversation, next_run,
         next_history, created_at, changed_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 1, 1, $8, $8) ON CONFLICT (key) DO NOTHING"
);

/// Its places go on where those of the other one are, so that a place is one in both.
const ADD_FORK: Sql = sql!(
    "INSERT INTO sessions (id, key, agent, surface, title, next_run, next_history, created_at,
         changed_at, forked_from, forked_run, forked_history, forked_until)
     VALUES ($1, $1, $2, $3, $4, $5, $5, $6, $6, $7, $8, $9, $10)"
);

/// Whoever changes a session or the order of its runs does this first.
const LOCK: Sql = lock_sql!(concat!("SELECT ", columns!(), " FROM sessions WHERE id = $1"));

const LOCK_BY_KEY: Sql = lock_sql!(concat!("SELECT ", columns!(), " FROM sessions WHERE key = $1"));

const ONE: Sql = sql!(concat!("SELECT ", columns!(), " FROM sessions WHERE id = $1"));

const EXISTS: Sql = sql!("SELECT count(*) FROM sessions WHERE key = $1");

const NEXT_RUN: Sql = sql!(
    "UPDATE sessions SET next_run = next_run + 1, holder = $2, changed_at = $3,
         version = version + 1
     WHERE id = $1"
);

const HOLD: Sql = sql!("UPDATE sessions SET holder = $2 WHERE id = $1");

const LET_ALL_GO: Sql = sql!("UPDATE sessions SET holder = NULL WHERE holder IS NOT NULL");

const NEXT_HISTORY: Sql = sql!(
    "UPDATE sessions SET next_history = next_history + 1, changed_at = $2, version = version + 1
     WHERE id = $1 RETURNING next_history"
);

/// The same for a run that may have the session, which nobody has then. It says how many runs have not
/// ended, and whether somebody else has the session.
const END_RUN: Sql = sql!(
    "UPDATE sessions SET next_history = next_history + 1, changed_at = $2, version = version + 1,
         holder = CASE WHEN holder = $3 THEN NULL ELSE holder END
     WHERE id = $1 RETURNING next_history, next_run - next_history, holder"
);

const GIVE_TO: Sql = sql!("UPDATE sessions SET agent = $2, version = version + 1 WHERE id = $1");

/// What it is called does not change when something was said in it.
const RENAME: Sql = sql!("UPDATE sessions SET title = $2, version = version + 1 WHERE id = $1");

/// What comes next is the first that models are shown.
const RESET: Sql = sql!(
    "UPDATE sessions SET shown_run = next_run, shown_history = next_history, changed_at = $2,
         version = version + 1
     WHERE id = $1"
);

/// What is said under its key from now on begins another one. By the key of a delegated one the run that
/// waits for it finds it, and nobody says anything else there.
const ARCHIVE: Sql = sql!(
    "UPDATE sessions SET key = CASE WHEN surface = $3 THEN key ELSE id END, archived_at = $2,
         changed_at = $2, version = version + 1
     WHERE id = $1"
);

/// The newest first.
const LIST: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM sessions WHERE (changed_at < $1 OR changed_at = $1 AND id < $2) AND archived_at IS NULL
     ORDER BY changed_at DESC, id DESC LIMIT $3"
));

/// Those without a run.
const SWEEP: Sql = claim_sql!(
    "DELETE FROM sessions WHERE id IN (
         SELECT id FROM sessions WHERE changed_at < $1 AND holder IS NULL
             AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.session_id = sessions.id)
         ORDER BY changed_at LIMIT $2",
    ")"
);

/// A session as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// What makes it the same conversation: a channel and a place in it, or its id.
    pub key: String,
    /// The agent that answers what is said next.
    pub agent: AgentId,
    /// Where people talk to it.
    pub surface: String,
    /// What it is about.
    pub title: String,
    /// Where answers go. Nothing: they are read from the tape.
    pub reply_to: Option<(ConnectorId, ConversationId)>,
    /// The place of the next run.
    pub(crate) next_run: i64,
    /// The place in the history of the run that ends next.
    pub(crate) next_history: i64,
    /// The run that has it now.
    pub holder: Option<RunId>,
    /// When it was put away.
    pub archived_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub changed_at: Timestamp,
    /// Grows with each change that somebody makes or can see.
    pub version: i64,
    /// Where that begins which models are shown.
    pub(crate) shown: Shown,
    /// The history that comes before its own.
    pub(crate) fork: Option<Fork>,
}

/// Where that begins in a session which models are shown: nothing that was asked before, and nothing that
/// had ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) run: i64,
    pub(crate) history: i64,
}

impl Shown {
    /// Whether that is all.
    pub(crate) fn is_all(self) -> bool {
        self == Self::default()
    }
}

/// A part of the history of another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fork {
    pub(crate) from: SessionId,
    pub(crate) shown: Shown,
    /// The first place in the history that does not belong to it.
    pub(crate) until: i64,
}

/// A session that is to go on from another one.
pub(crate) struct NewFork<'a> {
    pub(crate) id: SessionId,
    pub(crate) agent: &'a AgentId,
    pub(crate) surface: &'a str,
    pub(crate) title: &'a str,
    /// The place of its first run.
    pub(crate) next_run: i64,
    pub(crate) fork: Fork,
}

/// A session that is to be.
#[derive(Debug, Clone)]
pub(crate) struct NewSession<'a> {
    pub(crate) id: SessionId,
    pub(crate) key: &'a str,
    pub(crate) agent: &'a AgentId,
    pub(crate) surface: &'a str,
    pub(crate) title: &'a str,
    pub(crate) reply_to: Option<(&'a ConnectorId, &'a ConversationId)>,
}

/// Says whether there was none with that key.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    new: &NewSession<'_>,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let (connector, conversation) = new.reply_to.unzip();
    let params = params![
        text(new.id),
        new.key,
        new.agent.as_str(),
        new.surface,
        new.title,
        connector.map(ConnectorId::as_str),
        conversation.map(ConversationId::as_str),
        now,
    ];
    Ok(tx.execute(&ADD, params)? == 1)
}

/// Adds one that goes on from another one.
pub(crate) fn add_fork(
    tx: &mut Tx<'_>,
    new: &NewFork<'_>,
    now: Timestamp,
) -> Result<(), StorageError> {
    let NewFork { id, agent, surface, title, next_run, fork } = new;
    let params = params![
        text(*id),
        agent.as_str(),
        *surface,
        *title,
        *next_run,
        now,
        text(fork.from),
        fork.shown.run,
        fork.shown.history,
        fork.until,
    ];
    tx.execute(&ADD_FORK, params).map(drop)
}

pub(crate) fn lock(tx: &mut Tx<'_>, id: SessionId) -> Result<Option<Session>, StorageError> {
    tx.query_opt(&LOCK, params![text(id)], read)
}

pub(crate) fn lock_by_key(tx: &mut Tx<'_>, key: &str) -> Result<Option<Session>, StorageError> {
    tx.query_opt(&LOCK_BY_KEY, params![key], read)
}

pub(crate) fn one(tx: &mut Tx<'_>, id: SessionId) -> Result<Option<Session>, StorageError> {
    tx.query_opt(&ONE, params![text(id)], read)
}

pub(crate) fn exists(tx: &mut Tx<'_>, key: &str) -> Result<bool, StorageError> {
    Ok(tx.query_one(&EXISTS, params![key], |row| row.get::<i64>(0))? > 0)
}

/// Counts a run that was added, and says who has the session from now on.
pub(crate) fn count_run(
    tx: &mut Tx<'_>,
    id: SessionId,
    holder: RunId,
    now: Timestamp,
) -> Result<(), StorageError> {
    tx.execute_later(&NEXT_RUN, params![text(id), text(holder), now])
}

pub(crate) fn hold(
    tx: &mut Tx<'_>,
    id: SessionId,
    holder: Option<RunId>,
) -> Result<(), StorageError> {
    tx.execute_later(&HOLD, params![text(id), holder.map(text)])
}

/// No run has any session any more.
pub(crate) fn let_all_go(tx: &mut Tx<'_>) -> Result<(), StorageError> {
    tx.execute(&LET_ALL_GO, params![]).map(drop)
}

/// The place in the history of a run that ends.
pub(crate) fn take_history(
    tx: &mut Tx<'_>,
    id: SessionId,
    now: Timestamp,
) -> Result<i64, StorageError> {
    Ok(tx.query_one(&NEXT_HISTORY, params![text(id), now], |row| row.get::<i64>(0))? - 1)
}

/// A run that has ended, and the others of its session.
pub(crate) struct Ended {
    /// Its place in the history.
    pub(crate) history: i64,
    /// Whether one of those that have not may have the session: nobody has it.
    pub(crate) is_free: bool,
}

/// Ends a run, and takes the session from it if it has it. Locks the session.
pub(crate) fn end_run(
    tx: &mut Tx<'_>,
    id: SessionId,
    run: RunId,
    now: Timestamp,
) -> Result<Ended, StorageError> {
    tx.query_one(&END_RUN, params![text(id), now, text(run)], |row| {
        let (open, holder): (i64, Option<String>) = (row.get(1)?, row.get(2)?);
        Ok(Ended { history: row.get::<i64>(0)? - 1, is_free: open > 0 && holder.is_none() })
    })
}

/// Another agent answers from now on.
pub(crate) fn give_to(tx: &mut Tx<'_>, id: SessionId, agent: &AgentId) -> Result<(), StorageError> {
    tx.execute(&GIVE_TO, params![text(id), agent.as_str()]).map(drop)
}

pub(crate) fn rename(tx: &mut Tx<'_>, id: SessionId, title: &str) -> Result<(), StorageError> {
    tx.execute(&RENAME, params![text(id), title]).map(drop)
}

/// Keeps what was said from the models that are asked from now on.
pub(crate) fn reset(tx: &mut Tx<'_>, id: SessionId, now: Timestamp) -> Result<(), StorageError> {
    tx.execute(&RESET, params![text(id), now]).map(drop)
}

pub(crate) fn archive(tx: &mut Tx<'_>, id: SessionId, now: Timestamp) -> Result<(), StorageError> {
    tx.execute(&ARCHIVE, params![text(id), now, DELEGATED]).map(drop)
}

/// Sessions that are not put away, the newest first, behind `after`.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    after: Option<(Timestamp, SessionId)>,
    limit: u32,
) -> Result<Vec<Session>, StorageError> {
    let (at, id) = after.unzip();
    let id = id.map(|id| id.to_string()).unwrap_or_default();
    tx.query(&LIST, params![at.unwrap_or(Timestamp::MAX), &id, limit], read)
}

pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}

fn read(row: &Row<'_>) -> Result<Session, StorageError> {
    let parsed = |index: usize| -> Result<Option<String>, StorageError> { row.get(index) };
    let reply_to = match (parsed(5)?, parsed(6)?) {
        (Some(_), Some(_)) => Some((row.parse(5)?, row.parse(6)?)),
        _ => None,
    };
    let fork = match parsed(16)? {
        Some(_) => Some(Fork {
            from: row.parse(16)?,
            shown: Shown { run: row.get(17)?, history: row.get(18)? },
            until: row.get(19)?,
        }),
        None => None,
    };
    Ok(Session {
        id: row.parse(0)?,
        key: row.get(1)?,
        agent: row.parse(2)?,
        surface: row.get(3)?,
        title: row.get(4)?,
        reply_to,
        next_run: row.get(7)?,
        next_history: row.get(8)?,
        holder: parsed(9)?.map(|_| row.parse(9)).transpose()?,
        archived_at: row.get(10)?,
        created_at: row.get(11)?,
        changed_at: row.get(12)?,
        version: row.get(13)?,
        shown: Shown { run: row.get(14)?, history: row.get(15)? },
        fork,
    })
}
