use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ErrorCode;

/// An error as every API shows it.
///
/// The hint and whether to retry travel with the code, so that a client older than the daemon can
/// show and act on a code that it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StableErrorEnvelope {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    code: Cow<'static, str>,
    message: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    recovery_hint: Cow<'static, str>,
    retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

impl StableErrorEnvelope {
    /// An envelope for `code`, with the registry's hint. The message says what failed and on what;
    /// it must not hold a secret.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: Cow::Borrowed(code.as_str()),
            message: message.into(),
            recovery_hint: Cow::Borrowed(code.hint()),
            retryable: code.retryable(),
            details: None,
        }
    }

    /// Adds facts for programs, such as the id of what conflicts.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }

    /// The same without its details, and with at most so many characters of its message.
    #[must_use]
    pub fn shortened(&self, chars: usize) -> Self {
        let message = self.message.chars().take(chars).collect();
        Self { message, details: None, ..self.clone() }
    }

    /// The wire value of the code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The code, if this version knows it.
    pub fn known_code(&self) -> Option<ErrorCode> {
        self.code.parse().ok()
    }

    /// What failed and on what.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn recovery_hint(&self) -> &str {
        &self.recovery_hint
    }

    /// Whether the same request can succeed later without a change to it.
    pub fn retryable(&self) -> bool {
        self.retryable
    }

    /// Facts for programs.
    pub fn details(&self) -> Option<&Value> {
        self.details.as_ref()
    }
}

impl fmt::Display for StableErrorEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for StableErrorEnvelope {}
