//! Secrets that cannot be opened, as far as reading them for redaction has shown.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use super::Vault;
use crate::VaultError;
use crate::name::SecretName;
use crate::redact::Mark;
use crate::store::secrets;

/// The versions that did not match their seal. As bounded as the versions are.
#[derive(Default)]
pub(super) struct Damage(Mutex<HashSet<Mark>>);

impl Damage {
    pub(super) fn change(&self, found: Vec<Mark>, gone: &[Mark]) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for mark in gone {
            marks.remove(mark);
        }
        marks.extend(found);
    }

    fn marks(&self) -> HashSet<Mark> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Vault {
    /// One of the kept versions that could not be opened, if there is any.
    pub(super) async fn unknown(&self) -> Result<Option<secrets::Marked>, VaultError> {
        let marks = self.0.damage.marks();
        if marks.is_empty() {
            return Ok(None);
        }
        let stored = self.0.db.read(secrets::marks).await?;
        Ok(stored.into_iter().find(|version| marks.contains(&version.mark)))
    }

    /// The secrets whose current version was found not to match its seal, by name. No value is opened
    /// for it: what was damaged since this vault was opened is not known.
    pub async fn damaged(&self) -> Result<Vec<SecretName>, VaultError> {
        let marks = self.0.damage.marks();
        if marks.is_empty() {
            return Ok(Vec::new());
        }
        let mut current: BTreeMap<_, secrets::Marked> = BTreeMap::new();
        for version in self.0.db.read(secrets::marks).await? {
            let name = (version.name.scope().as_str().to_owned(), version.name.name().to_owned());
            match current.get(&name) {
                Some(newer) if newer.version > version.version => {}
                Some(_) | None => drop(current.insert(name, version)),
            }
        }
        let damaged = current.into_values().filter(|version| marks.contains(&version.mark));
        Ok(damaged.map(|version| version.name).collect())
    }
}
