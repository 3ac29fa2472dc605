//! `vault_keys`: which master key is in use, and how to tell whether one has it.

use palyra_common::time::Timestamp;
use palyra_storage::{Sql, StorageError, Tx, params, sql};

use crate::key::KeyId;

const IN_USE: Sql = sql!("SELECT id, source, probe, derivation FROM vault_keys WHERE in_use = 1");

/// Two nodes that both make the first key: the second one's is refused.
const INSERT: Sql = sql!(
    "INSERT INTO vault_keys (id, source, probe, derivation, in_use, created_at)
     VALUES ($1, $2, $3, $4, 1, $5)
     ON CONFLICT (in_use) DO NOTHING"
);

const FENCE: Sql = sql!("UPDATE vault_keys SET in_use = in_use WHERE id = $1 AND in_use = 1");

const RETIRE: Sql = sql!("UPDATE vault_keys SET in_use = NULL, retired_at = $2 WHERE id = $1");

/// Those that something is locked with are none of them, though a rotation leaves no such.
const RETIRED: Sql = sql!(
    "SELECT id FROM vault_keys
     WHERE in_use IS NULL AND id NOT IN (SELECT key_id FROM secrets)
     ORDER BY coalesce(retired_at, created_at) DESC, created_at DESC, id
     LIMIT $1 OFFSET $2"
);

/// What is known of a master key.
#[derive(Debug, Clone)]
pub(crate) struct StoredKey {
    pub(crate) id: KeyId,
    /// Where it came from when it was made.
    pub(crate) source: String,
    pub(crate) probe: Vec<u8>,
    pub(crate) derivation: String,
}

/// The key in use; none before the first secret.
pub(crate) fn in_use(tx: &mut Tx<'_>) -> Result<Option<StoredKey>, StorageError> {
    tx.query_opt(&IN_USE, params![], |row| {
        Ok(StoredKey {
            id: row.parse(0)?,
            source: row.get(1)?,
            probe: row.get(2)?,
            derivation: row.get(3)?,
        })
    })
}

/// Takes a key into use. Says whether it is: not if another one is.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    key: &StoredKey,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let params = params![key.id.as_str(), &key.source, key.probe.as_slice(), &key.derivation, now];
    Ok(tx.execute(&INSERT, params)? == 1)
}

/// Locks the row of the key if it is still in use, and says whether it is: until the end of the
/// transaction it stays the one, and nobody else writes a secret.
pub(crate) fn fence(tx: &mut Tx<'_>, id: &KeyId) -> Result<bool, StorageError> {
    Ok(tx.execute(&FENCE, params![id.as_str()])? == 1)
}

/// Keys of before, the last one first, without the first `skipped`: at most `most`.
pub(crate) fn retired(
    tx: &mut Tx<'_>,
    skipped: usize,
    most: usize,
) -> Result<Vec<KeyId>, StorageError> {
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    tx.query(&RETIRED, params![count(most), count(skipped)], |row| row.parse(0))
}

pub(crate) fn retire(tx: &mut Tx<'_>, id: &KeyId, now: Timestamp) -> Result<(), StorageError> {
    tx.execute(&RETIRE, params![id.as_str(), now]).map(drop)
}
