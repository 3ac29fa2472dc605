//! Errors as answers.

use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use palyra_common::{ErrorCode, StableErrorEnvelope};

/// An error with its status.
#[derive(Debug)]
pub(crate) struct Refusal(Box<StableErrorEnvelope>);

/// The envelope that an answer is made of.
#[derive(Debug, Clone)]
pub(crate) struct Told(pub(crate) Arc<StableErrorEnvelope>);

pub(crate) type Answer<T> = Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(StableErrorEnvelope::new(code, message)))
    }

    pub(crate) fn envelope(&self) -> &StableErrorEnvelope {
        &self.0
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.0.known_code().map_or(StatusCode::INTERNAL_SERVER_ERROR, status_of)
    }
}

impl From<StableErrorEnvelope> for Refusal {
    fn from(envelope: StableErrorEnvelope) -> Self {
        Self(Box::new(envelope))
    }
}

impl From<crate::failure::Failure> for Refusal {
    fn from(failure: crate::failure::Failure) -> Self {
        failure.envelope().into()
    }
}

impl From<palyra_storage::StorageError> for Refusal {
    fn from(error: palyra_storage::StorageError) -> Self {
        error.envelope().into()
    }
}

impl From<palyra_identity::AuthError> for Refusal {
    fn from(error: palyra_identity::AuthError) -> Self {
        error.envelope().into()
    }
}

impl From<palyra_vault::VaultError> for Refusal {
    fn from(error: palyra_vault::VaultError) -> Self {
        error.envelope().into()
    }
}

impl From<palyra_connector_core::ChannelError> for Refusal {
    fn from(error: palyra_connector_core::ChannelError) -> Self {
        error.envelope().into()
    }
}

impl From<palyra_gateway::GatewayError> for Refusal {
    fn from(error: palyra_gateway::GatewayError) -> Self {
        error.envelope().into()
    }
}

