//! What became of it. The key outlives the content, so that nothing is sent a second time.

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, NativeMessageId};
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_storage::{Param, Row, Sql, StorageError, Tx, claim_sql, params, sql};

use super::{Kept, Stored, at_place, key_params, lane_params, number};
use crate::operation::{EntryKey, Operation};
use crate::store::from_json;

/// Where an entry stands that has ended when it was the first of its lane.
const IN_TURN: i64 = 2;
/// And one that was aside, and has let others go before it.
const OUT_OF_TURN: i64 = 4;

const END: Sql = sql!(
    "UPDATE outbox SET state = $4, place = $8, attempts = $5, native_message_id = $6,
         due_at = NULL, attempt_token = NULL, changed_at = $7, version = version + 1
     WHERE connector_id = $1 AND envelope_id = $2 AND part = $3"
);

macro_rules! deliver {
    ($engine:tt, $lane:literal) => {
        concat!(
            "UPDATE outbox SET state = 'delivered', place = CASE place WHEN 0 THEN 2 ELSE 4 END,
                 attempts = attempts + 1, native_message_id = $5, due_at = NULL,
                 attempt_token = NULL, changed_at = $6, version = version + 1 ",
            $lane,
            " WHERE attempt_token = $4 AND ",
            at_place!($engine)
        )
    };
}

/// Only whoever makes the attempt may say what came of it: an entry has a token as long as one is under
/// way. That it is being sent is not asked for, or Postgres would look through all that are. There it
/// takes the lock of the lane on its way, which the statement about the lane that follows would have to
/// wait for.
const DELIVER: Sql = sql!(
    sqlite: deliver!(sqlite, ""),
    postgres: deliver!(
        postgres,
        "FROM (SELECT 1 FROM outbox_lanes WHERE connector_id = $1 AND conversation = $2 FOR UPDATE)
             AS lane"
    ),
);

/// Where an envelope is that was enqueued before, ended or not.
const FIND: Sql = sql!(
    "SELECT state FROM outbox WHERE connector_id = $1 AND envelope_id = $2 ORDER BY part LIMIT 1"
);

const NAMED: Sql = sql!(
    "SELECT part FROM outbox
     WHERE connector_id = $1 AND conversation = $2 AND native_message_id = $3"
);

const ENDED: Sql = sql!(
    "SELECT state FROM outbox
     WHERE connector_id = $1 AND envelope_id = $2 AND part = $3 AND place >= 2"
);

macro_rules! said {
    ($which:literal) => {
        concat!(
            "SELECT envelope_id, part, native_message_id, operation, changed_at FROM outbox
             WHERE connector_id = $1 AND conversation = $2 AND changed_at <= $3
                 AND state = 'delivered' AND ",
            $which,
            " LIMIT $4"
        )
    };
}

/// The newest first, until a time: what has ended in its turn, in the order of the lane.
const SAID: Sql = sql!(said!("place = 2 AND lane_seq IS NOT NULL ORDER BY lane_seq DESC"));

/// And what has ended out of it.
const SAID_LATE: Sql =
    sql!(said!("place = 4 ORDER BY changed_at DESC, envelope_id DESC, part DESC"));

const ENVELOPE: Sql = sql!(
    "SELECT part, state, attempts, native_message_id, last_error, due_at, changed_at FROM outbox
     WHERE connector_id = $1 AND envelope_id = $2 ORDER BY part"
);

/// The content of an envelope, where it is not forgotten.
const CONTENT: Sql = sql!(
    "SELECT part, conversation, operation FROM outbox
     WHERE connector_id = $1 AND envelope_id = $2 AND operation IS NOT NULL ORDER BY part"
);

