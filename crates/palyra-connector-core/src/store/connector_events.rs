//! `connector_events`: what happened to connectors, the last of it.

use palyra_common::ids::{ConnectorId, EventId};
use palyra_common::runtime_contracts::ConnectorEventKind;
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, params, sql};

/// As many are kept of each connector.
const KEPT: u32 = 1_000;

const ADD: Sql = sql!(
    "INSERT INTO connector_events (id, connector_id, at, kind, detail)
     VALUES ($1, $2, $3, $4, $5)"
);

const FORGET: Sql = sql!(
    "DELETE FROM connector_events WHERE connector_id = $1 AND id <= (
         SELECT id FROM connector_events WHERE connector_id = $1
         ORDER BY id DESC LIMIT 1 OFFSET $2)"
);

const LIST: Sql = sql!(
    "SELECT id, connector_id, at, kind, detail FROM connector_events
     WHERE connector_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
);

/// One thing that happened to a connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorEvent {
    /// Its id.
    pub id: EventId,
    /// To which connector.
    pub connector: ConnectorId,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: ConnectorEventKind,
    /// More about it, in words.
    pub detail: Option<String>,
}

pub(crate) fn add(tx: &mut Tx<'_>, event: &ConnectorEvent) -> Result<(), StorageError> {
    let (id, connector) = (event.id.to_string(), event.connector.as_str());
    let (kind, detail) = (event.kind.as_str(), event.detail.as_deref());
    tx.execute(&ADD, params![&id, connector, event.at, kind, detail])?;
    tx.execute(&FORGET, params![connector, KEPT]).map(drop)
}

/// The newest first, before `before`.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    before: Option<EventId>,
    limit: u32,
) -> Result<Vec<ConnectorEvent>, StorageError> {
    // Behind every id, which is made of digits and capital letters.
    let before = before.map_or_else(|| "~".to_owned(), |id| id.to_string());
    tx.query(&LIST, params![connector.as_str(), &before, limit], read)
}

fn read(row: &Row<'_>) -> Result<ConnectorEvent, StorageError> {
    Ok(ConnectorEvent {
        id: row.parse(0)?,
        connector: row.parse(1)?,
        at: row.get(2)?,
        kind: row.parse(3)?,
        detail: row.get(4)?,
    })
}
