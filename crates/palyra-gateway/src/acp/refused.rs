use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_identity::AuthError;
use palyra_storage::StorageError;

use crate::error::GatewayError;

/// Why a command is not carried out, as whoever gave it is told.
#[derive(Debug, Clone)]
pub struct Refused(Box<StableErrorEnvelope>);

impl Refused {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        StableErrorEnvelope::new(code, message).into()
    }

    /// The error.
    pub fn into_envelope(self) -> StableErrorEnvelope {
        *self.0
    }
}

impl From<StableErrorEnvelope> for Refused {
    fn from(envelope: StableErrorEnvelope) -> Self {
        Self(Box::new(envelope))
    }
}

impl From<GatewayError> for Refused {
    fn from(error: GatewayError) -> Self {
        error.envelope().into()
    }
}

impl From<StorageError> for Refused {
    fn from(error: StorageError) -> Self {
        error.envelope().into()
    }
}

impl From<AuthError> for Refused {
    fn from(error: AuthError) -> Self {
        error.envelope().into()
    }
}
