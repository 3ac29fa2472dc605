//! `secrets`: locked values, one row per version.

use palyra_common::ids::Principal;
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, params, sql};
use serde::Serialize;

use crate::key::KeyId;
use crate::name::SecretName;

const INSERT: Sql = sql!(
    "INSERT INTO secrets
         (scope, name, version, key_id, wrapped_key, ciphertext, created_at, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
);

const NEWEST: Sql = sql!(
    "SELECT scope, name, version, key_id, wrapped_key, ciphertext FROM secrets
     WHERE scope = $1 AND name = $2 ORDER BY version DESC LIMIT 1"
);

const PRUNE: Sql = sql!("DELETE FROM secrets WHERE scope = $1 AND name = $2 AND version <= $3");

const DELETE: Sql = sql!("DELETE FROM secrets WHERE scope = $1 AND name = $2");

const PAGE: Sql = sql!(
    "SELECT scope, name, version, created_at, created_by FROM secrets
     WHERE (scope, name) IN (SELECT DISTINCT scope, name FROM secrets
         WHERE (scope, name) > ($1, $2) ORDER BY scope, name LIMIT $3)
     ORDER BY scope, name, version DESC"
);

const MARKS: Sql = sql!("SELECT scope, name, version, wrapped_key FROM secrets");

const ONE: Sql = sql!(
    "SELECT scope, name, version, key_id, wrapped_key, ciphertext FROM secrets
     WHERE scope = $1 AND name = $2 AND version = $3"
);

const TOTAL: Sql = sql!("SELECT count(*), coalesce(sum(length(ciphertext)), 0) FROM secrets");

const ALL: Sql = sql!(
    "SELECT scope, name, version, key_id, wrapped_key, ciphertext FROM secrets
     ORDER BY scope, name, version"
);

const REWRAP: Sql = sql!(
    "UPDATE secrets SET key_id = $4, wrapped_key = $5
     WHERE scope = $1 AND name = $2 AND version = $3"
);

const ANY: Sql = sql!("SELECT version FROM secrets LIMIT 1");

/// A locked version of a secret.
#[derive(Debug, Clone)]
pub(crate) struct Locked {
    pub(crate) name: SecretName,
    pub(crate) version: i64,
    pub(crate) key_id: KeyId,
    pub(crate) wrapped_key: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

/// What is known of a secret without opening it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretInfo {
    /// Its scope and name.
    pub name: SecretName,
    /// The versions that are kept, newest first. The first one is current.
    pub versions: Vec<VersionInfo>,
}

/// Some secrets, by scope and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretPage {
    /// They.
    pub secrets: Vec<SecretInfo>,
    /// Where the next page begins, if there is one: after this.
    pub next: Option<SecretName>,
}

/// What is known of one version of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionInfo {
    /// Its number, from 1.
    pub version: i64,
    /// When it was set.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Principal,
}

/// Who sets a version, and when.
pub(crate) struct Set<'a> {
    pub(crate) at: Timestamp,
    pub(crate) by: &'a Principal,
}

pub(crate) fn insert(tx: &mut Tx<'_>, row: &Locked, set: &Set<'_>) -> Result<(), StorageError> {
    let params = params![
        row.name.scope().as_str(),
        row.name.name(),
        row.version,
        row.key_id.as_str(),
        row.wrapped_key.as_slice(),
        row.ciphertext.as_slice(),
        set.at,
        set.by.as_str(),
    ];
    tx.execute(&INSERT, params).map(drop)
}

/// The current version of a secret.
pub(crate) fn newest(tx: &mut Tx<'_>, name: &SecretName) -> Result<Option<Locked>, StorageError> {
    tx.query_opt(&NEWEST, params![name.scope().as_str(), name.name()], locked)
}

/// Removes the versions of a secret up to `through`.
pub(crate) fn prune(tx: &mut Tx<'_>, name: &SecretName, through: i64) -> Result<u64, StorageError> {
    tx.execute(&PRUNE, params![name.scope().as_str(), name.name(), through])
}

