//! What can go wrong with a blob.

use std::error::Error;
use std::sync::Arc;

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::runtime_contracts::RetryClass;

use super::BlobId;
use crate::StorageError;
use crate::error::{Cause, describe};

/// A failed operation on a blob.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BlobError {
    /// There is no such blob, or it was collected.
    #[error("there is no blob {id}")]
    NotFound {
        /// Which.
        id: BlobId,
    },
    /// The stored content is gone or is not what its name says.
    #[error("the stored content of blob {id} is missing or damaged")]
    Corrupt {
        /// Which.
        id: BlobId,
    },
    /// The object store cannot be reached or refused.
    #[error("the blob store cannot be used")]
    Unavailable(#[source] Cause),
    /// The rows about it could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl BlobError {
    pub(crate) fn unavailable(cause: Box<dyn Error + Send + Sync>) -> Self {
        BlobError::Unavailable(Arc::from(cause))
    }

    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            BlobError::NotFound { .. } => ErrorCode::BlobNotFound,
            BlobError::Corrupt { .. } => ErrorCode::BlobCorrupt,
            BlobError::Unavailable(_) => ErrorCode::BlobUnavailable,
            BlobError::Storage(error) => error.code(),
        }
    }

    /// Whether the same call may succeed later.
    pub fn retry_class(&self) -> RetryClass {
        match self {
            BlobError::NotFound { .. } | BlobError::Corrupt { .. } => RetryClass::Permanent,
            BlobError::Unavailable(_) => RetryClass::TransientNetwork,
            BlobError::Storage(error) => error.retry_class(),
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), describe(self))
    }
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        BlobError::unavailable(error.into())
    }
}
