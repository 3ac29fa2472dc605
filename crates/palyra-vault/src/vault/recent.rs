//! What came of asking for the key a moment ago, for those who only want to know how it is: anybody
//! may have them ask, and a passphrase costs a computation, a command or a keyring a program.

use std::sync::{Arc, Mutex, PoisonError};

use palyra_common::time::{Duration, Timestamp};

use super::keys::Purpose;
use super::{StandIn, Vault};
use crate::VaultError;
use crate::key::{KeyId, MasterKey};
use crate::source::{KeyProblem, Source, blocking, file};
use crate::store::vault_keys;

/// How long a failure, or what stands in for the key, is told without asking again.
const REMEMBERED: Duration = Duration::from_secs(30);

/// How the master key is, where nothing is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// There was never a secret. The first one makes it.
    NotMade,
    /// It is there, and the right one.
    Usable(KeyId),
    /// The same, but not where it belongs.
    Kept(KeyId, StandIn),
}

/// The last failure, unless the key was had since.
#[derive(Default)]
pub(super) struct Recent(Mutex<Option<Failure>>);

struct Failure {
    needed: KeyId,
    at: Timestamp,
    error: VaultError,
}

impl Vault {
    /// Whether secrets can be read, now and after a restart: the key is there and is the right one,
    /// or there is no key yet because there was never a secret. Cheap to ask again and again: a file
    /// is looked at each time, and a source that costs something only for a key that is not in
    /// memory, or where it has failed. Then it is asked again after 30 seconds, or when somebody
    /// needs a secret.
    pub async fn check(&self) -> Result<KeyState, VaultError> {
        match self.0.db.read(vault_keys::in_use).await? {
            Some(stored) => {
                let vault = self.clone();
                let asking = async move { vault.load_alone(Purpose::Lock).await };
                Ok(self.state_of(self.usable(stored.id, asking).await?))
            }
            None => self.source().map(|_| KeyState::NotMade),
        }
    }

    /// The same of the key in memory, for when the database does not answer: whether a restart would
    /// find it. Nobody but its source is asked. `None`: there is none in memory, so none can go with
    /// this process.
    pub async fn check_held(&self) -> Result<Option<KeyState>, VaultError> {
        let Some(stored) = self.stored_of_held() else { return Ok(None) };
        let (vault, id) = (self.clone(), stored.id.clone());
        let asking = async move { vault.fetch(&stored, Purpose::Lock).await };
        Ok(Some(self.state_of(self.usable(id, asking).await?)))
    }

    /// The id of the key in memory, if there is one.
    pub fn held_id(&self) -> Option<KeyId> {
        self.held().map(|key| key.id.clone())
    }

    /// How a key is that can be had.
    fn state_of(&self, id: KeyId) -> KeyState {
        match self.stand_in(Some(&id)) {
            Some(stand_in) => KeyState::Kept(id, stand_in),
            None => KeyState::Usable(id),
        }
    }

    /// When the failure was seen that [`check`](Self::check) tells without asking again.
    pub fn failed_at(&self) -> Option<Timestamp> {
        let recent = self.0.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.as_ref().map(|failure| failure.at)
    }

    /// Remembers what came of asking for a key; no error: it is there.
    pub(super) fn remember(&self, needed: &KeyId, error: Option<&VaultError>) {
        let failure = error.filter(|_| self.asking_costs()).map(|error| Failure {
            needed: needed.clone(),
            at: self.0.clock.now(),
            error: error.clone(),
        });
        *self.0.recent.0.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// The id of the key in use, if it can be had; `needed` was the one a moment ago. `asking` gets it
    /// from its source.
    async fn usable(
        &self,
        needed: KeyId,
        asking: impl Future<Output = Result<Arc<MasterKey>, VaultError>> + Send + 'static,
    ) -> Result<KeyId, VaultError> {
        let is_held = self.held().is_some_and(|held| held.id == needed);
        if is_held && !self.is_in_doubt(&needed).await {
            return Ok(needed);
        }
        let alone = self.0.loading.clone().lock_owned().await;
        if let Some(error) = self.failed_just_now(&needed) {
            return Err(error);
        }
        // Whoever checks may lose patience. The source is asked to the end nevertheless, or the next
        // check would begin anew.
        let asking = tokio::spawn(async move {
            let _alone = alone;
            asking.await.map(|key| key.id.clone())
        });
        asking.await.unwrap_or(Err(VaultError::NoKey(KeyProblem::Stopped)))
    }

    /// Whether a key that is in memory may have gone from its source, as far as that costs nothing.
    async fn is_in_doubt(&self, id: &KeyId) -> bool {
        let is_gone = match &self.0.source {
            Ok(Source::File(_)) => true,
            Ok(Source::Passphrase(Some(path))) => {
                let path = path.clone();
                blocking(move || file::read(&path)).await.is_err()
            }
            // Somebody may have seen to it that it takes the key.
            Ok(Source::Keyring(_)) => {
                let seen = self.stood_in_at(id);
                seen.is_some_and(|at| !self.is_recent(at))
            }
            Ok(Source::Passphrase(None) | Source::Command(_)) | Err(_) => false,
        };
        let recent = self.0.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        is_gone || recent.as_ref().is_some_and(|failure| failure.needed == *id)
    }

    fn failed_just_now(&self, needed: &KeyId) -> Option<VaultError> {
        let recent = self.0.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = recent.as_ref().filter(|failure| failure.needed == *needed)?;
        self.is_recent(failure.at).then(|| failure.error.clone())
    }

    fn is_recent(&self, at: Timestamp) -> bool {
        let now = self.0.clock.now();
        // Clocks are put back at times.
        now >= at && now < at + REMEMBERED
    }

    fn asking_costs(&self) -> bool {
        match &self.0.source {
            Ok(Source::Passphrase(_) | Source::Command(_) | Source::Keyring(_)) => true,
            Ok(Source::File(_)) | Err(_) => false,
        }
    }
}
