//! Changing the master key.
//!
//! The new key is durable before anything is locked with it; one transaction locks every data key
//! with it and takes it into use; then it replaces the old one. A process that dies in between leaves
//! either the old key in use, with the new one unused beside it, or the new one in use, beside the old
//! one, where the next to need it finds it by its id.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use palyra_storage::once::{Made, Once};
use palyra_storage::{Tx, crash_point};

#[cfg(doc)]
use super::KEYS_KEPT;
use super::audit::Entry;
use super::keys::{Purpose, describe_key};
use super::once::{made_before, taken};
use super::waiting::Waiting;
use super::{Actor, StandIn, TOPIC, Vault, not_in_use};
use crate::VaultError;
use crate::key::{KeyBytes, KeyId, MasterKey};
use crate::seal::Bound;
use crate::secret::SecretString;
use crate::source::passphrase::Derivation;
use crate::source::{Source, blocking, command, file, passphrase};
use crate::store::secrets;
use crate::store::vault_keys::{self, StoredKey};

/// Where the next master key comes from.
#[derive(Debug, Clone)]
pub enum NewMaster {
    /// A random one, in the key file or the keyring. Only where the key is in one now.
    Generated,
    /// A passphrase: one line of at most 1000 characters.
    Passphrase(SecretString),
    /// What this program prints. It must print the same at the next start.
    Command(Vec<String>),
}

/// A change that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// The key in use now.
    pub key_id: KeyId,
    /// The file that it is in, where it was made for one: the key file, unless it could not be
    /// replaced.
    pub key_file: Option<PathBuf>,
    /// The key before, which older backups need. Where it is kept, the last [`KEYS_KEPT`] are.
    pub old_key_id: KeyId,
    /// The file that the key before is kept in, where it came from one. One from the keyring is kept
    /// there.
    pub old_key_file: Option<PathBuf>,
    /// How many versions of secrets were locked anew.
    pub versions: u64,
    /// What the operator has to do now.
    pub next: NextStep,
    /// The oldest key that is kept, if the next change removes it: whoever has a backup that needs it
    /// can keep a copy until then.
    pub goes_next: Option<GoesNext>,
}

/// A key of before that the next change removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoesNext {
    /// Which one.
    pub key_id: KeyId,
    /// The file that it is in; none where it is in the keyring.
    pub file: Option<PathBuf>,
}

/// What is left to the operator. Until the next start this node has the new key in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The key file or the keyring holds the new key. Copies of it on other machines have to be
    /// renewed.
    Nothing,
    /// The new key is durable, but not where it belongs. The next start finds it nevertheless.
    PutInPlace(StandIn),
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
    waiting: Option<Waiting>,
}

impl Next {
    /// Takes away a key that did not come into use. `error`: why not; none where another one was
    /// before.
    async fn discard(self, error: Option<&VaultError>) {
        if let Some(waiting) = self.waiting {
            waiting.discard(&self.key.id, error).await;
        }
    }
}

/// What a change has done in the database, as a later request with the same key is told.
struct Switch {
    key_id: KeyId,
    old_key_id: KeyId,
    versions: u64,
}

impl Switch {
    fn written(&self) -> String {
        format!("{} {} {}", self.key_id, self.old_key_id, self.versions)
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let (key_id, old_key_id) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { key_id, old_key_id, versions: parts.next()?.parse().ok()? })
    }
}

impl Vault {
    /// Locks every secret's data key with a new master key. Values are not touched, and stay
    /// readable whenever the process is killed.
    pub async fn rotate_master(&self, new: NewMaster, by: &Actor) -> Result<Rotated, VaultError> {
        let (Made::Now(rotated) | Made::Before(rotated)) =
            self.rotate_master_once(new, None, by).await?;
        Ok(rotated)
    }

    /// The same, once for a request with a key, which tells nothing of a passphrase. Of a change that
    /// was made before it is told what is left of it now.
    pub async fn rotate_master_once(
        &self,
        new: NewMaster,
        once: Option<Once>,
        by: &Actor,
    ) -> Result<Made<Rotated>, VaultError> {
        // In memory is enough: this is how a lost key is replaced.
        let old = self.key_in_use(Purpose::Open, by).await?;
        self.replace(old, new, once, by).await
    }

    /// Puts a new key in the place of `old`, if that is still in use.
    pub(super) async fn replace(
        &self,
        old: Arc<MasterKey>,
        new: NewMaster,
        once: Option<Once>,
        by: &Actor,
    ) -> Result<Made<Rotated>, VaultError> {
        let old_key_file = self.keep(old.clone()).await?;
        let old_key_id = old.id.clone();
        let next = self.next(&old, new).await?;
        crash_point!("vault.rotate.new_key_written");
        let entry = self.entry("vault.master_rotated", format!("vault-key:{}", next.key.id), by);
        let (key, stored) = (next.key.clone(), next.stored.clone());
        let switch =
            move |tx: &mut Tx<'_>| switch(tx, (&old, &key), &stored, once.as_ref(), &entry);
        let versions = match self.0.db.try_write(switch).await {
            Ok(Made::Now(Switch { versions, .. })) => versions,
            Ok(Made::Before(before)) => {
                next.discard(None).await;
                return self.as_before(before).await.map(Made::Before);
            }
            Err(error) => {
                next.discard(Some(&error)).await;
                return Err(error);
            }
        };
        crash_point!("vault.rotate.committed");
        match next.waiting {
            Some(_) => self.hold(next.key.clone(), next.stored.clone()),
            None => self.hold_ahead(next.key.clone(), next.stored.clone()),
        }
        let key_id = next.key.id.clone();
        let (key_file, next) = self.settle(next).await;
        crash_point!("vault.rotate.replaced");
        self.forget_oldest(&old_key_id).await;
        let goes_next = self.goes_next().await;
        let rotated =
            Rotated { key_id, key_file, old_key_id, old_key_file, versions, next, goes_next };
        Ok(Made::Now(rotated))
    }

