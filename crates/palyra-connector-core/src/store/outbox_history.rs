//! `outbox_history`: what became of entries that have ended.

use palyra_common::ids::{ConnectorId, EnvelopeId, NativeMessageId};
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, claim_sql, params, sql};

use super::outbox::Stored;
use super::to_json;

const ADD: Sql = sql!(
    "INSERT INTO outbox_history (connector_id, envelope_id, part, conversation, state,
         native_message_id, attempts, operation, created_at, ended_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);

/// Where an envelope is that was enqueued before, ended or not.
const FIND: Sql = sql!(
    "SELECT state FROM outbox WHERE connector_id = $1 AND envelope_id = $2 AND part = 0
     UNION ALL
     SELECT state FROM outbox_history WHERE connector_id = $1 AND envelope_id = $2 AND part = 0"
);

const STRIP: Sql = claim_sql!(
    "UPDATE outbox_history SET operation = NULL WHERE (connector_id, envelope_id, part) IN (
         SELECT connector_id, envelope_id, part FROM outbox_history
         WHERE operation IS NOT NULL AND ended_at < $1 ORDER BY ended_at LIMIT $2",
    ")"
);

const SWEEP: Sql = claim_sql!(
    "DELETE FROM outbox_history WHERE (connector_id, envelope_id, part) IN (
         SELECT connector_id, envelope_id, part FROM outbox_history
         WHERE ended_at < $1 ORDER BY ended_at LIMIT $2",
    ")"
);

pub(crate) fn add(
    tx: &mut Tx<'_>,
    ended: &Stored,
    native: Option<&NativeMessageId>,
    at: Timestamp,
) -> Result<(), StorageError> {
    let operation = to_json(&ended.operation)?;
    let params = params![
        ended.key.connector.as_str(),
        ended.key.envelope.as_str(),
        ended.key.part,
        ended.conversation.as_str(),
        ended.entry.state.as_str(),
        native.map(NativeMessageId::as_str),
        ended.entry.attempts,
        &operation,
        ended.created_at,
        at,
    ];
    tx.execute(&ADD, params).map(drop)
}

/// The state of the first part of an envelope, if it was ever enqueued.
pub(crate) fn find(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<Option<OutboxState>, StorageError> {
    let params = params![connector.as_str(), envelope.as_str()];
    tx.query_opt(&FIND, params, |row| row.parse(0))
}

/// Forgets the content of some entries that ended before `before`, and keeps their keys.
pub(crate) fn strip(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&STRIP, params![before, limit])
}

/// Removes some entries that ended before `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
