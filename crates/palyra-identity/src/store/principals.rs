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

const COUNT_ENABLED: Sql = sql!("SELECT count(*) FROM principals WHERE disabled_at IS NULL");

const DISABLE: Sql =
    sql!("UPDATE principals SET disabled_at = $2 WHERE id = $1 AND disabled_at IS NULL");

const PAGE: Sql = sql!(
    "SELECT id, role, created_at, disabled_at FROM principals WHERE id > $1 ORDER BY id LIMIT $2"
);

const ONE: Sql = sql!("SELECT id, role, created_at, disabled_at FROM principals WHERE id = $1");

/// Somebody who has a role here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub principal: Principal,
    /// Which.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
    /// When they lost it.
    pub disabled_at: Option<Timestamp>,
}

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

/// How many there are that nobody has disabled.
pub(crate) fn count_enabled(tx: &mut Tx<'_>) -> Result<i64, StorageError> {
    tx.query_one(&COUNT_ENABLED, params![], |row| row.get(0))
}

/// Says whether this changed anything.
pub(crate) fn disable(
    tx: &mut Tx<'_>,
    principal: &Principal,
    now: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&DISABLE, params![principal.as_str(), now])? == 1)
}

/// By name, from the one after `after` on.
pub(crate) fn page(
    tx: &mut Tx<'_>,
    after: Option<&Principal>,
    limit: u32,
) -> Result<Vec<Member>, StorageError> {
    let after = after.map_or("", Principal::as_str);
    tx.query(&PAGE, params![after, limit], member)
}

/// One principal.
pub(crate) fn one(tx: &mut Tx<'_>, principal: &Principal) -> Result<Option<Member>, StorageError> {
    tx.query_opt(&ONE, params![principal.as_str()], member)
}

fn member(row: &Row<'_>) -> Result<Member, StorageError> {
    Ok(Member {
        principal: row.parse(0)?,
        role: row.parse(1)?,
        created_at: row.get(2)?,
        disabled_at: row.get(3)?,
    })
}
