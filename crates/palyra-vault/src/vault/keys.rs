//! Having the right master key at hand.

use std::sync::{Arc, PoisonError};

use palyra_storage::Tx;

use super::{Actor, TRIES, Vault, ask, key_keeps_changing, not_in_use};
use crate::VaultError;
use crate::key::{KeyBytes, KeyId, MasterKey};
use crate::source::passphrase::Derivation;
use crate::source::{Source, blocking, command, passphrase};
use crate::store::secrets;
use crate::store::vault_keys::{self, StoredKey};

/// The key in memory.
#[derive(Clone)]
pub(super) struct Held {
    key: Arc<MasterKey>,
    /// What the database has of it, which may be away when it is needed.
    stored: Arc<StoredKey>,
    /// Given by the operator in a rotation, who sees to it that its source has it at the next start:
    /// the source of now has nothing to say about it.
    is_ahead: bool,
}

/// What is done with a key, which decides whether it is enough to have it in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To open what is locked with it.
    Open,
    /// To lock what is to be opened after a restart: the source must have it, too.
    Lock,
}

impl Vault {
    /// The key that was the right one when it was last needed.
    pub(super) fn held(&self) -> Option<Arc<MasterKey>> {
        self.in_memory().map(|held| held.key)
    }

    fn in_memory(&self) -> Option<Held> {
        self.0.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the database had of the key in memory.
    pub(super) fn stored_of_held(&self) -> Option<Arc<StoredKey>> {
        self.in_memory().map(|held| held.stored)
    }

    pub(super) fn hold(&self, key: Arc<MasterKey>, stored: StoredKey) {
        self.keep_in_memory(Held { key, stored: Arc::new(stored), is_ahead: false });
    }

    /// Holds a key that its source has at the next start only.
    pub(super) fn hold_ahead(&self, key: Arc<MasterKey>, stored: StoredKey) {
        self.keep_in_memory(Held { key, stored: Arc::new(stored), is_ahead: true });
    }

    fn keep_in_memory(&self, held: Held) {
        self.note_nothing();
        *self.0.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
        self.0.key_came.notify_one();
    }

    pub(super) fn source(&self) -> Result<&Source, VaultError> {
        self.0.source.as_ref().map_err(|problem| VaultError::NoKey(problem.clone()))
    }

    /// The key in use, from memory if that is still the one, else from its source.
    pub(super) async fn load(&self) -> Result<Arc<MasterKey>, VaultError> {
        let _alone = self.0.loading.lock().await;
        self.load_alone(Purpose::Open).await
    }

    /// The key in use, by whoever holds `loading`.
    pub(super) async fn load_alone(&self, to: Purpose) -> Result<Arc<MasterKey>, VaultError> {
        match self.0.db.read(vault_keys::in_use).await? {
            Some(stored) => self.current(stored, to).await,
            None => Err(VaultError::Conflict { what: "there is no master key yet".into() }),
        }
    }

    /// The key to set a secret with, or to replace, for which it is only to open. The first one ever
    /// makes it; and when nothing is locked any more with a key that is lost, a new one takes its
    /// place.
    pub(super) async fn key_in_use(
        &self,
        to: Purpose,
        by: &Actor,
    ) -> Result<Arc<MasterKey>, VaultError> {
        let _alone = self.0.loading.lock().await;
        let state = |tx: &mut Tx<'_>| Ok((vault_keys::in_use(tx)?, secrets::any(tx)?));
        let (Some(stored), anything_locked) = self.0.db.read(state).await? else {
            return self.make(None, by).await;
        };
        let id = stored.id.clone();
        match self.current(stored, to).await {
            Err(error) if is_without_key(&error) && !anything_locked => {
                self.make(Some(id), by).await
            }
            fetched => fetched,
        }
    }

    /// The key of `stored`, which was the one in use when it was read. Since then others may have
    /// changed it, and its source holds the next one: so a key is the wrong one, or the key file is,
    /// only if `stored` is still in use after the source was asked.
    pub(super) async fn current(
        &self,
        stored: StoredKey,
        to: Purpose,
    ) -> Result<Arc<MasterKey>, VaultError> {
        let mut stored = stored;
        for _ in 0..TRIES {
            let fetched = self.fetch(&stored, to).await;
            let is_doubtful = match &fetched {
                Ok(_) => self.stand_in(Some(&stored.id)).is_some(),
                Err(error) => is_without_key(error),
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

    /// The key of `stored`, from memory or from its source. No database is asked.
    pub(super) async fn fetch(
        &self,
        stored: &StoredKey,
        to: Purpose,
    ) -> Result<Arc<MasterKey>, VaultError> {
        let held = self.in_memory().filter(|held| held.key.id == stored.id);
        if let Some(held) = &held
            && (to == Purpose::Open || held.is_ahead || !self.asks_again())
        {
            return Ok(held.key.clone());
        }
        let source = self.source()?;
        let fetched = match (ask::ask(source, stored).await, &held) {
            (Ok(Some((_, instead))), Some(held)) => Ok((held.key.clone(), instead)),
            (Ok(Some((key, instead))), None) => {
                let key = Arc::new(key);
                self.hold(key.clone(), stored.clone());
                Ok((key, instead))
            }
            (given, Some(_)) => Err(ask::only_in_memory(source, stored, given.err())),
            (given, None) => Err(ask::away(source, stored, given.err())),
        };
        self.remember(&stored.id, fetched.as_ref().err());
        let (key, instead) = fetched.inspect_err(|_| self.note_nothing())?;
        self.note(&stored.id, instead);
        Ok(key)
    }

    /// Whether whoever locks something asks the source for a key that is in memory. The environment
    /// of a process stays as it is. A command may ask somebody each time, and what it prints is kept
    /// by another program, which loses nothing with a file here.
    fn asks_again(&self) -> bool {
        match &self.0.source {
            Ok(Source::File(_) | Source::Keyring(_) | Source::Passphrase(Some(_))) => true,
            Ok(Source::Passphrase(None) | Source::Command(_)) | Err(_) => false,
        }
    }

    /// Takes the source's key into use as a new one. `lost`: instead of this one, which nothing is
    /// locked with.
    async fn make(&self, lost: Option<KeyId>, by: &Actor) -> Result<Arc<MasterKey>, VaultError> {
        let source = self.source()?;
        let (bytes, derivation) = match source {
            Source::File(path) => (Ok(ask::new_in_file(path.clone()).await?), Derivation::None),
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
        let made = stored.clone();
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
            self.hold(key.clone(), made);
            return Ok(key);
        }
        // Another node was first. With a shared source it made the same key, under another name.
        match self.0.db.read(vault_keys::in_use).await? {
            Some(stored) => self.current(stored, Purpose::Lock).await,
            None => Err(not_in_use(&key.id)),
        }
    }
}

/// Whether the source does not have the key, whatever there is in memory.
fn is_without_key(error: &VaultError) -> bool {
    matches!(
        error,
        VaultError::KeyAway { .. } | VaultError::WrongKey { .. } | VaultError::OnlyInMemory { .. }
    )
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
