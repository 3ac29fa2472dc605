//! Having the right master key at hand.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use palyra_storage::{Tx, describe};

use super::stand_in::{self, StandIn};
use super::{Actor, TRIES, Vault, key_keeps_changing, not_in_use};
use crate::VaultError;
use crate::entropy;
use crate::key::{KeyBytes, KeyId, MasterKey};
use crate::source::keyring::Keyring;
use crate::source::passphrase::Derivation;
use crate::source::{KeyProblem, Source, blocking, command, file, passphrase};
use crate::store::secrets;
use crate::store::vault_keys::{self, StoredKey};

/// The tools do not tell the two apart.
const NOT_IN_KEYRING: &str = "has no key for this data directory, or is locked; unlock it, or bring \
                              the key back";

impl Vault {
    /// The key that was the right one when it was last needed.
    pub(super) fn held(&self) -> Option<Arc<MasterKey>> {
        self.0.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn hold(&self, key: Arc<MasterKey>) {
        self.note_nothing();
        *self.0.held.write().unwrap_or_else(PoisonError::into_inner) = Some(key);
    }

    pub(super) fn source(&self) -> Result<&Source, VaultError> {
        self.0.source.as_ref().map_err(|problem| VaultError::NoKey(problem.clone()))
    }

    /// The key in use, from memory if that is still the one, else from its source.
    pub(super) async fn load(&self) -> Result<Arc<MasterKey>, VaultError> {
        let _alone = self.0.loading.lock().await;
        self.load_alone().await
    }

    /// The same, by whoever holds `loading`.
    pub(super) async fn load_alone(&self) -> Result<Arc<MasterKey>, VaultError> {
        match self.0.db.read(vault_keys::in_use).await? {
            Some(stored) => self.current(stored).await,
            None => Err(VaultError::Conflict { what: "there is no master key yet".into() }),
        }
    }

    /// The key to set a secret with. The first one ever makes it; and when nothing is locked any
    /// more with a key that is lost, a new one takes its place.
    pub(super) async fn key_to_lock_with(&self, by: &Actor) -> Result<Arc<MasterKey>, VaultError> {
        let _alone = self.0.loading.lock().await;
        let state = |tx: &mut Tx<'_>| Ok((vault_keys::in_use(tx)?, secrets::any(tx)?));
        let (Some(stored), anything_locked) = self.0.db.read(state).await? else {
            return self.make(None, by).await;
        };
        let id = stored.id.clone();
        match self.current(stored).await {
            Err(VaultError::KeyAway { .. } | VaultError::WrongKey { .. }) if !anything_locked => {
                self.make(Some(id), by).await
            }
            fetched => fetched,
        }
    }

    /// The key of `stored`, which was the one in use when it was read. Since then others may have
    /// changed it, and its source holds the next one: so a key is the wrong one, or the key file is,
    /// only if `stored` is still in use after the source was asked.
    pub(super) async fn current(&self, stored: StoredKey) -> Result<Arc<MasterKey>, VaultError> {
        let mut stored = stored;
        for _ in 0..TRIES {
            let fetched = self.fetch(&stored).await;
            let is_doubtful = match &fetched {
                Err(VaultError::KeyAway { .. } | VaultError::WrongKey { .. }) => true,
                Ok(_) => self.stand_in(Some(&stored.id)).is_some(),
                Err(_) => false,
            };
            if !is_doubtful {
                return fetched;
            }
            match self.0.db.read(vault_keys::in_use).await? {
                Some(now) if now.id != stored.id => stored = now,
                Some(_) | None => {
                    self.log_stand_in();
                    return fetched;
                }
            }
        }
        Err(key_keeps_changing())
    }

    async fn fetch(&self, stored: &StoredKey) -> Result<Arc<MasterKey>, VaultError> {
        let fetched = self.ask(stored).await;
        self.remember(&stored.id, fetched.as_ref().err());
        fetched
    }

    async fn ask(&self, stored: &StoredKey) -> Result<Arc<MasterKey>, VaultError> {
        if let Some(held) = self.held().filter(|held| held.id == stored.id) {
            return Ok(held);
        }
        let source = self.source()?;
        self.note_nothing();
        let mut stand_in = None;
        let found = match source {
            Source::File(path) => from_file(path, stored).await.map(|found| {
                let (key, instead) = found?;
                stand_in = instead;
                Some(key)
            }),
            Source::Passphrase(from) => from_passphrase(from.clone(), stored).await,
            Source::Command(argv) => command::read(argv).await.map(|bytes| verify(bytes, stored)),
            Source::Keyring(keyring) => from_keyring(keyring, stored).await,
        };
        let (needed, locked_with) = (stored.id.clone(), stored.source.clone());
        let key = match found {
            Ok(Some(key)) => key,
            Ok(None) => {
                let tried = source.to_string();
                return Err(VaultError::WrongKey { tried, needed, locked_with });
            }
            Err(_) if locked_with != source.word() => {
                // What is wrong with this source is beside the point.
                let tried = source.to_string();
                let problem = KeyProblem::Elsewhere { tried, locked_with: locked_with.clone() };
                return Err(VaultError::KeyAway { needed, locked_with, problem });
            }
            Err(problem) => return Err(VaultError::KeyAway { needed, locked_with, problem }),
        };
        let key = Arc::new(key);
        self.hold(key.clone());
        self.note(stored, stand_in);
        Ok(key)
    }

    /// Takes the source's key into use as a new one. `lost`: instead of this one, which nothing is
    /// locked with.
    async fn make(&self, lost: Option<KeyId>, by: &Actor) -> Result<Arc<MasterKey>, VaultError> {
        let source = self.source()?;
        let (bytes, derivation) = match source {
            Source::File(path) => (Ok(new_in_file(path.clone()).await?), Derivation::None),
            Source::Passphrase(from) => {
                let (from, how) = (from.clone(), Derivation::argon2id());
                let derived = how.clone();
                let read =
                    move || passphrase::derive(&passphrase::read(from.as_deref())?, &derived);
                (blocking(read).await, how)
            }
            Source::Command(argv) => (command::read(argv).await, Derivation::None),
            Source::Keyring(keyring) => (keyring.read_or_create().await, Derivation::None),
        };
        let bytes = bytes.map_err(VaultError::NoKey)?;
        let key = Arc::new(MasterKey::new(KeyId::random(), bytes));
        let stored = describe_key(&key, source.word(), &derivation);
        palyra_storage::crash_point!("vault.make.key_written");
        let entry = self.entry("vault.master_created", format!("vault-key:{}", key.id), by);
        let insert = move |tx: &mut Tx<'_>| {
            if let Some(lost) = &lost {
                let unused = vault_keys::fence(tx, lost)? && !secrets::any(tx)?;
                if !unused {
                    return Err(not_in_use(lost));
                }
                vault_keys::retire(tx, lost, entry.at())?;
            }
            if !vault_keys::insert(tx, &stored, entry.at())? {
                return Ok(false);
            }
            entry.record(tx, "ok", serde_json::json!({ "source": stored.source }));
            Ok(true)
        };
        if self.0.db.try_write::<_, VaultError, _>(insert).await? {
            self.hold(key.clone());
            return Ok(key);
        }
        // Another node was first. With a shared source it made the same key, under another name.
        match self.0.db.read(vault_keys::in_use).await? {
            Some(stored) => self.current(stored).await,
            None => Err(not_in_use(&key.id)),
        }
    }
}

