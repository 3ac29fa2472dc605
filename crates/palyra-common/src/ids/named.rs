use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::serde_text;

#[cfg(test)]
mod tests;

/// The longest name, in characters.
pub const MAX_NAME_CHARS: usize = 128;

/// Why a text is not a name of the kind that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NameParseError {
    /// There is no character.
    #[error("{kind} ids have at least one character")]
    Empty {
        /// What the id was to name.
        kind: &'static str,
    },
    /// There are too many characters.
    #[error("{kind} ids have at most 128 characters")]
    TooLong {
        /// What the id was to name.
        kind: &'static str,
    },
    /// A character that is not allowed.
    #[error(
        "{found:?} at position {position} is not allowed in {kind} ids, only ASCII letters, digits and .:_- are"
    )]
    Character {
        /// What the id was to name.
        kind: &'static str,
        /// The first such character.
        found: char,
        /// Where it stands, counted from 1.
        position: usize,
    },
}

macro_rules! named_ids {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)+) => {$(
        $(#[$doc])*
        ///
        /// One to 128 ASCII letters, digits and `.:_-`. Case matters.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = NameParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                check(text, $kind)?;
                Ok(Self(text.into()))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                serde_text::deserialize(deserializer, concat!("the id of a ", $kind))
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                crate::openapi::text(concat!("The id of a ", $kind), "^[A-Za-z0-9.:_-]{1,128}$")
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    )+};
}

named_ids! {
    /// An agent, named by the operator.
    AgentId = "agent";
    /// A connector instance, named by the operator or by its platform.
    ConnectorId = "connector";
    /// A user interface surface, named by the agent that made it.
    SurfaceId = "surface";
    /// A message to be sent, named by whoever wants it sent: naming it twice is sending it once.
    EnvelopeId = "envelope";
    /// A place on a platform where messages follow each other, named by the platform.
    ConversationId = "conversation";
    /// A message on a platform, named by the platform.
    NativeMessageId = "message";
}

fn check(text: &str, kind: &'static str) -> Result<(), NameParseError> {
    if text.is_empty() {
        return Err(NameParseError::Empty { kind });
    }
    let stray = |c: char| !(c.is_ascii_alphanumeric() || ".:_-".contains(c));
    if let Some((index, found)) = text.chars().enumerate().find(|(_, c)| stray(*c)) {
        return Err(NameParseError::Character { kind, found, position: index + 1 });
    }
    if text.len() > MAX_NAME_CHARS {
        return Err(NameParseError::TooLong { kind });
    }
    Ok(())
}
