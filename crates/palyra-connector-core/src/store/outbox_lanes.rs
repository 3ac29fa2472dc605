//! `outbox_lanes`: one row per conversation. What is due is found here, so that it costs the same
//! however much waits.

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId};
use palyra_common::queue::QueueSettings;
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, lock_sql, params, sql};

use super::connectors::QueueClock;
use super::from_json;

/// What the queue needs to know of the connector: a statement of its own would be another way there
/// and back.
macro_rules! places {
    () => {
        " RETURNING next_seq, depth, (SELECT queue FROM connectors WHERE id = $1),
             (SELECT stopped_since FROM connectors WHERE id = $1),
             (SELECT stopped_before FROM connectors WHERE id = $1)"
    };
}

macro_rules! append {
    ($first:literal, $which:literal) => {
        concat!(
            "UPDATE outbox_lanes SET ",
            $first,
            " next_seq = next_seq + $3, depth = depth + $3
             WHERE connector_id = $1 AND conversation = $2",
            $which,
            places!()
        )
    };
}

/// Takes places at the end. The row stays locked, so that whoever else wants places in this lane
/// waits for the commit. SQLite changes an index with what it is about, also where that stays the
/// same, so there an empty lane is another case.
const APPEND: Sql = sql!(
    sqlite: append!("", " AND head_seq IS NOT NULL AND $4 IS NOT NULL"),
    postgres: append!(
        "head_seq = coalesce(head_seq, next_seq),
         due_at = CASE WHEN head_seq IS NULL THEN $4 ELSE due_at END,",
        ""
    ),
);

/// The same where nothing is in the lane, or it is new: then it goes on behind what was said. Nothing
/// is taken of a connector that does not exist.
const BEGIN: Sql = sql!(concat!(
    "INSERT INTO outbox_lanes (connector_id, conversation, next_seq, depth, head_seq, due_at)
     SELECT connectors.id, $2, past.next + $3, $3, past.next, $4 FROM connectors, (
         SELECT coalesce(max(lane_seq) + 1, 0) AS next FROM outbox
         WHERE connector_id = $1 AND conversation = $2 AND lane_seq IS NOT NULL) AS past
     WHERE connectors.id = $1
     ON CONFLICT (connector_id, conversation) DO UPDATE SET
         next_seq = outbox_lanes.next_seq + $3,
         depth = outbox_lanes.depth + $3,
         head_seq = coalesce(outbox_lanes.head_seq, outbox_lanes.next_seq),
         due_at = CASE WHEN outbox_lanes.head_seq IS NULL THEN $4 ELSE outbox_lanes.due_at END",
    places!()
));

/// Locks the lane. Whoever waited for that must look at its entries in a statement of its own: one
/// that has waited still sees what there was before.
const LOCK: Sql =
    lock_sql!("SELECT next_seq FROM outbox_lanes WHERE connector_id = $1 AND conversation = $2");

/// Nothing is in a lane before its first but what has come back from aside; and of a conversation one
/// is sent at a time, so that one under way stays first until it has ended.
const REFRESH: Sql = sql!(
    "UPDATE outbox_lanes SET depth = depth + $3, (head_seq, due_at) = (
         SELECT lane_seq, due_at FROM outbox
         WHERE connector_id = $1 AND conversation = $2 AND place <= 0 AND lane_seq >= coalesce(
             (SELECT min(back.lane_seq) FROM outbox AS back
              WHERE back.connector_id = $1 AND back.conversation = $2 AND back.place = -1
                  AND (outbox_lanes.head_seq IS NULL OR back.lane_seq < outbox_lanes.head_seq)
                  AND NOT EXISTS (SELECT 1 FROM outbox AS head
                      WHERE head.connector_id = $1 AND head.conversation = $2
                          AND head.lane_seq = outbox_lanes.head_seq AND head.place <= 0
                          AND head.state = 'sending')),
             outbox_lanes.head_seq)
         ORDER BY lane_seq LIMIT 1)
     WHERE connector_id = $1 AND conversation = $2"
);

/// The lane is busy, if this is still its first entry. Found by its key: Postgres would rather look
/// through all that are due, and through those that were since it last cleaned up.
const TAKE: Sql = sql!(
    "UPDATE outbox_lanes SET due_at = NULL
     WHERE connector_id = $1 AND conversation = $2 AND head_seq = $3
         AND coalesce(due_at <= $4, 1 = 0)"
);

