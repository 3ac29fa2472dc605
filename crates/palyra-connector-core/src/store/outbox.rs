//! `outbox`: what is to go out, and what became of it.

pub(crate) mod aside;
pub(crate) mod ended;

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId};
use palyra_common::runtime_contracts::{DeadLetterReason, RetryClass};
use palyra_common::time::Timestamp;
use palyra_policy::outbox::Entry;
use palyra_storage::{Param, Row, Sql, StorageError, Tx, params, sql};
use serde::{Deserialize, Serialize};

use super::{from_json, to_json};
use crate::operation::{EntryKey, Operation};

/// The columns of a [`Stored`], in its order.
macro_rules! columns {
    ($prefix:literal) => {
        concat!(
            $prefix,
            "envelope_id, ",
            $prefix,
            "part, ",
            $prefix,
            "conversation, ",
            $prefix,
            "lane_seq, ",
            $prefix,
            "place, ",
            $prefix,
            "state, ",
            $prefix,
            "attempts, ",
            $prefix,
            "attempt_limit, ",
            $prefix,
            "doubtful, ",
            $prefix,
            "first_attempt_at, ",
            $prefix,
            "looks, ",
            $prefix,
            "due_at, ",
            $prefix,
            "expires_at, ",
            $prefix,
            "attempt_token, ",
            $prefix,
            "operation, ",
            $prefix,
            "death, ",
            $prefix,
            "last_class, ",
            $prefix,
            "last_error, ",
            $prefix,
            "created_at, ",
            $prefix,
            "changed_at, ",
            $prefix,
            "version"
        )
    };
}
use columns;

const ADD: Sql = sql!(
    "INSERT INTO outbox (connector_id, envelope_id, part, conversation, lane_seq, place, state,
         attempts, attempt_limit, doubtful, looks, due_at, expires_at, operation, created_at,
         changed_at, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0, 0, $9, $10, $11, $12, $12, 0)
     ON CONFLICT (connector_id, envelope_id, part) DO NOTHING"
);

const ONE: Sql = sql!(concat!(
    "SELECT ",
    columns!(""),
    " FROM outbox
     WHERE connector_id = $1 AND envelope_id = $2 AND part = $3 AND place < 2"
));

/// Reads an entry for whoever is about to change it: others who want to wait until that is done.
const LOCK: Sql = sql!(concat!(
    "UPDATE outbox SET version = version + 1
     WHERE connector_id = $1 AND envelope_id = $2 AND part = $3 AND place < 2 RETURNING ",
    columns!("")
));

const LATER_PARTS: Sql = sql!(concat!(
    "UPDATE outbox SET version = version + 1
     WHERE connector_id = $1 AND envelope_id = $2 AND part > $3 AND place < 2 RETURNING ",
    columns!("")
));

const SAVE: Sql = sql!(
    "UPDATE outbox SET lane_seq = $4, place = $5, state = $6, attempts = $7, attempt_limit = $8,
         doubtful = $9, first_attempt_at = $10, looks = $11, due_at = $12, expires_at = $13,
         attempt_token = $14, death = $15, last_class = $16, last_error = $17, changed_at = $18
     WHERE connector_id = $1 AND envelope_id = $2 AND part = $3"
);

/// The entry at a place in a lane, if it is still in it. SQLite would note first which rows it has
/// found and how they were, unless it is told that there is one.
macro_rules! at_place {
    (sqlite) => {
        "rowid = (SELECT rowid FROM outbox
             WHERE connector_id = $1 AND conversation = $2 AND lane_seq = $3) AND place <= 0"
    };
    (postgres) => {
        "outbox.connector_id = $1 AND outbox.conversation = $2 AND lane_seq = $3
             AND place <= 0"
    };
}
pub(super) use at_place;

macro_rules! begin {
    ($engine:tt) => {
        concat!(
            "UPDATE outbox SET state = 'sending', first_attempt_at = $5, due_at = NULL,
                 attempt_token = $6, changed_at = $7, version = version + 1
             WHERE version = $4 AND ",
            at_place!($engine)
        )
    };
}

/// Only whoever read this version may write on the strength of it. Found by its place in the lane,
/// where it was read, and not by its key, which would have to be looked up.
const BEGIN: Sql = sql!(sqlite: begin!(sqlite), postgres: begin!(postgres));

const DUE_HEADS: Sql = sql!(concat!(
    "SELECT ",
    columns!("o."),
    " FROM outbox_lanes l
     JOIN outbox o ON o.connector_id = l.connector_id AND o.conversation = l.conversation
         AND o.lane_seq = l.head_seq AND o.place <= 0
     WHERE l.connector_id = $1 AND l.due_at <= $2
     ORDER BY l.due_at LIMIT $3"
));

