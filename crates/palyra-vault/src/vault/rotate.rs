//! Changing the master key.
//!
//! The new key is durable before anything is locked with it; one transaction locks every data key
//! with it and takes it into use; then it replaces the old one. A process that dies in between leaves
//! either the old key in use, with the new one unused beside it, or the new one in use, beside the old
//! file, where the next to need it finds it by its id.

use std::path::PathBuf;
use std::sync::Arc;

use palyra_storage::{StorageError, Tx, crash_point, describe};

use super::audit::Entry;
use super::keys::describe_key;
use super::{Actor, TOPIC, Vault, not_in_use};
use crate::key::{KeyBytes, KeyId, MasterKey};
use crate::seal::Bound;
use crate::secret::SecretString;
use crate::source::passphrase::Derivation;
use crate::source::{Source, blocking, command, file, passphrase};
use crate::store::secrets;
use crate::store::vault_keys::{self, StoredKey};
use crate::{VaultError, entropy};

/// Where the next master key comes from.
#[derive(Debug, Clone)]
pub enum NewMaster {
    /// A random one in the key file. Only where the key is in a file now.
    Generated,
    /// A passphrase.
    Passphrase(SecretString),
    /// What this program prints. It must print the same at the next start.
    Command(Vec<String>),
}

/// A change that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// The key in use now.
    pub key_id: KeyId,
    /// How many versions of secrets were locked anew.
    pub versions: u64,
    /// What the operator has to do now.
    pub next: NextStep,
}

/// What is left to the operator. Until the next start this node has the new key in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// The key file holds the new key. Copies of it on other machines have to be renewed.
    Nothing,
    /// Give the new passphrase wherever the old one is given.
    GivePassphrase,
    /// Set `vault.key_command` to the new command.
    GiveCommand,
}

/// The next key, not in use yet.
struct Next {
    key: Arc<MasterKey>,
    stored: StoredKey,
    step: NextStep,
    /// The key file to replace, and the lock that keeps others from doing the same.
    file: Option<(PathBuf, std::fs::File)>,
}

impl Vault {
    /// Locks every secret's data key with a new master key. Values are not touched, and stay
    /// readable whenever the process is killed.
    pub async fn rotate_master(&self, new: NewMaster, by: &Actor) -> Result<Rotated, VaultError> {
        let old = self.key_to_lock_with(by).await?;
        self.replace(old, new, by).await
    }

    /// Puts a new key in the place of `old`, if that is still in use.
    pub(super) async fn replace(
        &self,
        old: Arc<MasterKey>,
        new: NewMaster,
        by: &Actor,
    ) -> Result<Rotated, VaultError> {
        let next = self.next(&old, new).await?;
        crash_point!("vault.rotate.new_key_written");
        let entry = self.entry("vault.master_rotated", format!("vault-key:{}", next.key.id), by);
        let (key, stored) = (next.key.clone(), next.stored.clone());
        let switch = move |tx: &mut Tx<'_>| switch(tx, &old, &key, &stored, &entry);
        let switched = self.0.db.try_write(switch).await;
        let versions = match switched {
            Ok(versions) => versions,
            Err(error) => {
                discard(next, &error).await;
                return Err(error);
            }
        };
        crash_point!("vault.rotate.committed");
        self.hold(next.key.clone());
        let rotated = Rotated { key_id: next.key.id.clone(), versions, next: next.step };
        if let Some((path, lock)) = next.file {
            settle(path, lock, next.key.id.clone()).await;
        }
        crash_point!("vault.rotate.replaced");
        Ok(rotated)
    }

