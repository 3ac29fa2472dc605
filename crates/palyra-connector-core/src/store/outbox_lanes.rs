//! `outbox_lanes`: one row per conversation. What is due is found here, so that it costs the same
//! however much waits.

use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, claim_sql, params, sql};

/// Takes places at the end. The row stays locked, so that whoever else wants places in this lane
/// waits for the commit.
const APPEND: Sql = sql!(
    "INSERT INTO outbox_lanes (connector_id, conversation, next_seq, depth, head_seq, due_at)
     VALUES ($1, $2, $3, $3, 0, $4)
     ON CONFLICT (connector_id, conversation) DO UPDATE SET
         next_seq = outbox_lanes.next_seq + $3,
         depth = outbox_lanes.depth + $3,
         head_seq = coalesce(outbox_lanes.head_seq, outbox_lanes.next_seq),
         due_at = CASE WHEN outbox_lanes.head_seq IS NULL THEN $4 ELSE outbox_lanes.due_at END
     RETURNING next_seq"
);

/// Locks the lane. Whoever waited for that must look at its entries in a statement of its own: one
/// that has waited still sees what there was before.
const LOCK: Sql = sql!(
    "UPDATE outbox_lanes SET depth = depth + $3 WHERE connector_id = $1 AND conversation = $2"
);

const REFRESH: Sql = sql!(
    "UPDATE outbox_lanes SET
         head_seq = (SELECT min(lane_seq) FROM outbox
             WHERE connector_id = $1 AND conversation = $2 AND aside = 0),
         due_at = (SELECT due_at FROM outbox
             WHERE connector_id = $1 AND conversation = $2 AND aside = 0
             ORDER BY lane_seq LIMIT 1)
     WHERE connector_id = $1 AND conversation = $2"
);

/// The lane is busy, if this is still its first entry.
const TAKE: Sql = sql!(
    "UPDATE outbox_lanes SET due_at = NULL
     WHERE connector_id = $1 AND conversation = $2 AND head_seq = $3 AND due_at <= $4"
);

const NEXT_DUE: Sql =
    sql!("SELECT min(due_at) FROM outbox_lanes WHERE connector_id = $1 AND due_at IS NOT NULL");

/// One look into the index for each connector, however many lanes it has.
const DUE_CONNECTORS: Sql = sql!(
    "SELECT id FROM connectors WHERE
         (SELECT min(due_at) FROM outbox_lanes
          WHERE connector_id = connectors.id AND due_at IS NOT NULL) <= $1"
);

/// Whoever is about to append to one of these waits, and then begins it anew.
const SWEEP: Sql = claim_sql!(
    "DELETE FROM outbox_lanes WHERE (connector_id, conversation) IN (
         SELECT connector_id, conversation FROM outbox_lanes
         WHERE head_seq IS NULL AND NOT EXISTS (
             SELECT 1 FROM outbox WHERE outbox.connector_id = outbox_lanes.connector_id
                 AND outbox.conversation = outbox_lanes.conversation)
         LIMIT $1",
    ")"
);

/// Takes `count` places at the end of a lane and returns the first of them. An empty lane is due
/// at `due`.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    count: u32,
    due: Timestamp,
) -> Result<i64, StorageError> {
    let params = params![connector.as_str(), conversation.as_str(), count, due];
    let next: i64 = tx.query_one(&APPEND, params, |row| row.get(0))?;
    Ok(next - i64::from(count))
}

/// Looks anew which entry is first and when it is due, after one has changed, left, stepped aside or
/// come back; `grown` more are in the lane than before.
pub(crate) fn refresh(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    grown: i64,
) -> Result<(), StorageError> {
    tx.execute(&LOCK, params![connector.as_str(), conversation.as_str(), grown])?;
    tx.execute(&REFRESH, params![connector.as_str(), conversation.as_str()]).map(drop)
}

/// Marks a lane as busy with the entry at `head`, if that is its first and due.
pub(crate) fn take(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &ConversationId,
    head: i64,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let params = params![connector.as_str(), conversation.as_str(), head, now];
    Ok(tx.execute(&TAKE, params)? == 1)
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

/// Removes some lanes in which nothing is.
pub(crate) fn sweep(tx: &mut Tx<'_>, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![limit])
}
