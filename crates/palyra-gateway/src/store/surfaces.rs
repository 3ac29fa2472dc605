//! `surfaces`: what agents show in their sessions.

use palyra_common::a2ui::Surface;
use palyra_common::ids::{SessionId, SurfaceId};
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, params, sql, text};

use super::{from_text, to_json};

const SAVE: Sql = sql!(
    "INSERT INTO surfaces (session_id, surface_id, state, version, updated_at)
     VALUES ($1, $2, $3, 1, $4)
     ON CONFLICT (session_id, surface_id) DO UPDATE SET state = excluded.state,
         version = surfaces.version + 1, updated_at = excluded.updated_at"
);

const REMOVE: Sql = sql!("DELETE FROM surfaces WHERE session_id = $1 AND surface_id = $2");

const ONE: Sql = sql!(
    "SELECT surface_id, state, version, updated_at FROM surfaces
     WHERE session_id = $1 AND surface_id = $2"
);

const OF_SESSION: Sql = sql!(
    "SELECT surface_id, state, version, updated_at FROM surfaces
     WHERE session_id = $1 ORDER BY surface_id"
);

const SWEEP: Sql = claim_sql!(
    "DELETE FROM surfaces WHERE (session_id, surface_id) IN (
         SELECT session_id, surface_id FROM surfaces WHERE updated_at < $1
         ORDER BY updated_at LIMIT $2",
    ")"
);

/// A surface as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSurface {
    /// Its id within the session.
    pub id: SurfaceId,
    /// What it is now.
    pub surface: Surface,
    /// Grows with each change.
    pub version: i64,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

pub(crate) fn save(
    tx: &mut Tx<'_>,
    session: SessionId,
    id: &SurfaceId,
    surface: &Surface,
    now: Timestamp,
) -> Result<(), StorageError> {
    let state = to_json(surface)?;
    tx.execute(&SAVE, params![text(session), id.as_str(), &state, now]).map(drop)
}

pub(crate) fn remove(
    tx: &mut Tx<'_>,
    session: SessionId,
    id: &SurfaceId,
) -> Result<(), StorageError> {
    tx.execute(&REMOVE, params![text(session), id.as_str()]).map(drop)
}

pub(crate) fn one(
    tx: &mut Tx<'_>,
    session: SessionId,
    id: &SurfaceId,
) -> Result<Option<StoredSurface>, StorageError> {
    tx.query_opt(&ONE, params![text(session), id.as_str()], read)
}

/// There are few, and none is large.
pub(crate) fn of_session(
    tx: &mut Tx<'_>,
    session: SessionId,
) -> Result<Vec<StoredSurface>, StorageError> {
    tx.query(&OF_SESSION, params![text(session)], read)
}

pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}

fn read(row: &Row<'_>) -> Result<StoredSurface, StorageError> {
    Ok(StoredSurface {
        id: row.parse(0)?,
        surface: from_text(&row.get::<String>(1)?)?,
        version: row.get(2)?,
        updated_at: row.get(3)?,
    })
}
