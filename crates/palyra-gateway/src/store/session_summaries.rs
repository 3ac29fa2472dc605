//! `session_summaries`: what stands for the beginning of a long conversation.

use palyra_common::ids::{AuxiliaryTaskId, SessionId};
use palyra_common::runtime_contracts::Trust;
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, claim_sql, params, sql, text};

/// Only one that reaches further takes the place of another.
const KEEP: Sql = sql!(
    "INSERT INTO session_summaries (session_id, through, text, trust, task_id, changed_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (session_id) DO UPDATE SET through = EXCLUDED.through, text = EXCLUDED.text,
         trust = EXCLUDED.trust, task_id = EXCLUDED.task_id, changed_at = EXCLUDED.changed_at
     WHERE session_summaries.through < EXCLUDED.through"
);

const ONE: Sql = sql!("SELECT through, text, trust FROM session_summaries WHERE session_id = $1");

/// Those of conversations that are gone.
const SWEEP: Sql = claim_sql!(
    "DELETE FROM session_summaries WHERE session_id IN (
         SELECT session_id FROM session_summaries WHERE changed_at < $1
             AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id)
         ORDER BY changed_at LIMIT $2",
    ")"
);

/// What stands for everything up to a place in the history of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    /// The last place that is in it.
    pub(crate) through: i64,
    pub(crate) text: String,
    /// How far the least trusted text in it is trusted.
    pub(crate) trust: Trust,
}

pub(crate) fn keep(
    tx: &mut Tx<'_>,
    session: SessionId,
    summary: &Summary,
    task: AuxiliaryTaskId,
    now: Timestamp,
) -> Result<(), StorageError> {
    let Summary { through, text: words, trust } = summary;
    let params = params![text(session), *through, words, trust.as_str(), text(task), now];
    tx.execute(&KEEP, params).map(drop)
}

pub(crate) fn one(tx: &mut Tx<'_>, session: SessionId) -> Result<Option<Summary>, StorageError> {
    tx.query_opt(&ONE, params![text(session)], |row| {
        Ok(Summary { through: row.get(0)?, text: row.get(1)?, trust: row.parse(2)? })
    })
}

pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
