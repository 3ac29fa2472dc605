use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use super::{LoginId, TokenId};
use crate::serde_text;

#[cfg(test)]
mod tests;

/// By what somebody proved who they are: `local`, `token:<ulid>` or `login:<ulid>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential {
    /// The Unix socket in the data directory: whoever runs the daemon.
    LocalOwner,
    /// An API token.
    Token(TokenId),
    /// A login of the console.
    Login(LoginId),
}

/// A text that names no credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a credential is local, or token: or login: and a ULID")]
pub struct CredentialParseError;

impl Credential {
    /// `detail` of an entry of the audit trail, with the credential that was used.
    #[must_use]
    pub fn noted_in(self, mut detail: Value) -> Value {
        if detail.is_null() {
            detail = Value::Object(serde_json::Map::new());
        }
        if let Value::Object(fields) = &mut detail {
            fields.insert("credential".into(), self.to_string().into());
        }
        detail
    }
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalOwner => f.write_str("local"),
            Self::Token(id) => write!(f, "token:{id}"),
            Self::Login(id) => write!(f, "login:{id}"),
        }
    }
}

impl FromStr for Credential {
    type Err = CredentialParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = match text.split_once(':') {
            Some(("token", id)) => id.parse().ok().map(Self::Token),
            Some(("login", id)) => id.parse().ok().map(Self::Login),
            None if text == "local" => Some(Self::LocalOwner),
            Some(_) | None => None,
        };
        parsed.ok_or(CredentialParseError)
    }
}

impl Serialize for Credential {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Credential {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_text::deserialize(deserializer, "a credential")
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Credential {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let pattern = "^(local|(token|login):[0-9A-HJKMNP-TV-Z]{26})$";
        crate::openapi::text("A credential, as local, token:ID or login:ID", pattern)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Credential {}
