//! `console_logins`: logins of browsers, by the digest of their cookie.

use palyra_common::ids::{LoginId, Principal};
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, hold_sql, params, sql, text};

use super::{NEWEST, maker, scopes};
use crate::Credential;
use crate::secret::Digest;
use crate::standing::{Bounds, Stored};

const ADD: Sql = sql!(
    "INSERT INTO console_logins
         (id, digest, principal, scopes, limit_at, created_at, last_seen_at, expires_at, void_at,
          made_by)
     VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $7, $8)"
);

const FIND_BY_DIGEST: Sql = sql!(
    "SELECT id, principal, scopes, limit_at, expires_at, last_seen_at, ended_at
     FROM console_logins WHERE digest = $1"
);

const FIND_BY_ID: Sql = sql!(
    "SELECT id, principal, scopes, limit_at, expires_at, last_seen_at, ended_at
     FROM console_logins WHERE id = $1"
);

/// Of one that makes another: it is not ended in between.
const HOLD: Sql = hold_sql!(
    "SELECT id, principal, scopes, limit_at, expires_at, last_seen_at, ended_at
     FROM console_logins WHERE id = $1"
);

const TOUCH: Sql =
    sql!("UPDATE console_logins SET last_seen_at = $2 WHERE id = $1 AND last_seen_at <= $3");

const END: Sql = sql!(
    "UPDATE console_logins
     SET ended_at = $2, void_at = CASE WHEN expires_at < $2 THEN expires_at ELSE $2 END
     WHERE id = $1 AND ended_at IS NULL"
);

const END_ALL: Sql = sql!(
    "UPDATE console_logins SET ended_at = $1, void_at = $1
     WHERE ended_at IS NULL AND expires_at > $1"
);

const PAGE: Sql = sql!(
    "SELECT id, principal, created_at, last_seen_at, expires_at, ended_at, made_by
     FROM console_logins WHERE id < $1 AND principal = coalesce($2, principal)
     ORDER BY id DESC LIMIT $3"
);

const ONE: Sql = sql!(
    "SELECT id, principal, created_at, last_seen_at, expires_at, ended_at, made_by
     FROM console_logins WHERE id = $1"
);

const ANY_OF: Sql = sql!("SELECT id FROM console_logins WHERE principal = $1 LIMIT 1");

/// Whatever made something that is still kept is kept as well: a line has no gaps. The first login
/// of the owner stays, so that it is known that there was one.
const SWEEP: Sql = claim_sql!(
    "DELETE FROM console_logins WHERE id IN (
         SELECT id FROM console_logins AS old WHERE void_at < $1
             AND NOT EXISTS (SELECT 1 FROM api_tokens WHERE made_by = 'login:' || old.id)
             AND NOT EXISTS (SELECT 1 FROM console_logins WHERE made_by = 'login:' || old.id)
             AND (principal <> $3 OR EXISTS (
                 SELECT 1 FROM console_logins AS earlier
                 WHERE earlier.principal = $3 AND earlier.id < old.id))
         ORDER BY void_at LIMIT $2",
    ")"
);

/// A login as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Its id.
    pub id: LoginId,
    /// Who logged in.
    pub principal: Principal,
    /// When.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_seen_at: Timestamp,
    /// When it ends by itself, however much it is used.
    pub expires_at: Timestamp,
    /// When it was ended.
    pub ended_at: Option<Timestamp>,
    /// What its link was made with, and it ends with.
    pub made_by: Option<Credential>,
}

pub(crate) fn add(
    tx: &mut Tx<'_>,
    digest: &Digest,
    login: &Login,
    bounds: &Bounds,
) -> Result<(), StorageError> {
    let params = params![
        text(login.id),
        digest.as_bytes(),
        login.principal.as_str(),
        bounds.scopes.map(|scopes| text(scopes.to_json())),
        bounds.limit_at,
        login.created_at,
        login.expires_at,
        login.made_by.map(text),
    ];
    tx.execute(&ADD, params).map(drop)
}

pub(crate) fn by_digest(tx: &mut Tx<'_>, digest: &Digest) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&FIND_BY_DIGEST, params![digest.as_bytes()], stored)
}

pub(crate) fn by_id(tx: &mut Tx<'_>, id: LoginId) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&FIND_BY_ID, params![text(id)], stored)
}

/// As [`by_id`], and it stays as it is until the commit.
pub(crate) fn hold(tx: &mut Tx<'_>, id: LoginId) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&HOLD, params![text(id)], stored)
}

fn stored(row: &Row<'_>) -> Result<Stored, StorageError> {
    Ok(Stored {
        credential: Credential::Login(row.parse(0)?),
        principal: row.parse(1)?,
        bounds: Bounds { scopes: scopes(row, 2)?, limit_at: row.get(3)? },
        expires_at: Some(row.get(4)?),
        seen_at: Some(row.get(5)?),
        ended_at: row.get(6)?,
    })
}

/// Writes that the login was used now, unless that was written after `before`.
pub(crate) fn touch(
    tx: &mut Tx<'_>,
    id: LoginId,
    now: Timestamp,
    before: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&TOUCH, params![text(id), now, before])? == 1)
}

/// Says whether this changed anything.
pub(crate) fn end(tx: &mut Tx<'_>, id: LoginId, now: Timestamp) -> Result<bool, StorageError> {
    Ok(tx.execute(&END, params![text(id), now])? == 1)
}

/// Ends every login that has not ended. Says how many that were.
pub(crate) fn end_all(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StorageError> {
    tx.execute(&END_ALL, params![now])
}

/// Newest first, from the one before `after` on.
pub(crate) fn page(
    tx: &mut Tx<'_>,
    of: Option<&Principal>,
    after: Option<LoginId>,
    limit: u32,
) -> Result<Vec<Login>, StorageError> {
    let cursor = after.map_or_else(|| NEWEST.into(), text);
    tx.query(&PAGE, params![cursor, of.map(Principal::as_str), limit], read)
}

/// Whether `principal` has ever logged in. Known for ever of the owner alone: see [`sweep`].
pub(crate) fn has_any(tx: &mut Tx<'_>, principal: &Principal) -> Result<bool, StorageError> {
    let found = tx.query_opt(&ANY_OF, params![principal.as_str()], |row| row.get::<String>(0))?;
    Ok(found.is_some())
}

/// One login.
pub(crate) fn one(tx: &mut Tx<'_>, id: LoginId) -> Result<Option<Login>, StorageError> {
    tx.query_opt(&ONE, params![text(id)], read)
}

fn read(row: &Row<'_>) -> Result<Login, StorageError> {
    Ok(Login {
        id: row.parse(0)?,
        principal: row.parse(1)?,
        created_at: row.get(2)?,
        last_seen_at: row.get(3)?,
        expires_at: row.get(4)?,
        ended_at: row.get(5)?,
        made_by: maker(row, 6)?,
    })
}

/// Removes some logins that ended before `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit, Principal::owner().as_str()])
}
