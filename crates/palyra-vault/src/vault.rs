//! The vault: every way to a secret, each of them recorded.

mod ask;
mod audit;
mod bound;
mod damage;
mod feed;
mod keys;
mod list;
mod once;
mod open;
mod recent;
mod rotate;
mod stand_in;
#[cfg(test)]
mod tests;
mod waiting;

use std::sync::{Arc, RwLock};

use palyra_common::ids::{Credential, Principal};
use palyra_common::time::Clock;
use palyra_storage::once::{Made, Once};
use palyra_storage::{Database, StorageError, Topic, Tx};

pub use feed::RedactionFeed;
pub use list::PAGE_LIMIT;
pub use recent::KeyState;
pub use rotate::{GoesNext, NewMaster, NextStep, Rotated};
pub use stand_in::StandIn;

use crate::VaultError;
use crate::key::{KeyId, MasterKey};
use crate::name::SecretName;
use crate::redact::{Learnt, Mark, Redactor};
use crate::seal::{self, Bound};
use crate::secret::SecretString;
use crate::source::{KeyProblem, Source};
use crate::store::secrets::{self, Locked, Set};
use crate::store::vault_keys;
use audit::Entry;
use damage::Damage;
use keys::{Held, Purpose};
use recent::Recent;
use stand_in::Noted;

/// The largest value.
pub const MAX_VALUE_BYTES: usize = 64 * 1_024;

/// How many versions of a secret are kept.
pub const VERSIONS_KEPT: i64 = 10;

/// How many versions of all secrets together. Every text that is redacted is searched for all.
pub const MAX_VERSIONS: i64 = 4_000;

/// How large all kept versions together, as they are stored, each 40 bytes longer than its value.
pub const MAX_TOTAL_BYTES: i64 = 16 * 1_024 * 1_024;

/// How many master keys of before are kept, for backups that need them.
pub const KEYS_KEPT: usize = 32;

/// Rung when a secret was set or deleted, or the master key has changed.
pub const TOPIC: Topic = Topic::new("vault");

/// How often an operation looks for the key again when another node has just changed it.
const TRIES: usize = 3;

/// Who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The principal.
    pub by: Principal,
    /// By what they proved it, where somebody did.
    pub credential: Option<Credential>,
    /// The surface or address that the request came through.
    pub origin: String,
}

/// Who reads a secret, what for, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The principal on whose behalf it is read.
    pub by: Principal,
    /// What for, in a few words. At most 200 characters are kept.
    pub purpose: String,
    /// The component or address that asks.
    pub origin: String,
}

/// Secrets in a database. Cheap to clone; all clones are the same vault.
///
/// Opening never fails for want of the key: each operation that needs it says so, and looks for it
/// again, so that it works as soon as the key is back.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    db: Database,
    clock: Arc<dyn Clock>,
    source: Result<Source, KeyProblem>,
    held: RwLock<Option<Held>>,
    /// Only one at a time asks the source.
    loading: Arc<tokio::sync::Mutex<()>>,
    recent: Recent,
    noted: Noted,
    redactor: Redactor,
    damage: Damage,
    /// Only one at a time tells the redactor what has changed.
    feeding: tokio::sync::Mutex<()>,
    /// Told when a key is in memory that was not: what could not be read may be readable.
    key_came: tokio::sync::Notify,
}

/// What came of trying an operation with the key at hand.
enum Tried<T> {
    Done(T),
    /// The secret is locked with another key than the one that was tried.
    OtherKey,
}

impl Vault {
    /// Stores a value as the newest version and returns its number. The last ten versions are
    /// kept. The first secret of all also makes the master key, if its source can. Refused where a
    /// restart would not find the key, though it is in memory.
    pub async fn set(
        &self,
        name: &SecretName,
        value: SecretString,
        by: &Actor,
    ) -> Result<i64, VaultError> {
        let (Made::Now(version) | Made::Before(version)) =
            self.set_once(name, value, None, by).await?;
        Ok(version)
    }

