//! `api_tokens`: credentials for programs, by their digest.

use palyra_common::ids::{Principal, TokenId};
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, hold_sql, params, sql, text};

use super::{NEWEST, maker, scopes};
use crate::secret::Digest;
use crate::standing::{Bounds, Stored};
use crate::{Credential, ScopeSet};

const ADD: Sql = sql!(
    "INSERT INTO api_tokens
         (id, digest, name, principal, scopes, created_at, expires_at, void_at, made_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)"
);

const FIND_BY_DIGEST: Sql = sql!(
    "SELECT id, principal, scopes, expires_at, last_used_at, revoked_at
     FROM api_tokens WHERE digest = $1"
);

const FIND_BY_ID: Sql = sql!(
    "SELECT id, principal, scopes, expires_at, last_used_at, revoked_at
     FROM api_tokens WHERE id = $1"
);

/// Of one that makes another: it is not ended in between.
const HOLD: Sql = hold_sql!(
    "SELECT id, principal, scopes, expires_at, last_used_at, revoked_at
     FROM api_tokens WHERE id = $1"
);

/// Several nodes may have seen the same old time; one of them writes.
const TOUCH: Sql = sql!(
    "UPDATE api_tokens SET last_used_at = $2
     WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)"
);

const REVOKE: Sql = sql!(
    "UPDATE api_tokens
     SET revoked_at = $2, void_at = CASE WHEN expires_at < $2 THEN expires_at ELSE $2 END
     WHERE id = $1 AND revoked_at IS NULL"
);

const PAGE: Sql = sql!(
    "SELECT id, name, principal, scopes, created_at, expires_at, last_used_at, revoked_at, made_by
     FROM api_tokens WHERE id < $1 AND principal = coalesce($2, principal)
     ORDER BY id DESC LIMIT $3"
);

const ONE: Sql = sql!(
    "SELECT id, name, principal, scopes, created_at, expires_at, last_used_at, revoked_at, made_by
     FROM api_tokens WHERE id = $1"
);

const COUNT_VALID: Sql = sql!(
    "SELECT count(*) FROM api_tokens JOIN principals ON principals.id = api_tokens.principal
     WHERE api_tokens.revoked_at IS NULL
         AND (api_tokens.expires_at IS NULL OR api_tokens.expires_at > $1)
         AND principals.disabled_at IS NULL"
);

/// Whatever made something that is still kept is kept as well: a line has no gaps.
const SWEEP: Sql = claim_sql!(
    "DELETE FROM api_tokens WHERE id IN (
         SELECT id FROM api_tokens AS old WHERE void_at < $1
             AND NOT EXISTS (SELECT 1 FROM api_tokens WHERE made_by = 'token:' || old.id)
             AND NOT EXISTS (SELECT 1 FROM console_logins WHERE made_by = 'token:' || old.id)
         ORDER BY void_at LIMIT $2",
    ")"
);

/// A token as it is listed. Its secret is known to its bearer alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// What it is for, in its maker's words.
    pub name: String,
    /// Whose it is.
    pub principal: Principal,
    /// What it allows, as far as the role of its principal does.
    pub scopes: ScopeSet,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// What it was made with, and ends with.
    pub made_by: Option<Credential>,
}

pub(crate) fn add(tx: &mut Tx<'_>, digest: &Digest, token: &Token) -> Result<(), StorageError> {
    let params = params![
        text(token.id),
        digest.as_bytes(),
        &token.name,
        token.principal.as_str(),
        text(token.scopes.to_json()),
        token.created_at,
        token.expires_at,
        token.made_by.map(text),
    ];
    tx.execute(&ADD, params).map(drop)
}

pub(crate) fn by_digest(tx: &mut Tx<'_>, digest: &Digest) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&FIND_BY_DIGEST, params![digest.as_bytes()], stored)
}

pub(crate) fn by_id(tx: &mut Tx<'_>, id: TokenId) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&FIND_BY_ID, params![text(id)], stored)
}

/// As [`by_id`], and it stays as it is until the commit.
pub(crate) fn hold(tx: &mut Tx<'_>, id: TokenId) -> Result<Option<Stored>, StorageError> {
    tx.query_opt(&HOLD, params![text(id)], stored)
}

fn stored(row: &Row<'_>) -> Result<Stored, StorageError> {
    let expires_at = row.get(3)?;
    Ok(Stored {
        credential: Credential::Token(row.parse(0)?),
        principal: row.parse(1)?,
        bounds: Bounds { scopes: scopes(row, 2)?, limit_at: expires_at },
        expires_at,
        seen_at: row.get(4)?,
        ended_at: row.get(5)?,
    })
}

/// Writes that the token was used now, unless that was written after `before`.
pub(crate) fn touch(
    tx: &mut Tx<'_>,
    id: TokenId,
    now: Timestamp,
    before: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&TOUCH, params![text(id), now, before])? == 1)
}

/// Says whether this changed anything.
pub(crate) fn revoke(tx: &mut Tx<'_>, id: TokenId, now: Timestamp) -> Result<bool, StorageError> {
    Ok(tx.execute(&REVOKE, params![text(id), now])? == 1)
}

/// How many let their bearer in.
pub(crate) fn count_valid(tx: &mut Tx<'_>, now: Timestamp) -> Result<i64, StorageError> {
    tx.query_one(&COUNT_VALID, params![now], |row| row.get(0))
}

/// Newest first, from the one before `after` on.
pub(crate) fn page(
    tx: &mut Tx<'_>,
    of: Option<&Principal>,
    after: Option<TokenId>,
    limit: u32,
) -> Result<Vec<Token>, StorageError> {
    let cursor = after.map_or_else(|| NEWEST.into(), text);
    tx.query(&PAGE, params![cursor, of.map(Principal::as_str), limit], read)
}

/// One token.
pub(crate) fn one(tx: &mut Tx<'_>, id: TokenId) -> Result<Option<Token>, StorageError> {
    tx.query_opt(&ONE, params![text(id)], read)
}

fn read(row: &Row<'_>) -> Result<Token, StorageError> {
    Ok(Token {
        id: row.parse(0)?,
        name: row.get(1)?,
        principal: row.parse(2)?,
        scopes: scopes(row, 3)?.unwrap_or_default(),
        created_at: row.get(4)?,
        expires_at: row.get(5)?,
        last_used_at: row.get(6)?,
        revoked_at: row.get(7)?,
        made_by: maker(row, 8)?,
    })
}

/// Removes some tokens that ended before `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}
