//! Typed ids: a [`RunId`] cannot be passed where a [`SessionId`] is meant.
//!
//! What Palyra makes has a ULID; what others name (a [`ConnectorId`], a [`SurfaceId`]) keeps its
//! name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use crate::serde_text;
use crate::time::Timestamp;

mod credential;
mod named;
mod parse;
mod principal;
#[cfg(test)]
mod tests;

pub use credential::{Credential, CredentialParseError};
pub use named::{
    AgentId, ConnectorId, ConversationId, EnvelopeId, MAX_NAME_CHARS, NameParseError,
    NativeMessageId, SurfaceId,
};
pub use parse::{IdParseError, IdProblem};
pub use principal::{Principal, PrincipalParseError};

/// The largest time that a ULID holds: 48 bits of milliseconds.
const MAX_MILLIS: i64 = (1 << Ulid::TIME_BITS) - 1;

/// What all typed ids have in common.
pub trait TypedId: Copy + fmt::Display + FromStr<Err = IdParseError> {
    /// What the id names, in words, for messages: `run`, `session`.
    const KIND: &'static str;

    /// The id made at `at` from the low 80 bits of `entropy`.
    ///
    /// A time before the epoch counts as the epoch, one beyond the 48 bits of a ULID (the year
    /// 10889) as the last that fits. Same parts, same id: uniqueness is the caller's entropy.
    fn from_parts(at: Timestamp, entropy: u128) -> Self;
}

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)+) => {$(
        $(#[$doc])*
        ///
        /// Reads either case of Crockford's base 32 without its look-alikes (`I`, `L`, `O`, `U`),
        /// writes upper case. Ids order by the time at which they were made.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// The id made at `at` from the low 80 bits of `entropy`; see [`TypedId::from_parts`].
            pub fn from_parts(at: Timestamp, entropy: u128) -> Self {
                let millis = at.as_unix_millis().clamp(0, MAX_MILLIS).unsigned_abs();
                Self(Ulid::from_parts(millis, entropy))
            }

            /// The time that the id was made at, as far as a ULID holds it.
            pub fn created_at(self) -> Timestamp {
                Timestamp::UNIX_EPOCH + crate::time::Duration::from_millis(self.0.timestamp_ms())
            }
        }

        impl TypedId for $name {
            const KIND: &'static str = $kind;

            fn from_parts(at: Timestamp, entropy: u128) -> Self {
                Self::from_parts(at, entropy)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.0.array_to_str(&mut [0; ulid::ULID_LEN]))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = IdParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match parse::ulid(text) {
                    Ok(ulid) => Ok(Self(ulid)),
                    Err(problem) => Err(IdParseError { kind: Self::KIND, problem }),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                serde_text::deserialize(deserializer, concat!("the ULID of a ", $kind))
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                crate::openapi::text(concat!("The ULID of a ", $kind), parse::ULID_PATTERN)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    )+};
}

typed_ids! {
    /// One piece of work in a session.
    RunId = "run";
    /// A conversation.
    SessionId = "session";
    /// A question to a human and its answer.
    ApprovalId = "approval";
    /// A goal pursued over several runs.
    ObjectiveId = "objective";
    /// One entry of an event feed or of the journal.
    EventId = "event";
    /// A credential for programs.
    TokenId = "token";
    /// A person's login in a browser.
    LoginId = "login";
    /// One making of a backup.
    BackupId = "backup";
    /// A side call to a model under a strict contract.
    AuxiliaryTaskId = "auxiliary task";
    /// A rule that says which messages of a connector reach which agent.
    RuleId = "router rule";
    /// One run of one node: a daemon that restarts is a new incarnation, so what it held under the
    /// old one can be told apart.
    IncarnationId = "incarnation";
}