    /// The same, once for a request with a key, which tells nothing of the value: whether it is the
    /// same one as before is known by opening the version that was stored then.
    pub async fn set_once(
        &self,
        name: &SecretName,
        value: SecretString,
        once: Option<Once>,
        by: &Actor,
    ) -> Result<Made<i64>, VaultError> {
        let bytes = value.expose().len();
        if bytes > MAX_VALUE_BYTES {
            return Err(VaultError::TooLarge { name: name.clone(), bytes });
        }
        if bytes == 0 {
            return Err(VaultError::Refused { what: format!("the value of {name} is empty") });
        }
        let value = Arc::new(value);
        // Before anybody can read it from the database.
        let learnt = self.learn(name, &value).await?;
        for _ in 0..TRIES {
            let (key, name, value, once) = (
                self.key_in_use(Purpose::Lock, by).await?,
                name.clone(),
                value.clone(),
                once.clone(),
            );
            let entry = self.entry("secret.set", audit::subject(&name), by);
            let put = move |tx: &mut Tx<'_>| put(tx, &key, &name, &value, once.as_ref(), &entry);
            match self.0.db.try_write(put).await? {
                Tried::Done(Made::Now((version, mark))) => {
                    learnt.stored_as(mark);
                    return Ok(Made::Now(version));
                }
                Tried::Done(Made::Before(version)) => return Ok(Made::Before(version)),
                Tried::OtherKey => {}
            }
        }
        Err(key_keeps_changing())
    }

    /// Has the redactor look for a value. Its forms take a moment to make.
    async fn learn(
        &self,
        name: &SecretName,
        value: &Arc<SecretString>,
    ) -> Result<Learnt, VaultError> {
        let (redactor, name, value) = (self.0.redactor.clone(), name.clone(), value.clone());
        let learning = tokio::task::spawn_blocking(move || redactor.learn(&name, &value));
        learning.await.map_err(|_| StorageError::ShuttingDown.into())
    }

    /// The current version of a secret. The read is in the journal before the value is handed out.
    pub async fn get(&self, name: &SecretName, reading: &Use) -> Result<SecretString, VaultError> {
        let by = Actor { by: reading.by.clone(), credential: None, origin: reading.origin.clone() };
        let purpose = audit::bounded(&self.0.redactor.redact(&reading.purpose));
        let mut key = self.held();
        for _ in 0..TRIES {
            let (name, purpose) = (name.clone(), purpose.clone());
            let entry = self.entry("secret.read", audit::subject(&name), &by);
            let take = move |tx: &mut Tx<'_>| take(tx, key.as_deref(), &name, &purpose, &entry);
            match self.0.db.write(take).await? {
                Tried::Done(outcome) => return outcome,
                Tried::OtherKey => key = Some(self.load().await?),
            }
        }
        Err(key_keeps_changing())
    }

    /// Removes a secret with all its versions. Works without the key: this is how secrets go whose
    /// key is lost.
    pub async fn delete(&self, name: &SecretName, by: &Actor) -> Result<(), VaultError> {
        let entry = self.entry("secret.deleted", audit::subject(name), by);
        let name = name.clone();
        let delete = move |tx: &mut Tx<'_>| {
            // As every writer does, so that a rotation never meets a row that goes away.
            if let Some(key) = vault_keys::in_use(tx)? {
                vault_keys::fence(tx, &key.id)?;
            }
            let versions = secrets::delete(tx, &name)?;
            if versions == 0 {
                return Err(VaultError::NotFound { name: name.clone() });
            }
            entry.record(tx, "ok", serde_json::json!({ "versions": versions }));
            tx.notify(TOPIC);
            Ok(())
        };
        self.0.db.try_write(delete).await
    }

    /// What takes this vault's values out of a text, as far as they are known: see
    /// [`Vault::knows_all`].
    pub fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    fn entry(&self, action: &'static str, subject: String, by: &Actor) -> Entry {
        Entry::new(action, subject, by, self.0.clock.now())
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("db", &self.0.db).finish_non_exhaustive()
    }
}

