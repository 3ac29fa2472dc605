//! Secrets: kept encrypted in the database, handed out one at a time and never unseen.
//!
//! - [`Vault`]: set, get, list, delete, and the change of the master key. Each of them leaves an
//!   entry in the journal; a read that cannot be recorded fails.
//! - [`SecretName`]: `scope/name`, parsed once. [`SecretString`]: a value that does not print itself
//!   and is wiped when it is dropped.
//! - [`VaultConfig`]: where the master key comes from. [`KeyPlace`]: what is there.
//! - [`Redactor`]: takes the vault's values, and what looks like a credential, out of a text.
//!
//! A value is locked with a random key of its own, bound to its name and version; that key is locked
//! with the master key. Ciphertext is in the database, so that several nodes share it; the master key
//! is not. Whoever loses it loses the secrets, and nothing else.

#![warn(missing_docs)]

mod config;
mod entropy;
mod error;
mod key;
mod name;
mod place;
mod redact;
mod seal;
mod secret;
mod source;
mod store;
mod vault;

pub use config::{KeySource, VaultConfig};
pub use error::VaultError;
pub use key::KeyId;
pub use name::{MAX_NAME_CHARS, SecretName, SecretNameError, SecretScope};
pub use place::{KeyPlace, KeySeen};
pub use redact::{MIN_VALUE_CHARS, RedactingWriter, Redaction, Redactor};
pub use secret::SecretString;
pub use source::{KeyProblem, PASSPHRASE_VARIABLE};
pub use store::secrets::{SecretInfo, SecretPage, VersionInfo};
pub use vault::{
    Actor, GoesNext, KEYS_KEPT, KeyState, MAX_TOTAL_BYTES, MAX_VALUE_BYTES, MAX_VERSIONS,
    NewMaster, NextStep, PAGE_LIMIT, RedactionFeed, Rotated, StandIn, TOPIC, Use, VERSIONS_KEPT,
    Vault,
};