/// What is stored of a new key.
pub(super) fn describe_key(key: &MasterKey, source: &str, derivation: &Derivation) -> StoredKey {
    StoredKey {
        id: key.id.clone(),
        source: source.into(),
        probe: key.probe(),
        derivation: derivation.to_json(),
    }
}

pub(super) fn verify(bytes: KeyBytes, stored: &StoredKey) -> Option<MasterKey> {
    MasterKey::verified(&stored.id, bytes, &stored.probe)
}

/// The key in the file; or the one that a rotation has left beside it, which is then put in its
/// place; or one that was kept, where the file is lost or a backup from before a rotation was
/// restored. Not while others may use the file: that it is seen to matters more.
async fn from_file(
    path: &Path,
    stored: &StoredKey,
) -> Result<Option<(MasterKey, Option<StandIn>)>, KeyProblem> {
    let (path, stored) = (path.to_owned(), stored.clone());
    blocking(move || {
        match stand_in::in_place(&path, &stored) {
            Ok(Some(key)) => return Ok(Some((key, None))),
            Err(open @ (KeyProblem::Exposed { .. } | KeyProblem::Foreign { .. })) => {
                return Err(open);
            }
            Ok(None) | Err(_) => {}
        }
        let waiting = file::read_key(&file::pending(&path, &stored.id));
        let Some(key) = waiting.ok().and_then(|bytes| verify(bytes, &stored)) else {
            // It may have been put in its place between the two looks.
            return stand_in::kept(&path, &stored, stand_in::in_place(&path, &stored));
        };
        // Whoever holds the lock is about to do it.
        let finished = file::lock(&path).and_then(|lock| match lock {
            Some(_held) => file::finish(&path, &stored.id),
            None => Ok(()),
        });
        if let Err(problem) = finished {
            tracing::warn!(error = %describe(&problem), "the new key waits beside the old one");
        }
        Ok(Some((key, None)))
    })
    .await
}

