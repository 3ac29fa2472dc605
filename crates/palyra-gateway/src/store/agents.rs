//! `agents`: who does the work.

use palyra_common::agent::AgentSpec;
use palyra_common::ids::AgentId;
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, params, sql};

use super::{from_text, to_json};

const ADD: Sql = sql!(
    "INSERT INTO agents (id, spec, version, created_at, changed_at) VALUES ($1, $2, 1, $3, $3)
     ON CONFLICT DO NOTHING"
);

const CHANGE: Sql =
    sql!("UPDATE agents SET spec = $2, version = version + 1, changed_at = $3 WHERE id = $1");

const REMOVE: Sql = sql!("DELETE FROM agents WHERE id = $1");

/// Reads an agent for whoever is about to change it.
const LOCK: Sql = sql!(
    "UPDATE agents SET version = version WHERE id = $1
     RETURNING id, spec, version, created_at, changed_at"
);

const ONE: Sql = sql!("SELECT id, spec, version, created_at, changed_at FROM agents WHERE id = $1");

const LIST: Sql = sql!(
    "SELECT id, spec, version, created_at, changed_at FROM agents WHERE id > $1 ORDER BY id LIMIT $2"
);

/// An agent as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its name.
    pub id: AgentId,
    /// What it is.
    pub spec: AgentSpec,
    /// Grows with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub changed_at: Timestamp,
}

/// Says whether there was none of that name.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    id: &AgentId,
    spec: &AgentSpec,
    now: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&ADD, params![id.as_str(), &to_json(spec)?, now])? == 1)
}

pub(crate) fn change(
    tx: &mut Tx<'_>,
    id: &AgentId,
    spec: &AgentSpec,
    now: Timestamp,
) -> Result<(), StorageError> {
    tx.execute(&CHANGE, params![id.as_str(), &to_json(spec)?, now]).map(drop)
}

pub(crate) fn remove(tx: &mut Tx<'_>, id: &AgentId) -> Result<bool, StorageError> {
    Ok(tx.execute(&REMOVE, params![id.as_str()])? == 1)
}

pub(crate) fn lock(tx: &mut Tx<'_>, id: &AgentId) -> Result<Option<Agent>, StorageError> {
    tx.query_opt(&LOCK, params![id.as_str()], read)
}

pub(crate) fn one(tx: &mut Tx<'_>, id: &AgentId) -> Result<Option<Agent>, StorageError> {
    tx.query_opt(&ONE, params![id.as_str()], read)
}

/// Agents by name, behind `after`.
pub(crate) fn list(tx: &mut Tx<'_>, after: &str, limit: u32) -> Result<Vec<Agent>, StorageError> {
    tx.query(&LIST, params![after, limit], read)
}

fn read(row: &Row<'_>) -> Result<Agent, StorageError> {
    Ok(Agent {
        id: row.parse(0)?,
        spec: from_text(&row.get::<String>(1)?)?,
        version: row.get(2)?,
        created_at: row.get(3)?,
        changed_at: row.get(4)?,
    })
}
