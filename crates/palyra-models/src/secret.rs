//! Where keys come from.

use std::fmt;
use std::str::FromStr;

use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::RetryClass;
use zeroize::Zeroizing;

/// Gives keys, asked for one at each call, so that a key that was changed is used at once.
///
/// *Idempotency*: reading changes nothing, but may be recorded. *Cancellation*: a dropped future
/// leaves nothing behind.
pub trait SecretSource: Send + Sync {
    /// The secret of this name.
    fn secret<'a>(&'a self, name: &'a SecretRef) -> BoxFuture<'a, Result<ApiKey, SecretError>>;
}

/// Where a secret is found: `scope/name`, such as `global/openai`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRef(Box<str>);

/// What it is, is not told: it may be the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is named by where it is in the vault, scope/name as in global/openai, never itself")]
pub struct SecretRefError;

impl SecretRef {
    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretRef {
    type Err = SecretRefError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |part: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || ".:_-".contains(c);
            !part.is_empty() && part.len() <= 160 && part.chars().all(allowed)
        };
        match text.split_once('/') {
            Some((scope, name)) if fits(scope) && fits(name) => Ok(Self(text.into())),
            Some(_) | None => Err(SecretRefError),
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key in memory. Wiped when it is dropped; prints as `***`; cannot be serialised.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// The key itself, for the header that it goes into.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self(Zeroizing::new(key))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Why a key cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct SecretError {
    /// What is wrong, without the key.
    pub what: String,
    /// Whether it may be had later.
    pub class: RetryClass,
}
