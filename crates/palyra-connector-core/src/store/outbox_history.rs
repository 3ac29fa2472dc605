//! `outbox_history`: what became of entries that have ended.

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, NativeMessageId};
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, claim_sql, lock_sql, params, sql};

use super::outbox::{Stored, key_params};
use super::{from_json, to_json};
use crate::operation::{EntryKey, Operation};

const ADD: Sql = sql!(
    "INSERT INTO outbox_history (connector_id, envelope_id, part, conversation, state,
         native_message_id, attempts, operation, created_at, ended_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);

/// Only whoever makes the attempt may say what came of it.
const DELIVER: Sql = lock_sql!(
    "INSERT INTO outbox_history (connector_id, envelope_id, part, conversation, state,
         native_message_id, attempts, operation, created_at, ended_at)
     SELECT connector_id, envelope_id, part, conversation, 'delivered',
         $5, attempts + 1, operation, created_at, $6
     FROM outbox WHERE connector_id = $1 AND envelope_id = $2 AND part = $3
         AND state = 'sending' AND attempt_token = $4"
);

/// Where an envelope is that was enqueued before, ended or not.
const FIND: Sql = sql!(
    "SELECT state FROM outbox WHERE connector_id = $1 AND envelope_id = $2 AND part = 0
     UNION ALL
     SELECT state FROM outbox_history WHERE connector_id = $1 AND envelope_id = $2 AND part = 0"
);

const ENDED: Sql = sql!(
    "SELECT state FROM outbox_history WHERE connector_id = $1 AND envelope_id = $2 AND part = $3"
);

/// The newest first, before a time and, at that time, a key.
const SAID: Sql = sql!(
    "SELECT envelope_id, part, native_message_id, operation, ended_at FROM outbox_history
     WHERE connector_id = $1 AND conversation = $2 AND state = 'delivered'
         AND operation IS NOT NULL AND ended_at <= $3
     ORDER BY ended_at DESC, envelope_id DESC, part DESC LIMIT $4"
);

const ENVELOPE: Sql = sql!(
    "SELECT part, state, attempts, native_message_id, ended_at FROM outbox_history
     WHERE connector_id = $1 AND envelope_id = $2 ORDER BY part"
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

/// An attempt that has delivered its entry: its token, and the name that the platform gave.
pub(crate) type Delivered<'a> = (&'a EntryKey, i64, Option<&'a NativeMessageId>);

/// Adds entries as delivered, and says of each whether nobody else had it by then. They are still in
/// the outbox.
pub(crate) fn deliver(
    tx: &mut Tx<'_>,
    delivered: &[Delivered<'_>],
    at: Timestamp,
) -> Result<Vec<bool>, StorageError> {
    let sets = delivered.iter().map(|(key, token, native)| {
        let [connector, envelope, part] = key_params(key);
        let native = native.map(NativeMessageId::as_str).into();
        [connector, envelope, part, (*token).into(), native, at.into()]
    });
    let added = tx.execute_many(&DELIVER, sets)?;
    Ok(added.into_iter().map(|changed| changed == 1).collect())
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

/// How an entry has ended, if it has.
pub(crate) fn ended(tx: &mut Tx<'_>, key: &EntryKey) -> Result<Option<OutboxState>, StorageError> {
    let params = params![key.connector.as_str(), key.envelope.as_str(), key.part];
    tx.query_opt(&ENDED, params, |row| row.parse(0))
}

/// A message that was delivered.
pub(crate) struct SaidByUs {
    pub(crate) envelope: EnvelopeId,
    pub(crate) part: i64,
    pub(crate) native: Option<String>,
    pub(crate) operation: Operation,
    pub(crate) at: Timestamp,
}

/// What was delivered to a conversation, the newest first, until `until`.
pub(crate) fn said(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<SaidByUs>, StorageError> {
    let params = params![connector.as_str(), conversation.as_str(), until, limit];
    tx.query(&SAID, params, |row| {
        Ok(SaidByUs {
            envelope: row.parse(0)?,
            part: row.get(1)?,
            native: row.get(2)?,
            operation: from_json(row, 3)?,
            at: row.get(4)?,
        })
    })
}

/// A part of an envelope that has ended.
pub(crate) struct EndedPart {
    pub(crate) part: i64,
    pub(crate) state: OutboxState,
    pub(crate) attempts: i64,
    pub(crate) native: Option<String>,
    pub(crate) at: Timestamp,
}

/// The parts of an envelope that have ended, in order.
pub(crate) fn envelope(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<Vec<EndedPart>, StorageError> {
    tx.query(&ENVELOPE, params![connector.as_str(), envelope.as_str()], |row| {
        Ok(EndedPart {
            part: row.get(0)?,
            state: row.parse(1)?,
            attempts: row.get(2)?,
            native: row.get(3)?,
            at: row.get(4)?,
        })
    })
}

/// Forgets the content of some entries that ended before `before`, and keeps their keys.
pub(crate) fn strip(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&STRIP, params![before, limit])
}

/// Removes some entries that ended before `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
