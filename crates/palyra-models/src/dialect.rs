//! How providers want to be asked, and how they answer.

mod anthropic;
mod openai;

#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::answer::Incoming;
use crate::config::ProviderKind;
use crate::error::Problem;
use crate::names::ToolNames;
use crate::request::ModelRequest;
use crate::secret::ApiKey;

/// The longest name of a model that is taken from an answer.
const MODEL_CHARS: usize = 128;

/// Whether there is more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// Why an event ends the answer.
pub(crate) enum Fault {
    Problem(Problem),
    /// The provider says so in its own words, of which not all can be shown.
    Told(Value),
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl ProviderKind {
    /// Where requests go.
    pub(crate) fn address(self, base: &Url) -> Url {
        let mut url = base.clone();
        let versioned = base.path().trim_end_matches('/').ends_with("/v1");
        let path: &[&str] = match self {
            Self::Openai => &["chat", "completions"],
            Self::Anthropic if versioned => &["messages"],
            Self::Anthropic => &["v1", "messages"],
        };
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// The headers of a request. The key is in them and nowhere else; nothing if it cannot be.
    pub(crate) fn headers(self, key: Option<&ApiKey>) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let (name, value) = match self {
                Self::Openai => (AUTHORIZATION, format!("Bearer {}", key.expose())),
                Self::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            };
            let value = zeroize::Zeroizing::new(value);
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if self == Self::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2026-10-21"));
        }
        Some(headers)
    }

    /// A request as the provider understands it.
    pub(crate) fn body(self, request: &ModelRequest, names: &ToolNames, url: &Url) -> Value {
        match self {
            Self::Openai => openai::body(request, names, url),
            Self::Anthropic => anthropic::body(request, names),
        }
    }

    /// Takes in one event of the answer.
    pub(crate) fn read(self, data: &str, to: &mut Incoming<'_>) -> Result<Progress, Fault> {
        match self {
            Self::Openai => openai::read(data, to),
            Self::Anthropic => anthropic::read(data, to),
        }
    }
}

/// The arguments of an earlier call as an object. Providers refuse what is none for ever, so what the
/// model wrote is wrapped into one.
fn as_object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) => json!({ "invalid_arguments": arguments }),
    }
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn shortened(model: String) -> String {
    model.chars().take(MODEL_CHARS).collect()
}

/// One event.
fn event<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Result<T, Problem> {
    let what = "an event of the stream is not JSON of the expected shape";
    serde_json::from_str(data).map_err(|_| Problem::Malformed { what })
}
