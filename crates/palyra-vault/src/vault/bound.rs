//! How many old master keys stay.

use palyra_storage::{Tx, describe};

use super::{GoesNext, KEYS_KEPT, Vault};
use crate::VaultError;
use crate::key::KeyId;
use crate::source::{Source, blocking, file};
use crate::store::vault_keys;

/// A file costs nothing to look for.
const FILES_AT_ONCE: usize = 1_000;
/// An entry of the keyring costs two starts of a program. A rotation makes one key too many; what a
/// crash has left goes with the next ones.
const ENTRIES_AT_ONCE: usize = 4;

impl Vault {
    /// Removes kept keys but the last ones. Only those that this database knows: of others, as of
    /// newer backups, it cannot tell how old they are. `just_replaced` stays whatever the clock says.
    pub(super) async fn forget_oldest(&self, just_replaced: &KeyId) {
        if let Err(error) = self.forget(just_replaced).await {
            tracing::warn!(error = %describe(&error), "old master keys were not removed");
        }
    }

    /// The oldest key that is kept, if the next change removes it. That it is not known stops nobody.
    pub(super) async fn goes_next(&self) -> Option<GoesNext> {
        let source = self.source().ok()?;
        let oldest = |tx: &mut Tx<'_>| vault_keys::retired(tx, KEYS_KEPT - 1, 1);
        let key_id = self.0.db.read(oldest).await.ok()?.pop()?;
        match source {
            Source::File(path) => Some(GoesNext { file: Some(file::kept(path, &key_id)), key_id }),
            Source::Keyring(_) => Some(GoesNext { key_id, file: None }),
            Source::Passphrase(_) | Source::Command(_) => None,
        }
    }

    async fn forget(&self, just_replaced: &KeyId) -> Result<(), VaultError> {
        let most = match self.source()? {
            Source::File(_) => FILES_AT_ONCE,
            Source::Keyring(_) => ENTRIES_AT_ONCE,
            Source::Passphrase(_) | Source::Command(_) => return Ok(()),
        };
        let oldest = move |tx: &mut Tx<'_>| vault_keys::retired(tx, KEYS_KEPT, most);
        let mut oldest = self.0.db.read(oldest).await?;
        oldest.retain(|id| id != just_replaced);
        let forgotten = match self.source()? {
            Source::File(path) => {
                let path = path.clone();
                blocking(move || oldest.iter().try_for_each(|id| file::forget(&path, id))).await
            }
            Source::Keyring(keyring) => {
                for id in &oldest {
                    keyring.forget(id).await.map_err(VaultError::NoKey)?;
                }
                Ok(())
            }
            Source::Passphrase(_) | Source::Command(_) => Ok(()),
        };
        forgotten.map_err(VaultError::NoKey)
    }
}
