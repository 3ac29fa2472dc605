//! What can go wrong with secrets. No message holds a value.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_storage::{StorageError, describe};

use crate::key::KeyId;
use crate::name::SecretName;
use crate::source::{KeyProblem, given_by};

/// A failed operation of the vault. Unless storage says otherwise, nothing was changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The source does not give the master key. Everything but secrets works without it.
    #[error("the master key of the vault cannot be had, and without it no secret can be read")]
    NoKey(#[source] KeyProblem),
    /// The source does not give the master key that secrets are locked with.
    #[error(
        "the secrets are locked with the master key {needed}, which {}",
        away(locked_with, problem)
    )]
    KeyAway {
        /// The key that is needed.
        needed: KeyId,
        /// Where it came from when it was made.
        locked_with: String,
        /// Why it cannot be had.
        #[source]
        problem: KeyProblem,
    },
    /// The source gives another key than the one that the secrets were locked with.
    #[error(
        "the master key from {tried} is not the one that the secrets were locked with: they need the key {needed}, which came from a {locked_with} ({}); if it is lost they are, and nothing else is",
        given_by(locked_with)
    )]
    WrongKey {
        /// The source that was tried, with the path of a key file.
        tried: String,
        /// The key that is needed.
        needed: KeyId,
        /// Where the right one came from when it was made.
        locked_with: String,
    },
    /// The source does not give the master key any more, which is still in memory. Secrets can be
    /// read until the process ends, and a rotation makes a new key.
    #[error(
        "the master key {needed} is only in the memory of this daemon, because {tried} does not give it any more; until that is put right secrets can be read and none can be set"
    )]
    OnlyInMemory {
        /// The key that is in memory.
        needed: KeyId,
        /// The source that was tried, with the path of a key file.
        tried: String,
        /// Why it does not give the key.
        #[source]
        problem: KeyProblem,
    },
    /// A new master key could not be kept, so it was not taken into use.
    #[error("the new master key could not be written, so everything stays as it is")]
    NotWritten(#[source] KeyProblem),
    /// A stored secret does not match its seal.
    #[error("version {version} of the secret {name} does not match its seal")]
    Damaged {
        /// Which secret.
        name: SecretName,
        /// Which version of it.
        version: i64,
    },
    /// The value is too large.
    #[error("the value of {name} has {bytes} bytes, a secret has at most 65536")]
    TooLarge {
        /// Which secret.
        name: SecretName,
        /// How large the value was.
        bytes: usize,
    },
    /// There are as many secrets as there may be.
    #[error(
        "{name} does not fit into the vault, which holds 4000 versions of secrets and 16 MiB in all; delete secrets that are not needed any more"
    )]
    Full {
        /// Which secret was to be set.
        name: SecretName,
    },
    /// There is no such secret.
    #[error("there is no secret {name}")]
    NotFound {
        /// Which one.
        name: SecretName,
    },
    /// The request or the configuration has a value that cannot be accepted.
    #[error("{what}")]
    Refused {
        /// What is wrong.
        what: String,
    },
    /// Somebody else was faster.
    #[error("{what}")]
    Conflict {
        /// With what.
        what: String,
    },
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl VaultError {
    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            VaultError::NoKey(KeyProblem::Exposed { .. })
            | VaultError::KeyAway { problem: KeyProblem::Exposed { .. }, .. }
            | VaultError::OnlyInMemory { problem: KeyProblem::Exposed { .. }, .. } => {
                ErrorCode::VaultKeyExposed
            }
            VaultError::NoKey(_) | VaultError::KeyAway { .. } => ErrorCode::VaultNoKey,
            VaultError::WrongKey { .. } => ErrorCode::VaultWrongKey,
            VaultError::OnlyInMemory { .. } => ErrorCode::VaultKeyOnlyInMemory,
            VaultError::NotWritten(_) => ErrorCode::VaultKeyNotWritten,
            VaultError::Damaged { .. } => ErrorCode::VaultDamaged,
            VaultError::TooLarge { .. } => ErrorCode::VaultTooLarge,
            VaultError::Full { .. } => ErrorCode::VaultFull,
            VaultError::NotFound { .. } => ErrorCode::CommonNotFound,
            VaultError::Refused { .. } => ErrorCode::CommonInvalidInput,
            VaultError::Conflict { .. } => ErrorCode::CommonConflict,
            VaultError::Storage(error) => error.code(),
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), describe(self))
    }
}

/// What is said of a key that cannot be had. One whose file others can open is there.
fn away(locked_with: &str, problem: &KeyProblem) -> String {
    match problem {
        KeyProblem::Exposed { .. } => "is not used while others can open its file".into(),
        _ => format!(
            "came from a {locked_with} and cannot be had now; if it is lost they are, and nothing \
             else is"
        ),
    }
}
