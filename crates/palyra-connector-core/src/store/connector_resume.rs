//! `connector_resume`: where the connection of a connector can be taken up again.

use palyra_common::ids::ConnectorId;
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, params, sql};

use crate::resume::Save;

/// Whoever has lost the lease, or is late, replaces nothing that is newer.
const SAVE: Sql = sql!(
    "INSERT INTO connector_resume (connector_id, state, token, position, saved_at)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (connector_id) DO UPDATE SET state = excluded.state, token = excluded.token,
         position = excluded.position, saved_at = excluded.saved_at
     WHERE (connector_resume.token, connector_resume.position)
         < (excluded.token, excluded.position)"
);

const GET: Sql = sql!("SELECT state FROM connector_resume WHERE connector_id = $1");

const CLEAR: Sql = sql!("DELETE FROM connector_resume");

pub(crate) fn save(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    save: &Save,
    now: Timestamp,
) -> Result<(), StorageError> {
    let params = params![connector.as_str(), save.state.as_str(), save.token, save.position, now];
    tx.execute(&SAVE, params).map(drop)
}

pub(crate) fn get(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
) -> Result<Option<String>, StorageError> {
    tx.query_opt(&GET, params![connector.as_str()], |row| row.get(0))
}

/// Forgets all of them.
pub(crate) fn clear(tx: &mut Tx<'_>) -> Result<(), StorageError> {
    tx.execute(&CLEAR, params![]).map(drop)
}
