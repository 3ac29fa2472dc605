//! `idempotency_keys`: which requests were carried out, and what came of them.

use palyra_common::ids::Principal;
use palyra_common::time::Timestamp;

use crate::{Sql, StorageError, Tx, claim_sql, params, sql};

/// On Postgres whoever comes second waits here for the first to commit or to give up.
const ADD: Sql = sql!(
    "INSERT INTO idempotency_keys (principal, operation, key, request, made, created_at)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (principal, operation, key) DO NOTHING"
);

const FIND: Sql = sql!(
    "SELECT request, made FROM idempotency_keys
     WHERE principal = $1 AND operation = $2 AND key = $3"
);

const NOTE: Sql = sql!(
    "UPDATE idempotency_keys SET made = $4 WHERE principal = $1 AND operation = $2 AND key = $3"
);

const SWEEP: Sql = claim_sql!(
    "DELETE FROM idempotency_keys WHERE (principal, operation, key) IN (
         SELECT principal, operation, key FROM idempotency_keys WHERE created_at < $1
         ORDER BY created_at LIMIT $2",
    ")"
);

/// Whose request it is, what it asks for, and its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) operation: &'a str,
    pub(crate) key: &'a str,
}

/// A request that was carried out.
pub(crate) struct Found {
    pub(crate) request: Vec<u8>,
    pub(crate) made: String,
}

/// Says whether it was added; what is there is left as it is.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    name: Name<'_>,
    request: &[u8],
    made: &str,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let Name { principal, operation, key } = name;
    let params = params![principal.as_str(), operation, key, request, made, now];
    Ok(tx.execute(&ADD, params)? == 1)
}

pub(crate) fn find(tx: &mut Tx<'_>, name: Name<'_>) -> Result<Option<Found>, StorageError> {
    let Name { principal, operation, key } = name;
    tx.query_opt(&FIND, params![principal.as_str(), operation, key], |row| {
        Ok(Found { request: row.get(0)?, made: row.get(1)? })
    })
}

/// Says what came of a request that was added.
pub(crate) fn note(tx: &mut Tx<'_>, name: Name<'_>, made: &str) -> Result<(), StorageError> {
    let Name { principal, operation, key } = name;
    tx.execute_later(&NOTE, params![principal.as_str(), operation, key, made])
}

/// Removes some that are older than `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
