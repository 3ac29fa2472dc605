//! What the source of the master key gives.

use std::path::{Path, PathBuf};

use super::keys::verify;
use super::stand_in::{self, StandIn};
use crate::VaultError;
use crate::entropy;
use crate::key::{KeyBytes, MasterKey};
use crate::source::keyring::Keyring;
use crate::source::passphrase::Derivation;
use crate::source::{KeyProblem, Source, blocking, command, file, passphrase};
use crate::store::vault_keys::StoredKey;

/// The tools do not tell the two apart.
const NOT_IN_KEYRING: &str = "has no key for this data directory, or is locked; unlock it, or bring \
                              the key back";

/// What a source has for a key, and what stands in for it there. `None`: another key.
pub(super) type Given = Result<Option<(MasterKey, Option<StandIn>)>, KeyProblem>;

/// Asks the source for the key of `stored`.
pub(super) async fn ask(source: &Source, stored: &StoredKey) -> Given {
    let found = match source {
        Source::File(path) => return from_file(path, stored).await,
        Source::Passphrase(from) => from_passphrase(from.clone(), stored).await,
        Source::Command(argv) => command::read(argv).await.map(|bytes| verify(bytes, stored)),
        Source::Keyring(keyring) => return from_keyring(keyring, stored).await,
    };
    found.map(|key| Some((key?, None)))
}

/// What is said of a key that nobody here has; `problem`: none where the source gives another one.
pub(super) fn away(source: &Source, stored: &StoredKey, problem: Option<KeyProblem>) -> VaultError {
    let (needed, locked_with) = (stored.id.clone(), stored.source.clone());
    let tried = source.to_string();
    match problem {
        None => VaultError::WrongKey { tried, needed, locked_with },
        Some(_) if locked_with != source.word() => {
            // What is wrong with this source is beside the point.
            let problem = KeyProblem::Elsewhere { tried, locked_with: locked_with.clone() };
            VaultError::KeyAway { needed, locked_with, problem }
        }
        Some(problem) => VaultError::KeyAway { needed, locked_with, problem },
    }
}

/// The same of a key that is still in memory.
pub(super) fn only_in_memory(
    source: &Source,
    stored: &StoredKey,
    problem: Option<KeyProblem>,
) -> VaultError {
    let problem = problem.unwrap_or(KeyProblem::Another);
    VaultError::OnlyInMemory { needed: stored.id.clone(), tried: source.to_string(), problem }
}

/// The key in the file; or the one that a rotation has left beside it, which is then put in its
/// place, or stands in for it; or one that was kept, where the file is lost or a backup from before a rotation was
/// restored. Not while others may use the file: that it is seen to matters more.
async fn from_file(path: &Path, stored: &StoredKey) -> Given {
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
        let instead = finished.err().map(|problem| StandIn::of_file(&path, &stored.id, &problem));
        Ok(Some((key, instead)))
    })
    .await
}

/// The same with entries of the keyring.
async fn from_keyring(keyring: &Keyring, stored: &StoredKey) -> Given {
    let in_place = async || Ok(keyring.read().await?.map(|bytes| verify(bytes, stored)));
    if let Some(Some(key)) = in_place().await? {
        return Ok(Some((key, None)));
    }
    let waiting = keyring.pending(&stored.id).await?;
    let Some(key) = waiting.and_then(|bytes| verify(bytes, stored)) else {
        let kept = keyring.kept(&stored.id).await?;
        let kept = kept.and_then(|bytes| verify(bytes, stored));
        // It may have been put in its place between the two looks.
        return match (in_place().await?, kept) {
            (Some(Some(key)), _) => Ok(Some((key, None))),
            (Some(None), Some(key)) => Ok(Some((key, Some(StandIn::for_another_entry())))),
            (None, Some(key)) => Ok(Some((key, Some(StandIn::for_no_entry())))),
            (Some(None), None) => Ok(None),
            (None, None) => Err(KeyProblem::Keyring { what: NOT_IN_KEYRING.into() }),
        };
    };
    // Whoever holds the lock is about to do it.
    let finished = match keyring.lock().await {
        Ok(Some(held)) => keyring.finish(&stored.id, &held).await,
        Ok(None) => Ok(()),
        Err(problem) => Err(problem),
    };
    Ok(Some((key, finished.err().map(|problem| StandIn::of_keyring(&problem)))))
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
pub(super) async fn new_in_file(path: PathBuf) -> Result<KeyBytes, VaultError> {
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
