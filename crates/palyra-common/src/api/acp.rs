//! `POST /console/v1/acp`, and `DispatchAcp` over gRPC: one envelope for every command of the Agent
//! Control Protocol. What each command takes and gives is in [`params`].

pub mod params;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ErrorCode, StableErrorEnvelope};

/// The version of the envelope.
pub const ACP_VERSION: u32 = 1;
/// The longest name of a request.
pub const MAX_REQUEST_ID_CHARS: usize = 128;
/// The longest name of a command.
pub const MAX_COMMAND_CHARS: usize = 64;
/// The longest idempotency key.
pub const MAX_KEY_CHARS: usize = 128;

/// A command. Who gives it, and what that one may do, is known from the login alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AcpCommandEnvelope {
    /// The version of the envelope, which is 1.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1))]
    pub v: u32,
    /// What the sender calls this request: the answer has the same.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[!-~]{1,128}$"))]
    pub request_id: String,
    /// What is to be done: `session.new`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[!-~]{1,64}$"))]
    pub command: String,
    /// With what.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub params: Map<String, Value>,
    /// Names a command that changes something, for a day: sent again with the same key and params, by
    /// the same principal, it is answered with what came of it the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[!-~]{1,128}$"))]
    pub idempotency_key: Option<String>,
    /// The version that what is to be changed has as far as the sender knows. At another one nothing is
    /// changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub expected_version: Option<i64>,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AcpCommandResultEnvelope {
    /// What the sender called the request.
    pub request_id: String,
    /// What was to be done.
    pub command: String,
    /// Whether it was.
    pub ok: bool,
    /// What came of it, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<Value>,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StableErrorEnvelope>,
    /// Whether it was carried out before, and this is what came of it then.
    pub replayed: bool,
}

impl AcpCommandEnvelope {
    /// Whether this is an envelope that can be answered.
    pub fn check(&self) -> Result<(), StableErrorEnvelope> {
        let refuse =
            |what: String| Err(StableErrorEnvelope::new(ErrorCode::CommonInvalidInput, what));
        if self.v != ACP_VERSION {
            return refuse(format!(
                "v: there is version {ACP_VERSION} of the envelope, and no other"
            ));
        }
        let words = [
            ("request_id", Some(&self.request_id), MAX_REQUEST_ID_CHARS),
            ("command", Some(&self.command), MAX_COMMAND_CHARS),
            ("idempotency_key", self.idempotency_key.as_ref(), MAX_KEY_CHARS),
        ];
        for (name, word, most) in words {
            if !word.is_none_or(|word| is_word(word, most)) {
                return refuse(format!("{name} is one of 1 to {most} visible ASCII characters"));
            }
        }
        if self.expected_version.is_some_and(|version| version < 0) {
            return refuse("expected_version is not below 0".to_owned());
        }
        Ok(())
    }
}

fn is_word(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

impl AcpCommandResultEnvelope {
    /// The command was carried out, now or before.
    pub fn done(request_id: String, command: String, result: Value, replayed: bool) -> Self {
        Self { request_id, command, ok: true, result: Some(result), error: None, replayed }
    }

    /// The command was refused, and changed nothing.
    pub fn refused(request_id: String, command: String, error: StableErrorEnvelope) -> Self {
        Self { request_id, command, ok: false, result: None, error: Some(error), replayed: false }
    }
}
