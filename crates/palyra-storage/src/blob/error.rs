//! What can go wrong with a blob.

use std::error::Error;
use std::sync::Arc;

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::runtime_contracts::RetryClass;

use super::BlobId;
use crate::StorageError;
use crate::error::{Cause, describe, retry_class};

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
    /// The object store does not accept the credentials, or they do not allow the operation.
    #[error(
        "the blob store refused access; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and \
         that this key may read, write, delete and list in the bucket"
    )]
    Denied(#[source] Cause),
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
            BlobError::Unavailable(_) | BlobError::Denied(_) => ErrorCode::BlobUnavailable,
            BlobError::Storage(error) => error.code(),
        }
    }

    /// Whether the same call may succeed later. Access that was denied can be granted without
    /// anything here being done again.
    pub fn retry_class(&self) -> RetryClass {
        retry_class(self.code())
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), describe(self))
    }
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error::{PermissionDenied, Unauthenticated};
        let cause: Box<dyn Error + Send + Sync> = in_one_line(&error).into();
        match error {
            PermissionDenied { .. } | Unauthenticated { .. } => BlobError::Denied(cause.into()),
            _ => BlobError::unavailable(cause),
        }
    }
}

/// The whole chain. `object_store` repeats most causes in the message of their effect, but not
/// the last, which is the one that helps.
fn in_one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !line.contains(&told) {
            line.push_str(": ");
            line.push_str(&told);
        }
        next = cause.source();
    }
    line
}

#[cfg(test)]
mod tests;
