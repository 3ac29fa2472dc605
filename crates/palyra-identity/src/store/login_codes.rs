//! `login_codes`: single-use codes, by their digest.

use palyra_common::ids::Principal;
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, params, sql, text};

use super::{maker, scopes};
use crate::Credential;
use crate::secret::Digest;
use crate::standing::Bounds;

const ADD: Sql = sql!(
    "INSERT INTO login_codes
         (digest, purpose, principal, scopes, limit_at, created_at, expires_at, made_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
);

const FIND: Sql = sql!(
    "SELECT purpose, expires_at, used_at, refused_at, ended_at FROM login_codes WHERE digest = $1"
);

/// Whoever changes the row has used the code; everybody else changes nothing. What was ended stays so
/// for those whose clock is behind.
const USE: Sql = sql!(
    "UPDATE login_codes SET used_at = $2
     WHERE digest = $1 AND used_at IS NULL AND ended_at IS NULL AND expires_at > $2
     RETURNING purpose, principal, scopes, limit_at, made_by"
);

const REFUSE: Sql =
    sql!("UPDATE login_codes SET refused_at = $2 WHERE digest = $1 AND refused_at IS NULL");

/// An expiry that has come for us may still be to come for others, so none is left out.
const END_FIRST_LOGINS: Sql = sql!(
    "UPDATE login_codes SET ended_at = $1
     WHERE purpose = 'first_login' AND used_at IS NULL AND ended_at IS NULL"
);

const END_MADE_BY: Sql = sql!(
    "UPDATE login_codes SET ended_at = $2
     WHERE made_by = $1 AND used_at IS NULL AND ended_at IS NULL"
);

const END_ALL: Sql =
    sql!("UPDATE login_codes SET ended_at = $1 WHERE used_at IS NULL AND ended_at IS NULL");

const SWEEP: Sql = claim_sql!(
    "DELETE FROM login_codes WHERE digest IN (
         SELECT digest FROM login_codes WHERE expires_at < $1 ORDER BY expires_at LIMIT $2",
    ")"
);

/// What a code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    FirstLogin,
    Handoff,
}

impl Purpose {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Purpose::FirstLogin => "first_login",
            Purpose::Handoff => "handoff",
        }
    }
}

/// A code that was just used: whom it logs in, and within which bounds.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) purpose: Purpose,
    pub(crate) principal: Principal,
    pub(crate) bounds: Bounds,
    pub(crate) made_by: Option<Credential>,
}

/// How far a code has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) purpose: Purpose,
    pub(crate) expires_at: Timestamp,
    pub(crate) used_at: Option<Timestamp>,
    pub(crate) refused_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
}

pub(crate) fn add(
    tx: &mut Tx<'_>,
    digest: &Digest,
    code: &Code,
    created_at: Timestamp,
    expires_at: Timestamp,
) -> Result<(), StorageError> {
    let Code { purpose, principal, bounds, made_by } = code;
    let scopes = bounds.scopes.map(|scopes| text(scopes.to_json()));
    let params = params![
        digest.as_bytes(),
        purpose.as_str(),
        principal.as_str(),
        scopes,
        bounds.limit_at,
        created_at,
        expires_at,
        made_by.map(text),
    ];
    tx.execute(&ADD, params).map(drop)
}

pub(crate) fn find(tx: &mut Tx<'_>, digest: &Digest) -> Result<Option<State>, StorageError> {
    tx.query_opt(&FIND, params![digest.as_bytes()], |row| {
        Ok(State {
            purpose: purpose(row, 0)?,
            expires_at: row.get(1)?,
            used_at: row.get(2)?,
            refused_at: row.get(3)?,
            ended_at: row.get(4)?,
        })
    })
}

/// Marks the code as used if it may be used now.
pub(crate) fn take(
    tx: &mut Tx<'_>,
    digest: &Digest,
    now: Timestamp,
) -> Result<Option<Code>, StorageError> {
    tx.query_opt(&USE, params![digest.as_bytes(), now], |row| {
        Ok(Code {
            purpose: purpose(row, 0)?,
            principal: row.parse(1)?,
            bounds: Bounds { scopes: scopes(row, 2)?, limit_at: row.get(3)? },
            made_by: maker(row, 4)?,
        })
    })
}

/// Remembers that the code was tried in vain. Says whether this was the first time.
pub(crate) fn refuse(
    tx: &mut Tx<'_>,
    digest: &Digest,
    now: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&REFUSE, params![digest.as_bytes(), now])? == 1)
}

/// From now on no unused code for a first login works.
pub(crate) fn end_first_logins(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StorageError> {
    tx.execute(&END_FIRST_LOGINS, params![now])
}

/// From now on no unused code of `maker` works. Says how many that were.
pub(crate) fn end_made_by(
    tx: &mut Tx<'_>,
    maker: Credential,
    now: Timestamp,
) -> Result<u64, StorageError> {
    tx.execute(&END_MADE_BY, params![text(maker), now])
}

/// From now on no unused code works. Says how many that were.
pub(crate) fn end_all(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StorageError> {
    tx.execute(&END_ALL, params![now])
}

/// Removes some codes that expired before `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}

fn purpose(row: &Row<'_>, index: usize) -> Result<Purpose, StorageError> {
    let text: String = row.get(index)?;
    let known = [Purpose::FirstLogin, Purpose::Handoff];
    known.into_iter().find(|purpose| purpose.as_str() == text).ok_or_else(|| {
        StorageError::InvalidValue { what: format!("a login code has the purpose {text:?}") }
    })
}
