//! Reading what a request carries: bounded, and refused with a reason.

use std::error::Error as _;

use axum::body::HttpBody as _;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use palyra_common::ErrorCode;
use palyra_common::text::without_quotations;
use serde::de::DeserializeOwned;

use super::refusal::{Answer, Refusal};
use crate::actions::no_cursor;
use crate::app::App;

/// A JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Answer<Self> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(is_json) {
            return Err(Refusal::new(ErrorCode::HttpMediaType, "the body is not application/json"));
        }
        let config = app.config();
        let bytes = read(request, config.http.max_body_bytes).await?;
        check_depth(&bytes, config.http.max_json_depth)?;
        check_object(&bytes)?;
        parse(&bytes).map(Self)
    }
}

/// Says which field is wrong, because serde says only what.
fn parse<T: DeserializeOwned>(json: &[u8]) -> Answer<T> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!("{path}: ") };
        (place, error.into_inner())
    });
    let read = read.and_then(|value| match reader.end() {
        Ok(()) => Ok(value),
        Err(error) => Err((String::new(), error)),
    });
    // serde quotes what it met, which may be a secret.
    read.map_err(|(place, error)| {
        let what = without_quotations(&error.to_string());
        Refusal::new(ErrorCode::HttpMalformed, format!("the body: {place}{what}"))
    })
}

/// A JSON body; none, or null, for what it says by default.
pub(crate) struct OptionalJsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalJsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Answer<Self> {
        if request.body().is_end_stream() {
            return Ok(Self(T::default()));
        }
        let JsonBody(body) = JsonBody::<Option<T>>::from_request(request, app).await?;
        Ok(Self(body.unwrap_or_default()))
    }
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn read(request: Request, limit: u32) -> Answer<axum::body::Bytes> {
    let limited = Limited::new(request.into_body(), limit as usize);
    match limited.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::new(
            ErrorCode::HttpTooLarge,
            format!("the body has more than http.max_body_bytes, {limit}"),
        )),
        Err(error) => {
            Err(Refusal::new(ErrorCode::HttpMalformed, format!("the body broke off: {error}")))
        }
    }
}

/// serde would take a list for the fields in their order.
fn check_object(json: &[u8]) -> Answer<()> {
    match json.trim_ascii_start().first() {
        Some(b'[') => Err(Refusal::new(ErrorCode::HttpMalformed, "the body is no object")),
        _ => Ok(()),
    }
}

/// Counts brackets outside of texts, so that nothing deep is built.
pub(crate) fn check_depth(json: &[u8], limit: u32) -> Answer<()> {
    let (mut depth, mut quoted, mut escaped) = (0u32, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            let what = format!("the body is nested deeper than http.max_json_depth, {limit}");
            return Err(Refusal::new(ErrorCode::HttpTooLarge, what));
        }
    }
    Ok(())
}

/// What follows the question mark.
pub(crate) struct QueryOf<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for QueryOf<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Answer<Self> {
        Query::try_from_uri(&parts.uri).map(|Query(value)| Self(value)).map_err(|error| {
            // What serde says of it is about a field, which it names first.
            if error.source().is_some_and(|field| field.to_string().starts_with("after: ")) {
                return no_cursor();
            }
            let what = error.to_string();
            Refusal::new(ErrorCode::HttpMalformed, without_quotations(&what))
        })
    }
}

/// What stands in the path.
pub(crate) struct PathOf<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for PathOf<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Answer<Self> {
        let read = Path::<T>::from_request_parts(parts, app).await;
        // A path that names nothing possible names nothing.
        read.map(|Path(value)| Self(value))
            .map_err(|error| Refusal::new(ErrorCode::CommonNotFound, impossible(error)))
    }
}

/// What is wrong with a path, without what stands in it.
fn impossible(error: PathRejection) -> String {
    let kind = match error {
        PathRejection::FailedToDeserializePathParams(error) => error.into_kind(),
        _ => ErrorKind::Message(String::new()),
    };
    match kind {
        ErrorKind::DeserializeError { key, message, .. } => {
            format!("{key} in the path: {}", without_quotations(&message))
        }
        _ => "the path names nothing that can be there".to_owned(),
    }
}

#[cfg(test)]
mod tests;
