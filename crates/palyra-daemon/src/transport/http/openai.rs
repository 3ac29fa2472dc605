//! Errors as the clients of OpenAI read them, for everything under `/v1`.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use palyra_common::StableErrorEnvelope;
use palyra_common::api::{ChatError, ChatErrorBody};

use super::refusal::{self, Refusal};

/// By this these clients know whether to ask again: without it they would, of every conflict and every
/// failure, and each time there would be another run.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Marks the answer to a request whose run has begun, or may have: the same request again, without a key,
/// would be another run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun;

/// Whether a path belongs to what these clients know.
pub(crate) fn is_theirs(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// The same answer, as they read it if it is an error.
pub(crate) fn shaped(mut response: Response) -> Response {
    let Some(refusal::Told(envelope)) = response.extensions_mut().remove() else {
        return response;
    };
    let status = response.status();
    let mut shaped = (status, Json(error(&envelope, status))).into_response();
    let has_begun = response.extensions_mut().remove::<Begun>().is_some();
    let again = envelope.retryable() && !has_begun;
    // What our own shape says besides: how to log in, when to come back.
    let (login, allow) = (header::WWW_AUTHENTICATE, header::ALLOW);
    for name in [login, allow].into_iter().chain(again.then_some(header::RETRY_AFTER)) {
        if let Some(value) = response.headers_mut().remove(&name) {
            shaped.headers_mut().insert(name, value);
        }
    }
    let again = if again { "true" } else { "false" };
    shaped.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static(again));
    shaped
}

/// A refusal where an answer has begun already.
pub(crate) fn body(refusal: &Refusal) -> ChatError {
    error(refusal.envelope(), refusal.status())
}

fn error(envelope: &StableErrorEnvelope, status: StatusCode) -> ChatError {
    let kind = match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    };
    ChatError {
        error: ChatErrorBody {
            message: format!("{}. {}", envelope.message(), envelope.recovery_hint()),
            kind: kind.to_owned(),
            param: None,
            code: envelope.code().to_owned(),
            details: envelope.details().cloned(),
        },
    }
}
