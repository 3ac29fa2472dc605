//! `Idempotency-Key`: a change that is carried out once, for callers who did not hear the answer.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palyra_common::ErrorCode;
use palyra_storage::Tx;
use palyra_storage::once::{Claim, Key, MAX_KEY_CHARS, Made, Once, TAKEN};
use serde::Serialize;

use super::caller::Caller;
use super::refusal::{Answer, Refusal};
use crate::app::App;

pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The key of a request, if it has one.
#[derive(Debug, Clone, utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct OnceKey {
    /// Names this request, for a day: sent again with the same key and body, by the same principal,
    /// it is answered with what it made the first time, and `Idempotency-Replayed: true`
    #[param(rename = "Idempotency-Key", value_type = Option<String>, pattern = "^[!-~]{1,128}$")]
    key: Option<Key>,
}

impl OnceKey {
    /// The key that a request names, if it names one.
    pub(crate) fn named(key: Option<&str>) -> Answer<Self> {
        let refused = || {
            let what = format!("idempotency_key has 1 to {MAX_KEY_CHARS} visible characters");
            Refusal::new(ErrorCode::CommonInvalidInput, what)
        };
        let key = key.map(|key| Key::parse(key).ok_or_else(refused)).transpose()?;
        Ok(Self { key })
    }

    /// Refuses a key where nothing may be kept of a request: `what` tells of what it holds.
    pub(crate) fn none_with(&self, what: &str) -> Answer<()> {
        let refused = || {
            let what = format!("a request with {what} takes no Idempotency-Key: leave it away");
            Refusal::new(ErrorCode::CommonInvalidInput, what)
        };
        self.key.as_ref().map_or(Ok(()), |_| Err(refused()))
    }

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
pub(crate) struct Told<T> {
    status: StatusCode,
    made: Made<T>,
}

impl<T> Told<T> {
    /// Something is there now.
    pub(crate) fn created(made: Made<T>) -> Self {
        Self { status: StatusCode::CREATED, made }
    }

    /// Something will be done.
    pub(crate) fn accepted(made: Made<T>) -> Self {
        Self { status: StatusCode::ACCEPTED, made }
    }

    /// Something was done.
    pub(crate) fn done(made: Made<T>) -> Self {
        Self { status: StatusCode::OK, made }
    }
}

impl<T: Serialize> IntoResponse for Told<T> {
    fn into_response(self) -> Response {
        match self.made {
            Made::Now(made) => (self.status, Json(made)).into_response(),
            Made::Before(made) => {
                let replayed = [(REPLAYED, HeaderValue::from_static("true"))];
                (self.status, replayed, Json(made)).into_response()
            }
        }
    }
}

/// Carries `work` out in one transaction, and where there is a key, once. It says what it made, and
/// the name by which a later request finds that. Where it refuses, nothing was done, and the key is free.
pub(crate) async fn carry_out<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    once: Option<Once>,
    work: impl Fn(&mut Tx<'_>) -> Answer<(T, String)> + Send + 'static,
) -> Answer<Made<T, String>> {
    let (by, now) = (caller.access.principal.clone(), app.clock.now());
    let carry_out = move |tx: &mut Tx<'_>| -> Answer<Made<T, String>> {
        let Some(once) = &once else {
            return Ok(Made::Now(work(tx)?.0));
        };
        match once.claim(tx, &by, "", now)? {
            Claim::First => {
                let (made, name) = work(tx)?;
                once.note(tx, &by, &name)?;
                Ok(Made::Now(made))
            }
            Claim::Again { made } => Ok(Made::Before(made)),
            Claim::Taken => Err(Refusal::new(ErrorCode::CommonConflict, TAKEN)),
        }
    };
    app.db.try_write(carry_out).await
}
