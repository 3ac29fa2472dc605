//! `connector_status`: what the node that runs a connector last said about it.

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{ConnectorContact, ConnectorLiveness};
use palyra_common::time::Timestamp;
use palyra_policy::connector::{contact, silent_since};
use palyra_storage::{Row, Sql, StorageError, Tx, params, sql};

use super::{from_json, to_json};
use crate::RuntimeSnapshot;

const SAVE: Sql = sql!(
    "INSERT INTO connector_status (connector_id, node, liveness, connection, restarts, last_error,
         last_error_at, told_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (connector_id) DO UPDATE SET node = excluded.node, liveness = excluded.liveness,
         connection = excluded.connection, restarts = excluded.restarts,
         last_error = excluded.last_error, last_error_at = excluded.last_error_at,
         told_at = excluded.told_at"
);

const ONE: Sql = sql!(
    "SELECT node, liveness, connection, restarts, last_error, last_error_at, told_at
     FROM connector_status WHERE connector_id = $1"
);

/// How a connector does, as the node that runs it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorStatus {
    /// The run of the node that says so.
    pub node: String,
    /// What its task is doing.
    pub liveness: ConnectorLiveness,
    /// How its connection is.
    pub connection: RuntimeSnapshot,
    /// How often it was started again since that node runs it.
    pub restarts: i64,
    /// Why it last ended without being asked to.
    pub last_error: Option<String>,
    /// When that was.
    pub last_error_at: Option<Timestamp>,
    /// When this was said.
    pub told_at: Timestamp,
}

impl ConnectorStatus {
    /// Whether the platform was heard when this was said.
    pub fn contact(&self) -> ConnectorContact {
        contact(&self.connection.contact_facts(), self.told_at)
    }

    /// Since when it is not, though there is a connection.
    pub fn silent_since(&self) -> Option<Timestamp> {
        silent_since(&self.connection.contact_facts(), self.told_at)
    }
}

pub(crate) fn save(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    status: &ConnectorStatus,
) -> Result<(), StorageError> {
    let connection = to_json(&status.connection)?;
    let params = params![
        connector.as_str(),
        &status.node,
        status.liveness.as_str(),
        &connection,
        status.restarts,
        status.last_error.as_deref(),
        status.last_error_at,
        status.told_at,
    ];
    tx.execute(&SAVE, params).map(drop)
}

pub(crate) fn one(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
) -> Result<Option<ConnectorStatus>, StorageError> {
    tx.query_opt(&ONE, params![connector.as_str()], read)
}

fn read(row: &Row<'_>) -> Result<ConnectorStatus, StorageError> {
    Ok(ConnectorStatus {
        node: row.get(0)?,
        liveness: row.parse(1)?,
        connection: from_json(row, 2)?,
        restarts: row.get(3)?,
        last_error: row.get(4)?,
        last_error_at: row.get(5)?,
        told_at: row.get(6)?,
    })
}
