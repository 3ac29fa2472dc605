use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::MAX_NAME_CHARS;
use crate::serde_text;

#[cfg(test)]
mod tests;

/// Who acts: `operator:anna`, `device:<ulid>`, `channel:<connector>:<sender>`, `agent:<id>` or
/// `system`.
///
/// After its kind a principal has one to 128 ASCII letters, digits and `.:_-`. Case matters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(Box<str>);

/// Why a text names nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PrincipalParseError {
    /// It does not begin with a kind of principal.
    #[error("a principal begins with operator:, device:, channel:, agent:, or is the word system")]
    Kind,
    /// After its kind there is nothing, too much, or a character that is not allowed.
    #[error("after its kind a principal has one to 128 letters, digits and .:_-")]
    Name,
}

/// The kinds that are followed by a name.
const KINDS: [&str; 4] = ["operator:", "device:", "channel:", "agent:"];

impl Principal {
    /// The daemon itself.
    pub fn system() -> Self {
        Self("system".into())
    }

    /// The first operator of an installation, made by its first login.
    pub fn owner() -> Self {
        Self("operator:owner".into())
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Principal {
    type Err = PrincipalParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "system" {
            return Ok(Self::system());
        }
        let name = KINDS.iter().find_map(|kind| text.strip_prefix(kind));
        let name = name.ok_or(PrincipalParseError::Kind)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".:_-".contains(c);
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(allowed) {
            return Err(PrincipalParseError::Name);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({self})")
    }
}

impl Serialize for Principal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Principal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_text::deserialize(deserializer, "a principal")
    }
}
