//! The copy of a key that a rotation has kept, used while the key file does not give the key.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Vault;
use super::ask::Given;
use super::keys::verify;
use crate::key::{KeyId, MasterKey};
use crate::source::{KeyProblem, file};
use crate::store::vault_keys::StoredKey;

/// A file that is used in place of the key file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    key_file: PathBuf,
    used: PathBuf,
    wrong: Wrong,
}

/// What is wrong with the key file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    Missing,
    NoKey,
    OtherKey,
    Unreadable,
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
    /// What an operator should do.
    pub fn advice(&self) -> String {
        let (used, key_file) = (self.used.display(), self.key_file.display());
        let copy = format!("Copy {used} to {key_file}, with mode 0600.");
        match self.wrong {
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
        let (used, key_file) = (self.used.display(), self.key_file.display());
        let wrong = match self.wrong {
            Wrong::Missing => "does not exist",
            Wrong::NoKey => "does not hold a key",
            Wrong::OtherKey => "holds another key",
            Wrong::Unreadable => "cannot be read",
        };
        write!(
            f,
            "the file {used} instead of the key file {key_file}, which {wrong}; copy it there"
        )
    }
}

/// What stands in for the key file, and for which key.
#[derive(Default)]
pub(super) struct Noted(Mutex<Option<Note>>);

struct Note {
    key: KeyId,
    stand_in: StandIn,
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

    /// Notes what stands in for the key file now. What was logged of it is not logged again.
    pub(super) fn note(&self, key: &KeyId, stand_in: Option<StandIn>) {
        self.noted(|note| {
            let is_logged = note.as_ref().is_some_and(|note| note.key == *key && note.is_logged);
            *note = stand_in.map(|stand_in| Note { key: key.clone(), stand_in, is_logged });
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
            let stand_in = StandIn { key_file: path.to_owned(), used, wrong };
            Ok(Some((key, Some(stand_in))))
        }
        // It is not lost, and this is how to have it.
        Err(exposed @ KeyProblem::Exposed { .. }) => Err(exposed),
        Ok(None) | Err(_) => Ok(found?.map(|key| (key, None))),
    }
}
