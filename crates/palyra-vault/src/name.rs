//! What a secret is called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(test)]
mod tests;

/// The longest name, and the longest id in a scope, in characters.
pub const MAX_NAME_CHARS: usize = 128;

/// Whose secret it is: `global`, `agent:<id>`, `connector:<id>`, `skill:<id>` or `principal:<id>`.
///
/// An id has one to 128 ASCII letters, digits and `.:_-`; so the id of a principal is a principal
/// as it is written everywhere, such as `principal:operator:anna`. Case matters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretScope(Box<str>);

/// Where a secret is found: `scope/name`, as in `connector:discord-main/bot-token`.
///
/// A name has one to 128 ASCII letters, digits and `._-`, and is neither `.` nor `..`, which every
/// path takes for a folder. Case matters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName {
    scope: SecretScope,
    name: Box<str>,
}

/// Why a text names no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretNameError {
    /// There is no `/`.
    #[error("a secret is written scope/name, such as global/openai-key")]
    NoSlash,
    /// The scope is none.
    #[error(
        "a scope is the word global, or begins with agent:, connector:, skill: or principal: and has one to 128 letters, digits and .:_- after that"
    )]
    Scope,
    /// The name is empty, too long, or has a character that is not allowed.
    #[error("the name of a secret has one to 128 letters, digits and ._-, and is not . or ..")]
    Name,
}

/// The scopes that are followed by an id.
const KINDS: [&str; 4] = ["agent:", "connector:", "skill:", "principal:"];

impl SecretScope {
    /// For everybody that policy lets read it.
    pub fn global() -> Self {
        Self("global".into())
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SecretName {
    /// A name within a scope.
    pub fn new(scope: SecretScope, name: &str) -> Result<Self, SecretNameError> {
        if !fits(name, "._-") || matches!(name, "." | "..") {
            return Err(SecretNameError::Name);
        }
        Ok(Self { scope, name: name.into() })
    }

    /// Whose it is.
    pub fn scope(&self) -> &SecretScope {
        &self.scope
    }

    /// Its name within the scope.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn fits(text: &str, punctuation: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || punctuation.contains(c);
    (1..=MAX_NAME_CHARS).contains(&text.len()) && text.chars().all(allowed)
}

impl FromStr for SecretScope {
    type Err = SecretNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = KINDS.iter().find_map(|kind| text.strip_prefix(kind));
        if text == "global" || id.is_some_and(|id| fits(id, ".:_-")) {
            Ok(Self(text.into()))
        } else {
            Err(SecretNameError::Scope)
        }
    }
}

impl FromStr for SecretName {
    type Err = SecretNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scope, name) = text.split_once('/').ok_or(SecretNameError::NoSlash)?;
        Self::new(scope.parse()?, name)
    }
}

impl fmt::Display for SecretScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SecretScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretScope({self})")
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scope, self.name)
    }
}

impl fmt::Debug for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretName({self})")
    }
}

impl Serialize for SecretName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SecretName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