/// The first entries of these lanes.
macro_rules! heads {
    ($lanes:literal) => {
        concat!(
            " FROM ",
            $lanes,
            " l JOIN outbox o ON o.connector_id = l.connector_id
                 AND o.conversation = l.conversation AND o.lane_seq = l.head_seq AND o.place <= 0
             WHERE l.connector_id = $1"
        )
    };
}

/// What is in a lane has a time, or is being sent, one of a conversation at a time. Each is found by an
/// index of its own: neither lanes in which nothing is are walked over, nor what has ended.
macro_rules! waiting {
    () => {
        concat!(
            "SELECT count(*), CAST(coalesce(sum(l.depth), 0) AS BIGINT), coalesce(max(l.depth), 0),
                 CAST(coalesce(sum(CASE WHEN o.state = 'sending' THEN 1 ELSE 0 END), 0) AS BIGINT),
                 CAST(coalesce(sum(CASE WHEN o.due_at > $2 AND o.last_class = 'rate_limit'
                     THEN 1 ELSE 0 END), 0) AS BIGINT),
                 max(CASE WHEN o.due_at > $2 AND o.last_class = 'rate_limit' THEN o.due_at END),
                 CAST(coalesce(sum(CASE WHEN o.attempts > 0 AND o.state = 'pending'
                     AND coalesce(o.last_class, '') <> 'rate_limit' THEN 1 ELSE 0 END), 0) AS BIGINT),
                 min(o.created_at)",
            heads!(
                "(SELECT connector_id, conversation, head_seq, depth FROM outbox_lanes
                  WHERE connector_id = $1 AND due_at IS NOT NULL
                  UNION ALL
                  SELECT busy.connector_id, busy.conversation, busy.head_seq, busy.depth
                  FROM outbox s CROSS JOIN outbox_lanes busy
                  WHERE s.connector_id = $1 AND s.state = 'sending'
                      AND busy.connector_id = s.connector_id
                      AND busy.conversation = s.conversation AND busy.due_at IS NULL)"
            )
        )
    };
}

const WAITING: Sql = sql!(waiting!());

const WAITING_TO_RETRY: Sql = sql!(concat!(
    "SELECT o.conversation, o.envelope_id, o.part, o.version",
    heads!("outbox_lanes"),
    " AND l.due_at > $2 AND o.state = 'pending' AND coalesce(o.last_class, '') <> 'rate_limit'
     ORDER BY l.conversation LIMIT $3"
));

const NEXT_DUE: Sql =
    sql!("SELECT min(due_at) FROM outbox_lanes WHERE connector_id = $1 AND due_at IS NOT NULL");

/// One look into the index for each connector, however many lanes it has.
const DUE_CONNECTORS: Sql = sql!(
    "SELECT id FROM connectors WHERE
         (SELECT min(due_at) FROM outbox_lanes
          WHERE connector_id = connectors.id AND due_at IS NOT NULL) <= $1"
);

const CLEAR: Sql = sql!("UPDATE outbox_lanes SET head_seq = NULL, due_at = NULL, depth = 0");

/// Whoever is about to append to one of these waits, and then begins it anew.
const SWEEP: Sql = claim_sql!(
    "DELETE FROM outbox_lanes WHERE (connector_id, conversation) IN (
         SELECT connector_id, conversation FROM outbox_lanes
         WHERE head_seq IS NULL AND NOT EXISTS (
             SELECT 1 FROM outbox WHERE outbox.connector_id = outbox_lanes.connector_id
                 AND outbox.conversation = outbox_lanes.conversation AND outbox.place = 1)
         LIMIT $1",
    ")"
);

/// Places at the end of a lane.
pub(crate) struct Places {
    pub(crate) first: i64,
    /// How many entries are in the lane with them.
    pub(crate) depth: i64,
    /// How the queue of the connector is set.
    pub(crate) settings: QueueSettings,
    /// The clock of the connector.
    pub(crate) clock: QueueClock,
}

/// Takes `count` places at the end of a lane. An empty lane is due at `due`. Nothing: there is no
/// such connector.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    count: u32,
    due: Timestamp,
) -> Result<Option<Places>, StorageError> {
    let params = params![connector.as_str(), conversation.as_str(), count, due];
    let read = |row: &Row<'_>| {
        Ok(Places {
            first: row.get::<i64>(0)? - i64::from(count),
            depth: row.get(1)?,
            settings: from_json(row, 2)?,
            clock: QueueClock { stopped_since: row.get(3)?, stopped_before: row.get(4)? },
        })
    };
    match tx.query_opt(&APPEND, params, read)? {
        Some(places) => Ok(Some(places)),
        None => tx.query_opt(&BEGIN, params, read),
    }
}