impl From<palyra_gateway::RuleError> for Refusal {
    fn from(error: palyra_gateway::RuleError) -> Self {
        error.envelope().into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        if status.is_server_error() {
            let envelope = &*self.0;
            tracing::warn!(code = envelope.code(), error = envelope.message(), "request failed");
        }
        let mut response = (status, Json(&*self.0)).into_response();
        // For those who are to see it in another shape.
        response.extensions_mut().insert(Told(Arc::from(self.0)));
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                let bearer = HeaderValue::from_static("Bearer realm=\"palyra\"");
                headers.insert(header::WWW_AUTHENTICATE, bearer);
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

use {ErrorCode as C, StatusCode as S};

/// The status of each code.
pub(crate) fn status_of(code: C) -> S {
    match code {
        C::CommonInvalidInput | C::HttpMalformed => S::BAD_REQUEST,
        C::ConfigInvalid | C::ConfigUnknownKey => S::BAD_REQUEST,
        C::NetUrlRefused | C::NetRequestRefused => S::BAD_REQUEST,
        C::CommonNotFound | C::BlobNotFound | C::AuthLinkUnknown => S::NOT_FOUND,
        C::CommonConflict | C::StorageConstraint | C::BackupTargetInUse => S::CONFLICT,
        C::VaultNoKey | C::VaultKeyExposed | C::VaultKeyOnlyInMemory => S::CONFLICT,
        C::VaultWrongKey | C::VaultFull | C::ChannelNotCapable => S::CONFLICT,
        C::AuthRequired | C::AuthInvalid | C::AuthExpired | C::AuthRevoked => S::UNAUTHORIZED,
        C::AuthForbidden | C::AuthLocalOnly | C::AuthCsrf | C::HttpOriginRefused => S::FORBIDDEN,
        C::NetPortRefused | C::NetHostNotGranted | C::NetAddressRefused => S::FORBIDDEN,
        C::AuthLinkUsed | C::AuthLinkExpired => S::GONE,
        C::HttpHostRefused => S::MISDIRECTED_REQUEST,
        C::HttpTooLarge | C::VaultTooLarge => S::PAYLOAD_TOO_LARGE,
        C::HttpMethod => S::METHOD_NOT_ALLOWED,
        C::HttpMediaType => S::UNSUPPORTED_MEDIA_TYPE,
        C::HttpSlow => S::REQUEST_TIMEOUT,
        C::HttpBusy | C::ChannelQueueFull | C::NetBusy => S::TOO_MANY_REQUESTS,
        C::StreamSlowReader => S::TOO_MANY_REQUESTS,
        C::NetTimeout => S::GATEWAY_TIMEOUT,
        C::NetNoAddress | C::NetUnreachable | C::NetTls | C::NetBrokeOff => S::BAD_GATEWAY,
        C::NetTooLarge | C::NetBadAnswer | C::NetRedirectRefused => S::BAD_GATEWAY,
        C::NetOutcomeUnknown | C::ChannelPlatformFailed => S::BAD_GATEWAY,
        C::StorageUnavailable | C::StorageBusy | C::StorageLocked => S::SERVICE_UNAVAILABLE,
        C::StorageDiskFull | C::StorageSizeLimit | C::BlobUnavailable => S::SERVICE_UNAVAILABLE,
        C::StorageReadOnly | C::StorageOpenToOthers => S::SERVICE_UNAVAILABLE,
        C::ConfigOpenToOthers => S::SERVICE_UNAVAILABLE,
        C::StorageShuttingDown | C::VaultKeyNotWritten | C::NetNoClient => S::SERVICE_UNAVAILABLE,
        C::ModelsNoKey | C::ModelsNotConfigured => S::CONFLICT,
        C::ChannelNotHere => S::SERVICE_UNAVAILABLE,
        C::ModelsOverloaded | C::ModelsUnreachable | C::ModelsCutOff => S::BAD_GATEWAY,
        C::ModelsTimedOut | C::ModelsMalformedAnswer | C::ModelsUnauthorized => S::BAD_GATEWAY,
        C::ModelsRefused | C::ModelsContextTooLong | C::ModelsUnknownModel => S::BAD_GATEWAY,
        C::ModelsAnswerTooLarge => S::BAD_GATEWAY,
        C::ChatModelNotFound => S::NOT_FOUND,
        C::ChatApprovalNeeded | C::ChatStopped => S::CONFLICT,
        C::ChatTooLong => S::BAD_REQUEST,
        C::ChatBudgetSpent => S::TOO_MANY_REQUESTS,
        C::ChatRunFailed | C::ChatStartedOver => S::BAD_GATEWAY,
        C::ChatCutOff => S::SERVICE_UNAVAILABLE,
        C::ModelsRateLimited | C::ModelsPaused | C::ModelsAllUnavailable => S::SERVICE_UNAVAILABLE,
        C::StorageInvalidValue | C::StorageCorrupt => S::INTERNAL_SERVER_ERROR,
        C::StorageNewerSchema | C::StorageMigrationFailed => S::INTERNAL_SERVER_ERROR,
        C::StorageCommitUnknown | C::StorageStaleLease => S::INTERNAL_SERVER_ERROR,
        C::StorageDatabaseGone | C::StorageLinked => S::INTERNAL_SERVER_ERROR,
        C::StorageUnfinishedRestore | C::StorageUnfinishedReturn => S::INTERNAL_SERVER_ERROR,
        C::StorageForbidden | C::StorageForeign => S::INTERNAL_SERVER_ERROR,
        C::StorageServerTooOld | C::StorageInternal => S::INTERNAL_SERVER_ERROR,
        C::JournalBrokenChain | C::BlobCorrupt | C::VaultDamaged => S::INTERNAL_SERVER_ERROR,
        C::BackupInvalid | C::DaemonAddressInUse => S::INTERNAL_SERVER_ERROR,
        C::DaemonAddressRefused | C::DaemonStopped | C::DaemonFailed => S::INTERNAL_SERVER_ERROR,
        C::ClientDaemonNotRunning | C::ClientUnreachable => S::INTERNAL_SERVER_ERROR,
        C::ClientNotPermitted | C::ClientUnexpectedAnswer => S::INTERNAL_SERVER_ERROR,
        C::ClientPalyradMissing | C::ClientPalyradFailed => S::INTERNAL_SERVER_ERROR,
        C::ClientLocalFile | C::ClientDeclined | C::ClientInterrupted => S::INTERNAL_SERVER_ERROR,
    }
}