/// Attempts under way. In an order for which no index serves that holds what has ended as well.
macro_rules! under_way {
    ($whose:literal) => {
        concat!(
            "SELECT ",
            columns!(""),
            " FROM outbox WHERE connector_id = $1 AND state = 'sending' AND attempt_token ",
            $whose,
            " ORDER BY conversation LIMIT $3"
        )
    };
}

const LEFT_BEHIND: Sql = sql!(under_way!("<> $2"));

/// Attempts of the holder itself.
const OWN: Sql = sql!(under_way!("= $2"));

/// Whatever has not ended and waits for nobody's decision.
const DOUBT_ALL: Sql = sql!(
    "UPDATE outbox SET state = 'unknown', place = 1, doubtful = 1, due_at = NULL,
         attempt_token = NULL, last_error = $2, changed_at = $1, version = version + 1
     WHERE state IN ('pending', 'sending') OR (state = 'unknown' AND place <= 0)
     RETURNING connector_id, envelope_id"
);

/// Parts of a message that go out by themselves when it is their turn.
const UNDER_WAY: Sql =
    sql!("SELECT count(*) FROM outbox WHERE connector_id = $1 AND envelope_id = $2 AND place <= 0");

/// An entry as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Which entry.
    pub key: EntryKey,
    /// Where to.
    pub conversation: ConversationId,
    /// Its place in the lane.
    pub lane_seq: Option<i64>,
    /// Whether it has stepped aside.
    pub aside: bool,
    /// Whether it is aside or was, and others of its lane have gone before it.
    pub late: bool,
    /// What decides its fate.
    pub entry: Entry,
    /// The fencing token of whoever makes the attempt under way.
    pub attempt_token: Option<i64>,
    /// What to do.
    pub operation: Operation,
    /// Whether it is the last part of its message.
    pub is_last: bool,
    /// Why it died.
    pub death: Option<DeadLetterReason>,
    /// Why the last attempt failed.
    pub last_class: Option<RetryClass>,
    /// The same in words.
    pub last_error: Option<String>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub changed_at: Timestamp,
    /// Grows with each change.
    pub version: i64,
}

/// What stands in the column `operation`.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    #[serde(flatten)]
    operation: T,
    /// Whether another part of the message follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

/// Where an entry stands that has not ended: in its lane, in it again, or aside.
fn place(stored: &Stored) -> i64 {
    match (stored.aside, stored.late) {
        (true, _) => 1,
        (false, true) => -1,
        (false, false) => 0,
    }
}

/// Says whether it was not there yet.
pub(crate) fn add(tx: &mut Tx<'_>, stored: &Stored) -> Result<bool, StorageError> {
    let Stored { key, entry, .. } = stored;
    let kept = Kept { operation: &stored.operation, more: !stored.is_last };
    let operation = to_json(&kept)?;
    let params = params![
        key.connector.as_str(),
        key.envelope.as_str(),
        key.part,
        stored.conversation.as_str(),
        stored.lane_seq,
        place(stored),
        entry.state.as_str(),
        entry.attempt_limit,
        entry.due_at,
        entry.expires_at,
        &operation,
        stored.created_at,
    ];
    Ok(tx.execute(&ADD, params)? == 1)
}

pub(crate) fn save(tx: &mut Tx<'_>, stored: &Stored) -> Result<(), StorageError> {
    let Stored { key, entry, .. } = stored;
    let params = params![
        key.connector.as_str(),
        key.envelope.as_str(),
        key.part,
        stored.lane_seq,
        place(stored),
        entry.state.as_str(),
        entry.attempts,
        entry.attempt_limit,
        entry.doubtful,
        entry.first_attempt_at,
        entry.looks,
        entry.due_at,
        entry.expires_at,
        stored.attempt_token,
        stored.death.map(DeadLetterReason::as_str),
        stored.last_class.map(RetryClass::as_str),
        stored.last_error.as_deref(),
        stored.changed_at,
    ];
    tx.execute(&SAVE, params).map(drop)
}

/// Writes down that attempts begin, and says of each whether its entry is as it was read.
pub(crate) fn begin(
    tx: &mut Tx<'_>,
    attempts: &[(&Stored, Entry)],
    token: i64,
    now: Timestamp,
) -> Result<Vec<bool>, StorageError> {
    let sets = attempts.iter().map(|(read, began)| {
        let [connector, conversation, seq] = lane_params(read);
        let (version, first) = (read.version.into(), began.first_attempt_at.into());
        [connector, conversation, seq, version, first, token.into(), now.into()]
    });
    let begun = tx.execute_many(&BEGIN, sets)?;
    Ok(begun.into_iter().map(|changed| changed == 1).collect())
}

