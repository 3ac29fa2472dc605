//! What can go wrong with secrets. No message holds a value.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_storage::{StorageError, describe};

use crate::name::SecretName;
use crate::source::KeyProblem;

/// A failed operation of the vault. Unless storage says otherwise, nothing was changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The source does not give the master key. Everything but secrets works without it.
    #[error("the master key of the vault cannot be had, and without it no secret can be read")]
    NoKey(#[source] KeyProblem),
    /// The source gives another key than the one that the secrets were locked with.
    #[error(
        "the master key from the {given} is not the one that the secrets were locked with, which came from a {locked_with}; without that one they cannot be read"
    )]
    WrongKey {
        /// Where the refused key came from.
        given: &'static str,
        /// Where the right one came from when it was made.
        locked_with: String,
    },
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
            VaultError::NoKey(_) => ErrorCode::VaultNoKey,
            VaultError::WrongKey { .. } => ErrorCode::VaultWrongKey,
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