/// Removes every version and says how many there were.
pub(crate) fn delete(tx: &mut Tx<'_>, name: &SecretName) -> Result<u64, StorageError> {
    tx.execute(&DELETE, params![name.scope().as_str(), name.name()])
}

/// By scope and name, from the one after `after` on, each with all its versions.
pub(crate) fn page(
    tx: &mut Tx<'_>,
    after: Option<&SecretName>,
    limit: u32,
) -> Result<Vec<SecretInfo>, StorageError> {
    let after = after.map_or(("", ""), |after| (after.scope().as_str(), after.name()));
    let rows = tx.query(&PAGE, params![after.0, after.1, limit], |row| {
        let version = VersionInfo {
            version: row.get(2)?,
            created_at: row.get(3)?,
            created_by: row.parse(4)?,
        };
        Ok((name(row)?, version))
    })?;
    let mut secrets: Vec<SecretInfo> = Vec::new();
    for (name, version) in rows {
        match secrets.last_mut() {
            Some(last) if last.name == name => last.versions.push(version),
            Some(_) | None => secrets.push(SecretInfo { name, versions: vec![version] }),
        }
    }
    Ok(secrets)
}

/// How much is kept.
pub(crate) struct Total {
    pub(crate) versions: i64,
    pub(crate) bytes: i64,
}

/// How many versions there are, and how large they are together.
pub(crate) fn total(tx: &mut Tx<'_>) -> Result<Total, StorageError> {
    tx.query_one(&TOTAL, params![], |row| Ok(Total { versions: row.get(0)?, bytes: row.get(1)? }))
}

/// A version, by what only it has.
pub(crate) struct Marked {
    pub(crate) name: SecretName,
    pub(crate) version: i64,
    pub(crate) mark: Vec<u8>,
}

/// Every version of every secret, without what it holds.
pub(crate) fn marks(tx: &mut Tx<'_>) -> Result<Vec<Marked>, StorageError> {
    let marked =
        |row: &Row<'_>| Ok(Marked { name: name(row)?, version: row.get(2)?, mark: row.get(3)? });
    tx.query(&MARKS, params![], marked)
}

/// One version.
pub(crate) fn one(
    tx: &mut Tx<'_>,
    name: &SecretName,
    version: i64,
) -> Result<Option<Locked>, StorageError> {
    tx.query_opt(&ONE, params![name.scope().as_str(), name.name(), version], locked)
}

/// Every version of every secret.
pub(crate) fn all(tx: &mut Tx<'_>) -> Result<Vec<Locked>, StorageError> {
    tx.query(&ALL, params![], locked)
}

/// Changes only what the value's key is locked with.
pub(crate) fn rewrap(
    tx: &mut Tx<'_>,
    row: &Locked,
    key_id: &KeyId,
    wrapped_key: &[u8],
) -> Result<(), StorageError> {
    let (scope, name) = (row.name.scope().as_str(), row.name.name());
    let params = params![scope, name, row.version, key_id.as_str(), wrapped_key];
    tx.execute(&REWRAP, params).map(drop)
}

/// Whether there is any secret.
pub(crate) fn any(tx: &mut Tx<'_>) -> Result<bool, StorageError> {
    Ok(tx.query_opt(&ANY, params![], |row| row.get::<i64>(0))?.is_some())
}

fn locked(row: &Row<'_>) -> Result<Locked, StorageError> {
    Ok(Locked {
        name: name(row)?,
        version: row.get(2)?,
        key_id: row.parse(3)?,
        wrapped_key: row.get(4)?,
        ciphertext: row.get(5)?,
    })
}

fn name(row: &Row<'_>) -> Result<SecretName, StorageError> {
    let scope = row.parse(0)?;
    let name: String = row.get(1)?;
    SecretName::new(scope, &name).map_err(|error| StorageError::InvalidValue {
        what: format!("column 1 cannot be read: {error}"),
    })
}
