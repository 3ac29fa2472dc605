//! The next key, beside the one in use: in a file or in the keyring.

use std::fs::File;
use std::path::{Path, PathBuf};

use palyra_storage::{StorageError, describe};

use super::StandIn;
use crate::key::{KeyBytes, KeyId};
use crate::source::keyring::{Held, Keyring};
use crate::source::{KeyProblem, Source, blocking, file};
use crate::{VaultError, entropy};

/// Where it waits, with the lock that keeps others from changing the same key.
pub(super) enum Waiting {
    File { path: PathBuf, lock: File },
    Keyring { keyring: Keyring, held: Held },
}

impl Waiting {
    /// Makes a new key and keeps it durably.
    pub(super) async fn write(source: &Source, id: &KeyId) -> Result<(KeyBytes, Self), VaultError> {
        let written = match source {
            Source::File(path) => in_file(path.clone(), id.clone()).await,
            Source::Keyring(keyring) => in_keyring(keyring, id).await,
            Source::Passphrase(_) | Source::Command(_) => {
                let what = "the key is neither in a file nor in the keyring, so give a new \
                            passphrase or command";
                return Err(VaultError::Refused { what: what.into() });
            }
        };
        let busy =
            || VaultError::Conflict { what: "the master key is being changed already".into() };
        written.map_err(VaultError::NotWritten)?.ok_or_else(busy)
    }

    /// The file that the key will be in.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Waiting::File { path, .. } => Some(path),
            Waiting::Keyring { .. } => None,
        }
    }

    /// Takes away a key that is not in use. Where the outcome is not known it stays, since it may
    /// be; and so do others, since one of them may be what this rotation was refused for.
    pub(super) async fn discard(self, id: &KeyId, error: Option<&VaultError>) {
        if matches!(error, Some(VaultError::Storage(StorageError::CommitUnknown(_)))) {
            return;
        }
        let removed = match self {
            Waiting::File { path, lock } => {
                let id = id.clone();
                blocking(move || {
                    let _held = lock;
                    file::discard(&path, &id)
                })
                .await
            }
            Waiting::Keyring { keyring, held } => keyring.discard(id, &held).await,
        };
        if let Err(problem) = removed {
            tracing::warn!(error = %describe(&problem), "an unused key was left beside the key");
        }
    }

    /// Puts the key in its place. It is in use already and durable beside the old one, so a failure
    /// is made good by whoever needs the key next: until then what is returned stands in for it.
    pub(super) async fn settle(self, id: &KeyId) -> Option<StandIn> {
        let (finished, cleared) = match self {
            Waiting::File { path, lock } => settle_in_file(path, id.clone(), lock).await,
            Waiting::Keyring { keyring, held } => match keyring.finish(id, &held).await {
                Ok(()) => (None, keyring.discard_all(&held).await),
                Err(problem) => (Some(StandIn::of_keyring(&problem)), Ok(())),
            },
        };
        if let Err(problem) = cleared {
            tracing::warn!(error = %describe(&problem), "unused keys were left beside the key");
        }
        finished
    }
}

async fn settle_in_file(
    path: PathBuf,
    id: KeyId,
    lock: File,
) -> (Option<StandIn>, Result<(), KeyProblem>) {
    let settled = blocking(move || {
        let _held = lock;
        Ok(match file::finish(&path, &id) {
            Ok(()) => (None, file::remove_pending(&path, &id)),
            Err(problem) => (Some(StandIn::of_file(&path, &id, &problem)), Ok(())),
        })
    });
    // Cut off by a stop: whoever starts next does it.
    settled.await.unwrap_or((None, Ok(())))
}

/// `None`: somebody else changes the key.
type Written = Result<Option<(KeyBytes, Waiting)>, KeyProblem>;

async fn in_file(path: PathBuf, id: KeyId) -> Written {
    blocking(move || {
        let Some(lock) = file::lock(&path)? else {
            return Ok(None);
        };
        let bytes = entropy::random_key();
        file::write_pending(&path, &id, &bytes)?;
        Ok(Some((bytes, Waiting::File { path, lock })))
    })
    .await
}

async fn in_keyring(keyring: &Keyring, id: &KeyId) -> Written {
    let Some(held) = keyring.lock().await? else {
        return Ok(None);
    };
    let bytes = entropy::random_key();
    keyring.write_pending(id, &bytes, &held).await?;
    Ok(Some((bytes, Waiting::Keyring { keyring: keyring.clone(), held })))
}