    async fn next(&self, old: &MasterKey, new: NewMaster) -> Result<Next, VaultError> {
        let id = KeyId::random();
        match new {
            NewMaster::Generated => {
                let Source::File(path) = self.source()? else {
                    let what = "the key is not in a file, so give a new passphrase or command";
                    return Err(VaultError::Refused { what: what.into() });
                };
                let (bytes, lock) = written(path.clone(), id.clone()).await?;
                let file = Some((path.clone(), lock));
                Ok(next_key(id, bytes, "file", Derivation::None, NextStep::Nothing, file))
            }
            NewMaster::Passphrase(text) if text.expose().is_empty() => {
                Err(VaultError::Refused { what: "the new passphrase is empty".into() })
            }
            NewMaster::Passphrase(text) => {
                let how = Derivation::argon2id();
                let derivation = how.clone();
                let bytes = blocking(move || passphrase::derive(&text, &how)).await;
                let bytes = bytes.map_err(VaultError::NoKey)?;
                Ok(next_key(id, bytes, "passphrase", derivation, NextStep::GivePassphrase, None))
            }
            NewMaster::Command(argv) => {
                let bytes = command::read(&argv).await.map_err(VaultError::NoKey)?;
                if old.same_bytes(&bytes) {
                    let what = "the command prints the key that is in use already";
                    return Err(VaultError::Refused { what: what.into() });
                }
                let derivation = Derivation::None;
                Ok(next_key(id, bytes, "command", derivation, NextStep::GiveCommand, None))
            }
        }
    }
}

fn next_key(
    id: KeyId,
    bytes: KeyBytes,
    source: &str,
    derivation: Derivation,
    step: NextStep,
    file: Option<(PathBuf, std::fs::File)>,
) -> Next {
    let key = Arc::new(MasterKey::new(id, bytes));
    let stored = describe_key(&key, source, &derivation);
    Next { key, stored, step, file }
}

/// Writes a new key beside the one in use.
async fn written(path: PathBuf, id: KeyId) -> Result<(KeyBytes, std::fs::File), VaultError> {
    let written = blocking(move || {
        let Some(lock) = file::lock(&path)? else {
            return Ok(None);
        };
        let bytes = entropy::random_key();
        file::write_pending(&path, &id, &bytes)?;
        Ok(Some((bytes, lock)))
    });
    let busy = || VaultError::Conflict { what: "the master key is being changed already".into() };
    written.await.map_err(VaultError::NoKey)?.ok_or_else(busy)
}

/// One transaction: afterwards everything is locked with the new key, or everything with the old.
fn switch(
    tx: &mut Tx<'_>,
    old: &MasterKey,
    new: &MasterKey,
    stored: &StoredKey,
    entry: &Entry,
) -> Result<u64, VaultError> {
    if !vault_keys::fence(tx, &old.id)? {
        return Err(not_in_use(&old.id));
    }
    vault_keys::retire(tx, &old.id, entry.at())?;
    if !vault_keys::insert(tx, stored, entry.at())? {
        return Err(not_in_use(&old.id));
    }
    let rows = secrets::all(tx)?;
    for row in &rows {
        let bound = || Bound::data_key(&row.name, row.version);
        let damaged = || VaultError::Damaged { name: row.name.clone(), version: row.version };
        let data_key = old.unwrap(&row.wrapped_key, bound()).map_err(|_| damaged())?;
        secrets::rewrap(tx, row, &new.id, &new.wrap(&data_key, bound()))?;
    }
    let versions = rows.len() as u64;
    let detail = serde_json::json!({
        "replaced": old.id, "source": stored.source, "versions": versions,
    });
    entry.record(tx, "ok", detail);
    tx.notify(TOPIC);
    crash_point!("vault.rotate.rewrapped");
    Ok(versions)
}

/// Takes away a new key that is not in use. Where the outcome is not known it stays, since it may be;
/// and so do others, since one of them may be what this rotation was refused for.
async fn discard(next: Next, error: &VaultError) {
    let Some((path, lock)) = next.file else { return };
    if matches!(error, VaultError::Storage(StorageError::CommitUnknown(_))) {
        return;
    }
    let removed = blocking(move || {
        let _held = lock;
        file::discard(&path, &next.key.id)
    });
    if let Err(problem) = removed.await {
        tracing::warn!(error = %describe(&problem), "an unused key was left beside the key file");
    }
}

/// Puts the new key in its place. It is in use already and durable beside the old one, so a failure
/// is made good by whoever needs the key next.
async fn settle(path: PathBuf, lock: std::fs::File, id: KeyId) {
    let settled = blocking(move || {
        let _held = lock;
        file::finish(&path, &id)?;
        file::remove_pending(&path, &id)
    });
    if let Err(problem) = settled.await {
        tracing::warn!(error = %describe(&problem), "the new key waits beside the old one");
    }
}
