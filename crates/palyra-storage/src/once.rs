//! Requests that are carried out once, however often and wherever they arrive.

#[cfg(test)]
mod tests;

use palyra_common::ids::Principal;
use palyra_common::time::{Duration, Timestamp};
use sha2::{Digest, Sha256};

use crate::store::idempotency_keys::{self as rows, Name};
use crate::{StorageError, Tx};

/// The longest key.
pub const MAX_KEY_CHARS: usize = 128;

/// How long a key is remembered, at least.
pub const KEPT: Duration = Duration::from_days(1);

/// What is said of a key that stands for another request.
pub const TAKEN: &str =
    "the idempotency key was used for another request; choose a new one for this";

/// What a caller has named a request by: 1 to 128 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(Box<str>);

impl Key {
    /// The key that `text` is, if it can be one.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_KEY_CHARS).contains(&text.len());
        (fits && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.into()))
    }
}

/// A request with a key.
///
/// It counts for its principal and operation alone. Of the request only the SHA-256 is kept, which
/// would not hide a short secret: one that holds secrets is not for this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    operation: &'static str,
    key: Key,
    request: [u8; 32],
}

/// What became of a request with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made<T, R = T> {
    /// It was carried out now.
    Now(T),
    /// It had been before. This is what is still known of it, which is no secret.
    Before(R),
}

/// Whether a request is to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Yes, now, in this transaction.
    First,
    /// It was before.
    Again {
        /// What came of it.
        made: String,
    },
    /// No: the key was used for another request.
    Taken,
}

impl Once {
    /// The request that asks for `operation` with `request`, in a form that is the same each time.
    pub fn new(operation: &'static str, key: Key, request: &[u8]) -> Self {
        Self { operation, key, request: Sha256::digest(request).into() }
    }

    /// Takes the request on, in the transaction that carries it out: both are committed or neither,
    /// and of several at the same moment, on whichever node, one is the first. `made` is what
    /// a later one is told, and no secret.
    pub fn claim(
        &self,
        tx: &mut Tx<'_>,
        by: &Principal,
        made: &str,
        now: Timestamp,
    ) -> Result<Claim, StorageError> {
        let name = Name { principal: by, operation: self.operation, key: &self.key.0 };
        loop {
            if rows::add(tx, name, &self.request, made, now)? {
                return Ok(Claim::First);
            }
            match rows::find(tx, name)? {
                Some(found) if found.request == self.request => {
                    return Ok(Claim::Again { made: found.made });
                }
                Some(_) => return Ok(Claim::Taken),
                // Retention took it in between.
                None => {}
            }
        }
    }

    /// Says what a later request is told, where that is known only after this one was carried out: in
    /// the same transaction, after the claim.
    pub fn note(&self, tx: &mut Tx<'_>, by: &Principal, made: &str) -> Result<(), StorageError> {
        let name = Name { principal: by, operation: self.operation, key: &self.key.0 };
        rows::note(tx, name, made)
    }
}
