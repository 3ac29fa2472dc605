//! `principals`: who has a role here.

use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::Role;
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, hold_sql, params, sql, text};

const ADD: Sql = sql!(
    "INSERT INTO principals (id, role, created_at) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO NOTHING"
);

const FIND: Sql = sql!("SELECT role, disabled_at FROM principals WHERE id = $1");

/// Of one who makes a credential: nobody disables them in between.
const HOLD: Sql = hold_sql!("SELECT role, disabled_at FROM principals WHERE id = $1");

const OWNERS: Sql = sql!("SELECT count(*) FROM principals WHERE role = 'owner'");

const DISABLE: Sql =
    sql!("UPDATE principals SET disabled_at = $2 WHERE id = $1 AND disabled_at IS NULL");

/// What a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) role: Role,
    pub(crate) disabled_at: Option<Timestamp>,
}

/// Says whether it was added; a principal that is there is left as it is.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    principal: &Principal,
    role: Role,
    now: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&ADD, params![principal.as_str(), text(role), now])? == 1)
}

pub(crate) fn find(tx: &mut Tx<'_>, principal: &Principal) -> Result<Option<Found>, StorageError> {
    tx.query_opt(&FIND, params![principal.as_str()], found)
}

/// As [`find`], and it stays as it is until the commit.
pub(crate) fn hold(tx: &mut Tx<'_>, principal: &Principal) -> Result<Option<Found>, StorageError> {
    tx.query_opt(&HOLD, params![principal.as_str()], found)
}

fn found(row: &Row<'_>) -> Result<Found, StorageError> {
    Ok(Found { role: row.parse(0)?, disabled_at: row.get(1)? })
}

pub(crate) fn has_owner(tx: &mut Tx<'_>) -> Result<bool, StorageError> {
    let owners: i64 = tx.query_one(&OWNERS, params![], |row| row.get(0))?;
    Ok(owners > 0)
}

/// Says whether this changed anything.
pub(crate) fn disable(
    tx: &mut Tx<'_>,
    principal: &Principal,
    now: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&DISABLE, params![principal.as_str(), now])? == 1)
}
