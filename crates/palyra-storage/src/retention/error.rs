//! What can go wrong in a round.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};

use crate::StorageError;
use crate::blob::BlobError;
use crate::error::describe;

/// A failed part of a round. The other parts were carried out all the same.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RetentionError {
    /// The lease under which rounds are made could not be taken or given back.
    #[error("the lease of retention could not be taken or given back")]
    Lease(#[source] StorageError),
    /// A rule could not be enforced.
    #[error("the retention of {table} could not be enforced")]
    Rule {
        /// The table of the rule.
        table: &'static str,
        /// Why.
        #[source]
        cause: StorageError,
    },
    /// Blobs that nobody holds could not be collected.
    #[error("blobs that nobody holds could not be collected")]
    Blobs(#[source] BlobError),
}

impl RetentionError {
    /// The table that it is about.
    pub fn table(&self) -> &'static str {
        match self {
            RetentionError::Lease(_) => "leases",
            RetentionError::Rule { table, .. } => table,
            RetentionError::Blobs(_) => "blobs",
        }
    }

    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            RetentionError::Lease(cause) | RetentionError::Rule { cause, .. } => cause.code(),
            RetentionError::Blobs(cause) => cause.code(),
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), describe(self))
    }
}
