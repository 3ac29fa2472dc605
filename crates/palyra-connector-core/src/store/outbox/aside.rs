//! What has stepped aside, and waits for a human or behind something that does.

use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxState};
use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, claim_sql, params, sql};

use super::{Stored, columns, key_params, read};
use crate::operation::EntryKey;

/// The first part that died with the one that is given, or before it, if that is dead.
const FIRST_DEAD: Sql = sql!(
    "SELECT min(part) FROM outbox
     WHERE connector_id = $1 AND envelope_id = $2 AND part <= $3 AND place = 1 AND state = 'dead'
         AND EXISTS (SELECT 1 FROM outbox
             WHERE connector_id = $1 AND envelope_id = $2 AND part = $3 AND place = 1
                 AND state = 'dead')"
);

const OF_STATE: Sql = sql!(concat!(
    "SELECT ",
    columns!(""),
    " FROM outbox
     WHERE connector_id = $1 AND place = 1 AND state = $2
         AND (changed_at, envelope_id, part) > ($3, $4, $5)
     ORDER BY changed_at, envelope_id, part LIMIT $6"
));

const DEAD: Sql = sql!(
    "SELECT envelope_id, part, version FROM outbox
     WHERE connector_id = $1 AND place = 1 AND state = 'dead' AND ($2 = '' OR death = $2)
     ORDER BY changed_at, envelope_id, part LIMIT $3"
);

const DEAD_PARTS: Sql = sql!(concat!(
    "SELECT ",
    columns!(""),
    " FROM outbox
     WHERE connector_id = $1 AND envelope_id = $2 AND place = 1 AND state = 'dead' ORDER BY part"
));

const COUNT: Sql = sql!(
    "SELECT count(*) FROM (SELECT 1 FROM outbox
         WHERE connector_id = $1 AND place = 1 AND state = $2 LIMIT $3) AS counted"
);

const SWEEP: Sql = claim_sql!(
    "DELETE FROM outbox WHERE (connector_id, envelope_id, part) IN (
         SELECT connector_id, envelope_id, part FROM outbox
         WHERE connector_id IN (SELECT id FROM connectors) AND place = 1 AND state = 'dead'
             AND changed_at < $1 LIMIT $2",
    ")"
);

/// Where to begin a replay of a dead entry: its parts go out in order, or not at all. One that is not
/// dead itself is left to whoever asks.
pub(crate) fn first_dead_part(tx: &mut Tx<'_>, key: &EntryKey) -> Result<EntryKey, StorageError> {
    let first: Option<i64> = tx.query_one(&FIRST_DEAD, &key_params(key), |row| row.get(0))?;
    let part = first.and_then(|part| u32::try_from(part).ok()).unwrap_or(key.part);
    Ok(EntryKey { part, ..key.clone() })
}

/// Entries of one state that have stepped aside, oldest first, behind `after`.
pub(crate) fn of_state(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    state: OutboxState,
    after: Option<&(Timestamp, EntryKey)>,
    limit: u32,
) -> Result<Vec<Stored>, StorageError> {
    let (at, envelope, part) = match after {
        Some((at, key)) => (*at, key.envelope.as_str(), i64::from(key.part)),
        None => (Timestamp::MIN, "", -1),
    };
    let params = params![connector.as_str(), state.as_str(), at, envelope, part, limit];
    tx.query(&OF_STATE, params, |row| read(row, connector))
}

/// Some dead entries, oldest first, of one reason or of all, each with its version.
pub(crate) fn dead(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    reason: Option<DeadLetterReason>,
    limit: u32,
) -> Result<Vec<(EntryKey, i64)>, StorageError> {
    let reason = reason.map_or("", DeadLetterReason::as_str);
    tx.query(&DEAD, params![connector.as_str(), reason, limit], |row| {
        let part: i64 = row.get(1)?;
        let part = u32::try_from(part).unwrap_or(u32::MAX);
        let key = EntryKey { connector: connector.clone(), envelope: row.parse(0)?, part };
        Ok((key, row.get(2)?))
    })
}

/// The parts of an envelope that are dead, in order.
pub(crate) fn dead_parts(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<Vec<Stored>, StorageError> {
    tx.query(&DEAD_PARTS, params![connector.as_str(), envelope.as_str()], |row| {
        read(row, connector)
    })
}

/// How many entries of one state have stepped aside, as far as `most`.
pub(crate) fn count(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    state: OutboxState,
    most: u32,
) -> Result<i64, StorageError> {
    let params = params![connector.as_str(), state.as_str(), most];
    tx.query_one(&COUNT, params, |row| row.get(0))
}

/// Removes some dead entries that nobody has looked at since `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
