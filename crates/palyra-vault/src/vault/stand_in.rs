//! What is used while the key is not where it belongs: the copy that a rotation has kept, or the key
//! of a rotation that could not be put in its place.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use palyra_common::time::Timestamp;

use super::Vault;
use super::ask::Given;
use super::keys::verify;
use crate::key::{KeyId, MasterKey};
use crate::source::{KeyProblem, file};
use crate::store::vault_keys::StoredKey;

/// What is used in place of the key file, or of the entry of the keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    place: Place,
    wrong: Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    File { key_file: PathBuf, used: PathBuf },
    Keyring,
}

/// What is wrong with the place of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    Missing,
    NoKey,
    OtherKey,
    Unreadable,
    /// By a new key, for this reason.
    NotReplaced(String),
}

impl Wrong {
    /// Of what came of reading it; `None`: nothing is, or others can use it, which matters more than
    /// that there is a copy.
    fn of(found: &Result<Option<MasterKey>, KeyProblem>) -> Option<Self> {
        match found {
            Ok(Some(_)) | Err(KeyProblem::Exposed { .. } | KeyProblem::Foreign { .. }) => None,
            Ok(None) => Some(Wrong::OtherKey),
            Err(KeyProblem::Missing { .. }) => Some(Wrong::Missing),
            Err(KeyProblem::Malformed) => Some(Wrong::NoKey),
            Err(_) => Some(Wrong::Unreadable),
        }
    }
}

impl StandIn {
    /// For a new key that is durable and in use, and could not replace the one in the key file.
    pub(super) fn of_file(path: &Path, id: &KeyId, problem: &KeyProblem) -> Self {
        let (pending, kept) = (file::pending(path, id), file::kept(path, id));
        let is_kept = file::read_key(&pending).is_ok_and(|bytes| file::holds(&kept, &bytes));
        let used = if is_kept { kept } else { pending };
        let place = Place::File { key_file: path.to_owned(), used };
        Self { place, wrong: Wrong::NotReplaced(reason(problem)) }
    }

    /// The same in the keyring.
    pub(super) fn of_keyring(problem: &KeyProblem) -> Self {
        Self { place: Place::Keyring, wrong: Wrong::NotReplaced(reason(problem)) }
    }

    /// For the entry that a rotation has kept, where that of the key is not there.
    pub(super) fn for_no_entry() -> Self {
        Self { place: Place::Keyring, wrong: Wrong::Missing }
    }

    /// The same where that of the key holds another one.
    pub(super) fn for_another_entry() -> Self {
        Self { place: Place::Keyring, wrong: Wrong::OtherKey }
    }

    /// The file that the key is in, if it is in one.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File { used, .. } => Some(used),
            Place::Keyring => None,
        }
    }

    /// What an operator should do.
    pub fn advice(&self) -> String {
        let Place::File { key_file, used } = &self.place else {
            return match &self.wrong {
                Wrong::NotReplaced(_) => {
                    "Unlock the keyring and see that it takes entries; then the daemon puts the key \
                     in its place itself."
                }
                Wrong::Missing | Wrong::NoKey | Wrong::OtherKey | Wrong::Unreadable => {
                    "Run `palyra secrets rotate-master`, which puts a new key there; if another key \
                     is there that is needed elsewhere, copy it first."
                }
            }
            .into();
        };
        let (used, key_file) = (used.display(), key_file.display());
        let copy = format!("Copy {used} to {key_file}, with mode 0600.");
        match &self.wrong {
            Wrong::NotReplaced(_) => format!(
                "Write what {used} holds into {key_file}, with mode 0600, or see that this file can \
                 be replaced: then the daemon does it itself. The key before is kept beside it."
            ),
            Wrong::OtherKey => {
                format!("{copy} Before that, rename the file that is there: its key may be needed.")
            }
            Wrong::Missing | Wrong::NoKey | Wrong::Unreadable => copy,
        }
    }
}