    /// What is left of a change that was made before.
    async fn as_before(&self, before: Switch) -> Result<Rotated, VaultError> {
        let Switch { key_id, old_key_id, versions } = before;
        let (mut key_file, old_key_file) = match self.source()? {
            Source::File(path) => (Some(path.clone()), Some(file::kept(path, &old_key_id))),
            Source::Passphrase(_) | Source::Command(_) | Source::Keyring(_) => (None, None),
        };
        let next = match self.stand_in(Some(&key_id)) {
            Some(stand_in) => {
                key_file = stand_in.file().map(Path::to_owned);
                NextStep::PutInPlace(stand_in)
            }
            None => NextStep::Nothing,
        };
        let goes_next = self.goes_next().await;
        Ok(Rotated { key_id, key_file, old_key_id, old_key_file, versions, next, goes_next })
    }

    /// Puts a key that is in use now in its place, and says in which file it is and what is left to
    /// do.
    async fn settle(&self, next: Next) -> (Option<PathBuf>, NextStep) {
        let Some(waiting) = next.waiting else { return (None, next.step) };
        let key_file = waiting.file().map(Path::to_owned);
        let Some(stand_in) = waiting.settle(&next.key.id).await else {
            return (key_file, next.step);
        };
        self.note(&next.key.id, Some(stand_in.clone()));
        self.log_stand_in();
        (stand_in.file().map(Path::to_owned), NextStep::PutInPlace(stand_in))
    }

    /// Keeps a key by its id beside the key file or in the keyring, if that is where it comes from.
    async fn keep(&self, key: Arc<MasterKey>) -> Result<Option<PathBuf>, VaultError> {
        let kept = match self.source()? {
            Source::File(path) => {
                let kept = file::kept(path, &key.id);
                let to = kept.clone();
                let done = blocking(move || file::create(&to, key.bytes())).await;
                done.map(|()| Some(kept))
            }
            Source::Keyring(keyring) => keyring.keep(&key.id, key.bytes()).await.map(|()| None),
            Source::Passphrase(_) | Source::Command(_) => Ok(None),
        };
        kept.map_err(VaultError::NotWritten)
    }

    async fn next(&self, old: &MasterKey, new: NewMaster) -> Result<Next, VaultError> {
        let id = KeyId::random();
        match new {
            NewMaster::Generated => {
                let source = self.source()?;
                let (bytes, waiting) = Waiting::write(source, &id).await?;
                let (none, step) = (Derivation::None, NextStep::Nothing);
                Ok(next_key(id, bytes, source.word(), none, step, Some(waiting)))
            }
            NewMaster::Passphrase(text) => {
                passphrase::accept(&text)?;
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
    waiting: Option<Waiting>,
) -> Next {
    let key = Arc::new(MasterKey::new(id, bytes));
    let stored = describe_key(&key, source, &derivation);
    Next { key, stored, step, waiting }
}

/// One transaction: afterwards everything is locked with the new key, or everything with the old.
fn switch(
    tx: &mut Tx<'_>,
    (old, new): (&MasterKey, &MasterKey),
    stored: &StoredKey,
    once: Option<&Once>,
    entry: &Entry,
) -> Result<Made<Switch>, VaultError> {
    if let Some(before) = made_before(tx, once, "", entry)? {
        return Switch::read(&before).map(Made::Before).ok_or_else(taken);
    }
    if !vault_keys::fence(tx, &old.id)? {
        return Err(not_in_use(&old.id));
    }
    vault_keys::retire(tx, &old.id, entry.at())?;
    if !vault_keys::insert(tx, stored, entry.at())? {
        return Err(not_in_use(&old.id));
    }
    let versions = rewrap(tx, old, new)?;
    let detail = serde_json::json!({
        "replaced": old.id, "source": stored.source, "versions": versions,
    });
    entry.record(tx, "ok", detail);
    tx.notify(TOPIC);
    let done = Switch { key_id: new.id.clone(), old_key_id: old.id.clone(), versions };
    if let Some(once) = once {
        once.note(tx, entry.by(), &done.written())?;
    }
    crash_point!("vault.rotate.rewrapped");
    Ok(Made::Now(done))
}

/// Locks every data key anew, and says how many there are.
fn rewrap(tx: &mut Tx<'_>, old: &MasterKey, new: &MasterKey) -> Result<u64, VaultError> {
    let rows = secrets::all(tx)?;
    for row in &rows {
        let bound = || Bound::data_key(&row.name, row.version);
        let damaged = || VaultError::Damaged { name: row.name.clone(), version: row.version };
        let data_key = old.unwrap(&row.wrapped_key, bound()).map_err(|_| damaged())?;
        secrets::rewrap(tx, row, &new.id, &new.wrap(&data_key, bound()))?;
    }
    Ok(rows.len() as u64)
}