/// A version and its mark, or the number of one that an earlier request stored.
type Stored = Made<(i64, Mark), i64>;

fn put(
    tx: &mut Tx<'_>,
    key: &MasterKey,
    name: &SecretName,
    value: &SecretString,
    once: Option<&Once>,
    entry: &Entry,
) -> Result<Tried<Stored>, VaultError> {
    if !vault_keys::fence(tx, &key.id)? {
        return Ok(Tried::OtherKey);
    }
    let version = secrets::newest(tx, name)?.map_or(0, |newest| newest.version) + 1;
    if let Some(before) = once::made_before(tx, once, &version.to_string(), entry)? {
        let before = before.parse().map_err(|_| once::taken())?;
        return match secrets::one(tx, name, before)? {
            Some(row) if unlock(key, &row)?.expose() == value.expose() => {
                Ok(Tried::Done(Made::Before(before)))
            }
            // One that was deleted, or replaced ten times since, is not there to be compared: to call
            // this value stored could be false.
            Some(_) | None => Err(once::taken()),
        };
    }
    // New with each run of this unit: a key and nonce are never used for two texts.
    let row = lock(key, name, version, value);
    secrets::insert(tx, &row, &Set { at: entry.at(), by: entry.by() })?;
    secrets::prune(tx, name, version - VERSIONS_KEPT)?;
    let kept = secrets::total(tx)?;
    if kept.versions > MAX_VERSIONS || kept.bytes > MAX_TOTAL_BYTES {
        return Err(VaultError::Full { name: name.clone() });
    }
    entry.record(tx, "ok", serde_json::json!({ "version": version }));
    tx.notify(TOPIC);
    Ok(Tried::Done(Made::Now((version, row.wrapped_key))))
}

/// The inner result is the answer, and its failure is recorded as well.
type Answer = Result<SecretString, VaultError>;

fn take(
    tx: &mut Tx<'_>,
    key: Option<&MasterKey>,
    name: &SecretName,
    purpose: &str,
    entry: &Entry,
) -> Result<Tried<Answer>, StorageError> {
    let Some(row) = secrets::newest(tx, name)? else {
        entry.record(tx, "not_found", serde_json::json!({ "purpose": purpose }));
        return Ok(Tried::Done(Err(VaultError::NotFound { name: name.clone() })));
    };
    let Some(key) = key.filter(|key| key.id == row.key_id) else {
        return Ok(Tried::OtherKey);
    };
    let answer = unlock(key, &row);
    let outcome = if answer.is_ok() { "ok" } else { "damaged" };
    let detail = serde_json::json!({ "version": row.version, "purpose": purpose });
    entry.record(tx, outcome, detail);
    Ok(Tried::Done(answer))
}

fn lock(key: &MasterKey, name: &SecretName, version: i64, value: &SecretString) -> Locked {
    let data_key = crate::entropy::random_key();
    let bound = Bound::value(name, version);
    Locked {
        name: name.clone(),
        version,
        key_id: key.id.clone(),
        wrapped_key: key.wrap(&data_key, Bound::data_key(name, version)),
        ciphertext: seal::seal(&data_key, value.expose().as_bytes(), &bound),
    }
}

fn unlock(key: &MasterKey, row: &Locked) -> Answer {
    let damaged = || VaultError::Damaged { name: row.name.clone(), version: row.version };
    let data_key = key.unwrap(&row.wrapped_key, Bound::data_key(&row.name, row.version));
    let data_key = data_key.map_err(|_| damaged())?;
    let value = seal::open(&data_key, &row.ciphertext, &Bound::value(&row.name, row.version));
    let value = value.map_err(|_| damaged())?;
    std::str::from_utf8(&value).map(SecretString::from).map_err(|_| damaged())
}

fn key_keeps_changing() -> VaultError {
    VaultError::Conflict { what: "the master key is being changed again and again".into() }
}

/// What a rotation and a set have to agree on.
fn not_in_use(id: &KeyId) -> VaultError {
    VaultError::Conflict { what: format!("the master key {id} was replaced by another node") }
}
