//! `Idempotency-Key`: a change that is carried out once, for callers who did not hear the answer.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palyra_common::ErrorCode;
use palyra_identity::Made;
use palyra_storage::once::{Key, MAX_KEY_CHARS, Once};
use serde::Serialize;

use super::refusal::{Answer, Refusal};
use crate::app::App;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The key of a request, if it has one.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct OnceKey {
    /// Names this request, for a day: sent again with the same key and body, by the same principal,
    /// it is answered with what it made the first time, and `Idempotency-Replayed: true`
    #[param(rename = "Idempotency-Key", value_type = Option<String>, pattern = "^[!-~]{1,128}$")]
    key: Option<Key>,
}

impl OnceKey {
    /// The request that asks for `operation` with `body`, if it has a key.
    pub(crate) fn of(self, operation: &'static str, body: &impl Serialize) -> Answer<Option<Once>> {
        let Some(key) = self.key else { return Ok(None) };
        let body = serde_json::to_vec(body).map_err(|error| {
            Refusal::new(ErrorCode::HttpMalformed, format!("the body has no form: {error}"))
        })?;
        Ok(Some(Once::new(operation, key, &body)))
    }
}

impl FromRequestParts<App> for OnceKey {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Answer<Self> {
        let mut named = parts.headers.get_all(KEY).iter();
        let key = match (named.next(), named.next()) {
            (None, _) => return Ok(Self { key: None }),
            (Some(key), None) => key.to_str().ok().and_then(Key::parse),
            (Some(_), Some(_)) => None,
        };
        let refused = || {
            let what = format!("Idempotency-Key is one of 1 to {MAX_KEY_CHARS} visible characters");
            Refusal::new(ErrorCode::HttpMalformed, what)
        };
        Ok(Self { key: Some(key.ok_or_else(refused)?) })
    }
}

/// The answer to a request that made something, now or when it came for the first time.
pub(crate) struct Created<T>(pub(crate) Made<T>);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        match self.0 {
            Made::Now(made) => (StatusCode::CREATED, Json(made)).into_response(),
            Made::Before(made) => {
                let replayed = [(REPLAYED, HeaderValue::from_static("true"))];
                (StatusCode::CREATED, replayed, Json(made)).into_response()
            }
        }
    }
}