/// What waits in the lanes of a connector.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) lanes: i64,
    pub(crate) entries: i64,
    pub(crate) deepest: i64,
    /// Lanes whose first entry is being sent.
    pub(crate) sending: i64,
    /// Lanes whose first entry waits because the platform asked for it, and until when at most.
    pub(crate) rate_limited: i64,
    pub(crate) rate_limited_until: Option<Timestamp>,
    /// Lanes whose first entry has failed before.
    pub(crate) retrying: i64,
    /// When the first entry that waits longest was enqueued.
    pub(crate) oldest: Option<Timestamp>,
}

/// Looks at the first entry of each lane, however many wait behind it.
pub(crate) fn waiting(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    now: Timestamp,
) -> Result<Waiting, StorageError> {
    tx.query_one(&WAITING, params![connector.as_str(), now], |row| {
        Ok(Waiting {
            lanes: row.get(0)?,
            entries: row.get(1)?,
            deepest: row.get(2)?,
            sending: row.get(3)?,
            rate_limited: row.get(4)?,
            rate_limited_until: row.get(5)?,
            retrying: row.get(6)?,
            oldest: row.get(7)?,
        })
    })
}

/// The first entry of a conversation, which waits for another try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitsToRetry {
    pub(crate) conversation: ConversationId,
    pub(crate) envelope: EnvelopeId,
    pub(crate) part: u32,
    /// Of another version it may wait for something else.
    pub(crate) version: i64,
}

/// The conversations whose first entry waits for another try, and not because the platform asked
/// for it.
pub(crate) fn waiting_to_retry(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<WaitsToRetry>, StorageError> {
    tx.query(&WAITING_TO_RETRY, params![connector.as_str(), now, limit], |row| {
        Ok(WaitsToRetry {
            conversation: row.parse(0)?,
            envelope: row.parse(1)?,
            part: u32::try_from(row.get::<i64>(2)?).unwrap_or(u32::MAX),
            version: row.get(3)?,
        })
    })
}

/// Looks anew which entry is first and when it is due, after one has changed, left, stepped aside or
/// come back; `grown` more are in the lane than before. Whatever comes back waits for one that is
/// being sent.
pub(crate) fn refresh(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    grown: i64,
) -> Result<(), StorageError> {
    let lane = params![connector.as_str(), conversation.as_str()];
    tx.query_opt(&LOCK, lane, |row| row.get::<i64>(0))?;
    refresh_locked(tx, connector, &[conversation], grown)
}

/// The same for several lanes that are locked, each `grown` by as much.
pub(crate) fn refresh_locked(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    lanes: &[&ConversationId],
    grown: i64,
) -> Result<(), StorageError> {
    let lanes =
        lanes.iter().map(|lane| [connector.as_str().into(), lane.as_str().into(), grown.into()]);
    tx.execute_many(&REFRESH, lanes).map(drop)
}

/// Marks lanes as busy with the entries at these places, and says of each whether that is its first
/// and due.
pub(crate) fn take(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    heads: &[(&ConversationId, i64)],
    now: Timestamp,
) -> Result<Vec<bool>, StorageError> {
    let sets = heads.iter().map(|(conversation, head)| {
        [connector.as_str().into(), conversation.as_str().into(), (*head).into(), now.into()]
    });
    let taken = tx.execute_many(&TAKE, sets)?;
    Ok(taken.into_iter().map(|changed| changed == 1).collect())
}

/// When the next lane of a connector is due.
pub(crate) fn next_due(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
) -> Result<Option<Timestamp>, StorageError> {
    tx.query_one(&NEXT_DUE, params![connector.as_str()], |row| row.get(0))
}

/// The connectors that have something due.
pub(crate) fn due_connectors(
    tx: &mut Tx<'_>,
    now: Timestamp,
) -> Result<Vec<ConnectorId>, StorageError> {
    tx.query(&DUE_CONNECTORS, params![now], |row| row.parse(0))
}

/// Nothing is in any lane any more.
pub(crate) fn clear(tx: &mut Tx<'_>) -> Result<(), StorageError> {
    tx.execute(&CLEAR, params![]).map(drop)
}

/// Removes some lanes in which nothing is.
pub(crate) fn sweep(tx: &mut Tx<'_>, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![limit])
}