/// As the place of the key, which is what an operator reads of the vault everywhere.
impl fmt::Display for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = match &self.wrong {
            Wrong::Missing if self.place == Place::Keyring => "is not there",
            Wrong::Missing => "does not exist",
            Wrong::NoKey => "does not hold a key",
            Wrong::OtherKey => "holds another key",
            Wrong::Unreadable => "cannot be read",
            Wrong::NotReplaced(why) => &format!("could not be replaced ({why})"),
        };
        match &self.place {
            Place::File { key_file, used } => {
                let (used, key_file) = (used.display(), key_file.display());
                write!(
                    f,
                    "the file {used} instead of the key file {key_file}, which {wrong}; copy it there"
                )
            }
            Place::Keyring => write!(
                f,
                "an entry of a rotation in the keyring of the system instead of the entry of this \
                 data directory, which {wrong}"
            ),
        }
    }
}

/// Without the name of the file, which is told anyway.
fn reason(problem: &KeyProblem) -> String {
    match problem {
        KeyProblem::Unusable { cause, .. } => cause.to_string(),
        other => other.to_string(),
    }
}

/// What stands in for the key file, and for which key.
#[derive(Default)]
pub(super) struct Noted(Mutex<Option<Note>>);

struct Note {
    key: KeyId,
    stand_in: StandIn,
    at: Timestamp,
    is_logged: bool,
}

impl Vault {
    /// Where the master key comes from, in words: the kind of source, and the path of a key file; or
    /// what stands in for that, as of the last look at the key.
    pub fn key_source(&self) -> String {
        match (&self.0.source, self.stand_in(None)) {
            (_, Some(stand_in)) => stand_in.to_string(),
            (Ok(source), None) => source.to_string(),
            (Err(problem), None) => problem.to_string(),
        }
    }

    /// What stands in for the key file, as far as it was looked at.
    pub(super) fn stand_in(&self, id: Option<&KeyId>) -> Option<StandIn> {
        self.noted(|note| {
            let note = note.as_ref().filter(|note| id.is_none_or(|id| note.key == *id));
            note.map(|note| note.stand_in.clone())
        })
    }

    /// When it was last seen that something stands in for this key.
    pub(super) fn stood_in_at(&self, id: &KeyId) -> Option<Timestamp> {
        self.noted(|note| note.as_ref().filter(|note| note.key == *id).map(|note| note.at))
    }

    /// Notes what stands in for the key file now. What was logged of it is not logged again.
    pub(super) fn note(&self, key: &KeyId, stand_in: Option<StandIn>) {
        let at = self.0.clock.now();
        self.noted(|note| {
            let is_logged = note.as_ref().is_some_and(|note| note.key == *key && note.is_logged);
            *note = stand_in.map(|stand_in| Note { key: key.clone(), stand_in, at, is_logged });
        });
    }

    pub(super) fn note_nothing(&self) {
        self.noted(|note| *note = None);
    }

    /// Says once in the log what stands in for the key file.
    pub(super) fn log_stand_in(&self) {
        let told = self.noted(|note| {
            let note = note.as_mut().filter(|note| !note.is_logged)?;
            note.is_logged = true;
            Some((note.key.clone(), note.stand_in.clone()))
        });
        if let Some((key, stand_in)) = told {
            let advice = stand_in.advice();
            tracing::warn!(%key, advice, "the master key comes from {stand_in}");
        }
    }

    fn noted<T>(&self, look: impl FnOnce(&mut Option<Note>) -> T) -> T {
        look(&mut self.0.noted.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The key in the key file, if it is the right one.
pub(super) fn in_place(path: &Path, stored: &StoredKey) -> Result<Option<MasterKey>, KeyProblem> {
    file::read_key(path).map(|bytes| verify(bytes, stored))
}

/// The key as it was kept. `found` is what came of looking at the key file, and what is told where
/// there is no copy that is the key.
pub(super) fn kept(
    path: &Path,
    stored: &StoredKey,
    found: Result<Option<MasterKey>, KeyProblem>,
) -> Given {
    let Some(wrong) = Wrong::of(&found) else {
        return Ok(found?.map(|key| (key, None)));
    };
    let used = file::kept(path, &stored.id);
    match file::read_key(&used).map(|bytes| verify(bytes, stored)) {
        Ok(Some(key)) => {
            let place = Place::File { key_file: path.to_owned(), used };
            Ok(Some((key, Some(StandIn { place, wrong }))))
        }
        // It is not lost, and this is how to have it.
        Err(exposed @ KeyProblem::Exposed { .. }) => Err(exposed),
        Ok(None) | Err(_) => Ok(found?.map(|key| (key, None))),
    }
}
