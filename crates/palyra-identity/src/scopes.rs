//! A set of scopes, small enough to be copied.

use std::fmt;

use palyra_common::runtime_contracts::Scope;
use palyra_storage::StorageError;

/// Scopes without order or repetition.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ScopeSet(u32);

const _: () = assert!(Scope::ALL.len() <= 32, "a scope is one bit of the set");

impl ScopeSet {
    /// Nothing.
    pub const EMPTY: Self = Self(0);

    /// Whether `scope` is one of them.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & bit(scope) != 0
    }

    /// Those that both have.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The first one that `other` lacks, in the order of the vocabulary.
    pub fn first_outside(self, other: Self) -> Option<Scope> {
        Self(self.0 & !other.0).iter().next()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them, in the order of the vocabulary.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.contains(*scope))
    }

    /// As it stands in a row.
    pub(crate) fn to_json(self) -> String {
        serde_json::Value::from_iter(self.iter().map(Scope::as_str)).to_string()
    }

    /// From a row. A scope that only a newer version knows allows nothing here, so it is left out.
    pub(crate) fn from_json(text: &str) -> Result<Self, StorageError> {
        let names: Vec<String> =
            serde_json::from_str(text).map_err(|_| StorageError::InvalidValue {
                what: "the scopes of a credential are no JSON list".into(),
            })?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }
}

const fn bit(scope: Scope) -> u32 {
    1 << scope as u32
}

impl FromIterator<Scope> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | bit(scope)))
    }
}

impl fmt::Debug for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Scope::as_str)).finish()
    }
}

#[cfg(test)]
mod tests;
