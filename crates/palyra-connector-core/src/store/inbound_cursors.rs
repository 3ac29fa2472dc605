//! `inbound_cursors`: how far each conversation was read.

use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_storage::{Sql, StorageError, Tx, params, sql};

const ADVANCE: Sql = sql!(
    "INSERT INTO inbound_cursors (connector_id, conversation, cursor) VALUES ($1, $2, $3)
     ON CONFLICT (connector_id, conversation) DO UPDATE SET cursor = $3"
);

const GET: Sql =
    sql!("SELECT cursor FROM inbound_cursors WHERE connector_id = $1 AND conversation = $2");

pub(crate) fn advance(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    cursor: &str,
) -> Result<(), StorageError> {
    tx.execute(&ADVANCE, params![connector.as_str(), conversation.as_str(), cursor]).map(drop)
}

pub(crate) fn get(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
) -> Result<Option<String>, StorageError> {
    tx.query_opt(&GET, params![connector.as_str(), conversation.as_str()], |row| row.get(0))
}