/// One entry, to look at.
pub(crate) fn one(tx: &mut Tx<'_>, key: &EntryKey) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&ONE, &key_params(key), |row| read(row, &key.connector))
}

/// One entry, to change.
pub(crate) fn lock(tx: &mut Tx<'_>, key: &EntryKey) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&LOCK, &key_params(key), |row| read(row, &key.connector))
}

/// The parts behind one, in order, to change.
pub(crate) fn lock_later_parts(
    tx: &mut Tx<'_>,
    key: &EntryKey,
) -> Result<Vec<Stored>, StorageError> {
    let later = tx.query(&LATER_PARTS, &key_params(key), |row| read(row, &key.connector));
    let mut later = later?;
    later.sort_by_key(|stored| stored.key.part);
    Ok(later)
}

/// The first entries of the lanes that are due.
pub(crate) fn due_heads(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Stored>, StorageError> {
    tx.query(&DUE_HEADS, params![connector.as_str(), now, limit], |row| read(row, connector))
}

/// Attempts under way of others than `token`.
pub(crate) fn left_behind(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    whose: Whose,
    limit: u32,
) -> Result<Vec<Stored>, StorageError> {
    let (statement, token) = match whose {
        Whose::BeforeUs(token) => (&LEFT_BEHIND, token),
        Whose::Ours(token) => (&OWN, token),
    };
    tx.query(statement, params![connector.as_str(), token, limit], |row| read(row, connector))
}

/// Who made attempts that are not under way any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Everybody who had another token than this one.
    BeforeUs(i64),
    /// Whoever has this token.
    Ours(i64),
}

/// Sets everything aside that would go out by itself, as unknown. Gives the message of each.
pub(crate) fn doubt_all(
    tx: &mut Tx<'_>,
    now: Timestamp,
    error: &str,
) -> Result<Vec<(ConnectorId, EnvelopeId)>, StorageError> {
    tx.query(&DOUBT_ALL, params![now, error], |row| Ok((row.parse(0)?, row.parse(1)?)))
}

/// Whether something of a message goes out by itself.
pub(crate) fn is_under_way(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<bool, StorageError> {
    let params = params![connector.as_str(), envelope.as_str()];
    Ok(tx.query_one(&UNDER_WAY, params, |row| row.get::<i64>(0))? > 0)
}

pub(super) fn key_params(key: &EntryKey) -> [Param<'_>; 3] {
    [key.connector.as_str().into(), key.envelope.as_str().into(), key.part.into()]
}

/// Where an entry is in its lane.
pub(super) fn lane_params(stored: &Stored) -> [Param<'_>; 3] {
    let conversation = stored.conversation.as_str().into();
    [stored.key.connector.as_str().into(), conversation, stored.lane_seq.into()]
}

fn read(row: &Row<'_>, connector: &ConnectorId) -> Result<Stored, StorageError> {
    let number = |index| number(row, index);
    let flag = |index| Ok::<_, StorageError>(row.get::<i64>(index)? != 0);
    let place: i64 = row.get(4)?;
    let kept: Kept<Operation> = from_json(row, 14)?;
    let key = EntryKey { connector: connector.clone(), envelope: row.parse(0)?, part: number(1)? };
    let entry = Entry {
        state: row.parse(5)?,
        attempts: number(6)?,
        attempt_limit: number(7)?,
        doubtful: flag(8)?,
        first_attempt_at: row.get(9)?,
        looks: number(10)?,
        due_at: row.get(11)?,
        expires_at: row.get(12)?,
    };
    Ok(Stored {
        key,
        conversation: row.parse(2)?,
        lane_seq: row.get(3)?,
        aside: place == 1,
        late: place != 0,
        entry,
        attempt_token: row.get(13)?,
        operation: kept.operation,
        is_last: !kept.more,
        death: parse_opt(row, 15)?,
        last_class: parse_opt(row, 16)?,
        last_error: row.get(17)?,
        created_at: row.get(18)?,
        changed_at: row.get(19)?,
        version: row.get(20)?,
    })
}

fn number(row: &Row<'_>, index: usize) -> Result<u32, StorageError> {
    let value: i64 = row.get(index)?;
    u32::try_from(value).map_err(|_| StorageError::InvalidValue {
        what: format!("column {index} of outbox holds {value}"),
    })
}

fn parse_opt<T>(row: &Row<'_>, index: usize) -> Result<Option<T>, StorageError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    match row.get::<Option<String>>(index)? {
        Some(_) => row.parse(index).map(Some),
        None => Ok(None),
    }
}