/// The same with entries of the keyring.
async fn from_keyring(
    keyring: &Keyring,
    stored: &StoredKey,
) -> Result<Option<MasterKey>, KeyProblem> {
    let in_place = async || Ok(keyring.read().await?.map(|bytes| verify(bytes, stored)));
    if let Some(Some(key)) = in_place().await? {
        return Ok(Some(key));
    }
    let waiting = keyring.pending(&stored.id).await?;
    let Some(key) = waiting.and_then(|bytes| verify(bytes, stored)) else {
        let kept = keyring.kept(&stored.id).await?;
        if let Some(key) = kept.and_then(|bytes| verify(bytes, stored)) {
            return Ok(Some(key));
        }
        // It may have been put in its place between the two looks.
        return in_place().await?.ok_or(KeyProblem::Keyring { what: NOT_IN_KEYRING.into() });
    };
    // Whoever holds the lock is about to do it.
    let finished = match keyring.lock().await {
        Ok(Some(held)) => keyring.finish(&stored.id, &held).await,
        Ok(None) => Ok(()),
        Err(problem) => Err(problem),
    };
    if let Err(problem) = finished {
        tracing::warn!(error = %describe(&problem), "the new key waits beside the old one");
    }
    Ok(Some(key))
}

async fn from_passphrase(
    from: Option<PathBuf>,
    stored: &StoredKey,
) -> Result<Option<MasterKey>, KeyProblem> {
    let stored = stored.clone();
    blocking(move || {
        let how = match Derivation::from_json(&stored.derivation)? {
            // Locked with a key from elsewhere: no passphrase is the right one.
            Derivation::None => return Ok(None),
            how @ Derivation::Argon2id { .. } => how,
        };
        let bytes = passphrase::derive(&passphrase::read(from.as_deref())?, &how)?;
        Ok(verify(bytes, &stored))
    })
    .await
}

/// The key in the file, which is made if it is not there.
async fn new_in_file(path: PathBuf) -> Result<KeyBytes, VaultError> {
    let made = blocking(move || match file::read_key(&path) {
        Err(KeyProblem::Missing { .. }) => Ok(match file::create(&path, &entropy::random_key()) {
            // Whoever came first has made it.
            Ok(()) => file::read_key(&path).map_err(VaultError::NoKey),
            Err(problem) => Err(VaultError::NotWritten(problem)),
        }),
        found => found.map(Ok),
    });
    made.await.map_err(VaultError::NoKey)?
}
