//! `inbound_events`: what came in, once each.

use palyra_common::ids::{ConnectorId, ConversationId, NativeMessageId};
use palyra_common::runtime_contracts::{InboundState, RouteReason};
use palyra_common::time::Timestamp;
use palyra_policy::inbound::Received;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, params, sql};

use super::{from_json, to_json};
use crate::{Content, InboundEvent};

const ADD: Sql = sql!(
    "INSERT INTO inbound_events (connector_id, native_message_id, conversation, thread, sender,
         content, occurred_at, received_at, state, failures, due_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'received', 0, $8)
     ON CONFLICT (connector_id, native_message_id) DO NOTHING"
);

const SAVE: Sql = sql!(
    "UPDATE inbound_events SET state = $3, reason = $4, failures = $5, due_at = $6,
         session_key = $7
     WHERE connector_id = $1 AND native_message_id = $2"
);

/// Rows that another node is deciding about are left to it.
const CLAIM: Sql = claim_sql!(
    "SELECT connector_id, native_message_id, conversation, thread, sender, content, occurred_at,
         failures, due_at
     FROM inbound_events WHERE due_at <= $1 AND content IS NOT NULL
     ORDER BY due_at, received_at LIMIT $2",
    ""
);

const NEXT_DUE: Sql = sql!("SELECT min(due_at) FROM inbound_events WHERE due_at IS NOT NULL");

/// The newest first.
const UNDECIDED: Sql = sql!(
    "SELECT connector_id, native_message_id, conversation, sender, received_at
     FROM inbound_events WHERE due_at IS NOT NULL
     ORDER BY received_at DESC, connector_id, native_message_id LIMIT $1"
);

const SET_ASIDE: Sql = sql!(
    "UPDATE inbound_events SET state = 'ignored', reason = $1, due_at = NULL
     WHERE due_at IS NOT NULL"
);

/// The newest first.
const SAID: Sql = sql!(
    "SELECT native_message_id, sender, content, received_at, state, reason FROM inbound_events
     WHERE connector_id = $1 AND conversation = $2 AND received_at <= $3 AND content IS NOT NULL
     ORDER BY received_at DESC, native_message_id DESC LIMIT $4"
);

const DECIDED: Sql = sql!(
    "SELECT state, reason FROM inbound_events WHERE connector_id = $1 AND native_message_id = $2"
);

const STRIP: Sql = claim_sql!(
    "UPDATE inbound_events SET content = NULL WHERE (connector_id, native_message_id) IN (
         SELECT connector_id, native_message_id FROM inbound_events
         WHERE content IS NOT NULL AND due_at IS NULL AND received_at < $1
         ORDER BY received_at LIMIT $2",
    ")"
);

const SWEEP: Sql = claim_sql!(
    "DELETE FROM inbound_events WHERE (connector_id, native_message_id) IN (
         SELECT connector_id, native_message_id FROM inbound_events
         WHERE due_at IS NULL AND received_at < $1 ORDER BY received_at LIMIT $2",
    ")"
);

/// Says whether it had not come in before.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    event: &InboundEvent,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let content = to_json(&event.content)?;
    let params = params![
        event.connector.as_str(),
        event.message.as_str(),
        event.conversation.as_str(),
        event.thread.as_deref(),
        &event.sender,
        &content,
        event.occurred_at,
        now,
    ];
    Ok(tx.execute(&ADD, params)? == 1)
}

pub(crate) fn save(
    tx: &mut Tx<'_>,
    event: &InboundEvent,
    received: &Received,
    session_key: Option<&str>,
) -> Result<(), StorageError> {
    let params = params![
        event.connector.as_str(),
        event.message.as_str(),
        received.state.as_str(),
        received.reason.map(RouteReason::as_str),
        received.failures,
        received.due_at,
        session_key,
    ];
    tx.execute(&SAVE, params).map(drop)
}

/// Messages that are still to be decided, longest waiting first.
pub(crate) fn claim_due(
    tx: &mut Tx<'_>,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<(InboundEvent, Received)>, StorageError> {
    tx.query(&CLAIM, params![now, limit], read)
}

pub(crate) fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StorageError> {
    tx.query_one(&NEXT_DUE, params![], |row| row.get(0))
}

fn read(row: &Row<'_>) -> Result<(InboundEvent, Received), StorageError> {
    let event = InboundEvent {
        connector: row.parse(0)?,
        message: row.parse(1)?,
        conversation: row.parse(2)?,
        thread: row.get(3)?,
        sender: row.get(4)?,
        content: from_json(row, 5)?,
        occurred_at: row.get(6)?,
        cursor: None,
    };
    let failures: i64 = row.get(7)?;
    let received = Received {
        state: InboundState::Received,
        reason: None,
        failures: u32::try_from(failures).unwrap_or(u32::MAX),
        due_at: row.get(8)?,
    };
    Ok((event, received))
}

/// A message about which nothing is decided.
pub(crate) struct Undecided {
    pub(crate) connector: ConnectorId,
    pub(crate) message: String,
    pub(crate) conversation: ConversationId,
    pub(crate) sender: String,
    pub(crate) received_at: Timestamp,
}

/// Messages about which nothing is decided, the newest first.
pub(crate) fn undecided(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<Undecided>, StorageError> {
    tx.query(&UNDECIDED, params![limit], |row| {
        Ok(Undecided {
            connector: row.parse(0)?,
            message: row.get(1)?,
            conversation: row.parse(2)?,
            sender: row.get(3)?,
            received_at: row.get(4)?,
        })
    })
}

/// Decides that no agent is to have what is undecided. Says how many those were.
pub(crate) fn ignore_undecided(tx: &mut Tx<'_>, reason: RouteReason) -> Result<u64, StorageError> {
    tx.execute(&SET_ASIDE, params![reason.as_str()])
}

/// A message that came in.
pub(crate) struct SaidByOthers {
    pub(crate) message: String,
    pub(crate) sender: String,
    pub(crate) content: Content,
    pub(crate) received_at: Timestamp,
    pub(crate) state: InboundState,
    pub(crate) reason: Option<RouteReason>,
}

/// What came in in a conversation, the newest first, until `until`.
pub(crate) fn said(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<SaidByOthers>, StorageError> {
    let params = params![connector.as_str(), conversation.as_str(), until, limit];
    tx.query(&SAID, params, |row| {
        Ok(SaidByOthers {
            message: row.get(0)?,
            sender: row.get(1)?,
            content: from_json(row, 2)?,
            received_at: row.get(3)?,
            state: row.parse(4)?,
            reason: row.get::<Option<String>>(5)?.map(|_| row.parse(5)).transpose()?,
        })
    })
}

/// What was decided of a message, as long as its key is kept.
pub(crate) fn decided(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    message: &NativeMessageId,
) -> Result<Option<(InboundState, Option<RouteReason>)>, StorageError> {
    let found = tx.query(&DECIDED, params![connector.as_str(), message.as_str()], |row| {
        let reason = row.get::<Option<String>>(1)?.map(|_| row.parse(1)).transpose()?;
        Ok((row.parse(0)?, reason))
    })?;
    Ok(found.into_iter().next())
}

/// Forgets the content of some messages that came in before `before`, and keeps their keys.
pub(crate) fn strip(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&STRIP, params![before, limit])
}

/// Removes some messages that came in before `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