/// Only what has content has its place in the order of what was said.
const STRIP: Sql = claim_sql!(
    "UPDATE outbox SET operation = NULL, place = 3, lane_seq = NULL
     WHERE (connector_id, envelope_id, part) IN (
         SELECT connector_id, envelope_id, part FROM outbox
         WHERE place >= 2 AND place IN (2, 4) AND changed_at < $1 LIMIT $2",
    ")"
);

const SWEEP: Sql = claim_sql!(
    "DELETE FROM outbox WHERE (connector_id, envelope_id, part) IN (
         SELECT connector_id, envelope_id, part FROM outbox
         WHERE place >= 2 AND place = 3 AND changed_at < $1 LIMIT $2",
    ")"
);

/// Writes down how an entry has ended.
pub(crate) fn end(
    tx: &mut Tx<'_>,
    ended: &Stored,
    native: Option<&NativeMessageId>,
) -> Result<(), StorageError> {
    let [connector, envelope, part] = key_params(&ended.key);
    let params = [
        connector,
        envelope,
        part,
        ended.entry.state.as_str().into(),
        ended.entry.attempts.into(),
        name(ended, native),
        ended.changed_at.into(),
        if ended.late { OUT_OF_TURN } else { IN_TURN }.into(),
    ];
    tx.execute(&END, &params).map(drop)
}

/// An attempt that has delivered its entry: its token, and the name that the platform gave.
pub(crate) type Delivered<'a> = (&'a Stored, i64, Option<&'a NativeMessageId>);

/// Ends entries as delivered, and says of each whether nobody else had it by then. Their lanes are
/// locked. All are refused if one of them has a name that another message has.
pub(crate) fn deliver(
    tx: &mut Tx<'_>,
    delivered: &[Delivered<'_>],
    at: Timestamp,
) -> Result<Vec<bool>, StorageError> {
    let sets = delivered.iter().map(|(stored, token, native)| {
        let [connector, conversation, seq] = lane_params(stored);
        [connector, conversation, seq, (*token).into(), name(stored, *native), at.into()]
    });
    let ended = tx.execute_many(&DELIVER, sets)?;
    Ok(ended.into_iter().map(|changed| changed == 1).collect())
}

/// The name under which an entry is known on the platform. A change is no message, and says itself
/// which one it is about.
fn name<'a>(ended: &Stored, native: Option<&'a NativeMessageId>) -> Param<'a> {
    let native = native.filter(|_| matches!(ended.operation, Operation::Send { .. }));
    native.map(NativeMessageId::as_str).into()
}

/// Whether an entry has ended under this name of the platform.
pub(crate) fn is_taken(
    tx: &mut Tx<'_>,
    stored: &Stored,
    native: &NativeMessageId,
) -> Result<bool, StorageError> {
    let (connector, conversation) = (stored.key.connector.as_str(), stored.conversation.as_str());
    let params = params![connector, conversation, native.as_str()];
    Ok(tx.query_opt(&NAMED, params, |row| row.get::<i64>(0))?.is_some())
}

/// The state of the first part of an envelope that is not forgotten, if any.
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
    tx.query_opt(&ENDED, &key_params(key), |row| row.parse(0))
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
    let read = |row: &Row<'_>| {
        Ok(SaidByUs {
            envelope: row.parse(0)?,
            part: row.get(1)?,
            native: row.get(2)?,
            operation: from_json(row, 3)?,
            at: row.get(4)?,
        })
    };
    let mut said = tx.query(&SAID, params, read)?;
    said.extend(tx.query(&SAID_LATE, params, read)?);
    // Stable: of one moment, the lane knows which was the later one.
    said.sort_by_key(|said| std::cmp::Reverse(said.at));
    said.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(said)
}

/// A part of an envelope, ended or not.
pub(crate) struct Part {
    pub(crate) part: i64,
    pub(crate) state: OutboxState,
    pub(crate) attempts: i64,
    pub(crate) native: Option<String>,
    pub(crate) last_error: Option<String>,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) changed_at: Timestamp,
}

/// The parts of an envelope, in order.
pub(crate) fn envelope(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<Vec<Part>, StorageError> {
    tx.query(&ENVELOPE, params![connector.as_str(), envelope.as_str()], |row| {
        Ok(Part {
            part: row.get(0)?,
            state: row.parse(1)?,
            attempts: row.get(2)?,
            native: row.get(3)?,
            last_error: row.get(4)?,
            due_at: row.get(5)?,
            changed_at: row.get(6)?,
        })
    })
}

/// What a part of an envelope is about.
pub(crate) struct PartContent {
    pub(crate) part: u32,
    pub(crate) conversation: ConversationId,
    pub(crate) operation: Operation,
}

/// The parts of an envelope whose content is not forgotten, in order.
pub(crate) fn content(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<Vec<PartContent>, StorageError> {
    tx.query(&CONTENT, params![connector.as_str(), envelope.as_str()], |row| {
        let kept: Kept<Operation> = from_json(row, 2)?;
        Ok(PartContent {
            part: number(row, 0)?,
            conversation: row.parse(1)?,
            operation: kept.operation,
        })
    })
}

/// Forgets the content of some entries that ended before `before`, and keeps their keys.
pub(crate) fn strip(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&STRIP, params![before, limit])
}

/// Removes some keys of entries that ended before `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
