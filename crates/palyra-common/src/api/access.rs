use serde::{Deserialize, Serialize};

use crate::ids::{Credential, Principal, TokenId};
use crate::runtime_contracts::Scope;
use crate::serde_number::whole;
use crate::time::Timestamp;

/// A credential for programs, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// What its maker called it.
    pub name: String,
    /// For whom it acts.
    pub principal: Principal,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// What it was made with: it ends with that. Absent for what the local owner made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Credential>,
}

/// Ten years: whoever means longer leaves the end out.
pub const MAX_TOKEN_SECONDS: u32 = 315_360_000;

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What to call it: 1 to 100 characters, without control characters and blanks around it.
    #[cfg_attr(
        feature = "openapi",
        schema(
            min_length = 1,
            max_length = 100,
            pattern = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$"
        )
    )]
    pub name: String,
    /// What it allows: at most what the caller may do.
    #[cfg_attr(feature = "openapi", schema(min_items = 1))]
    pub scopes: Vec<Scope>,
    /// In how many seconds it ends, at most [`MAX_TOKEN_SECONDS`]; without this, never.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 315_360_000))]
    pub expires_in_seconds: Option<u32>,
    /// For whom it acts; without this, for the caller. Only an owner makes tokens for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
}

/// A token that was made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedToken {
    /// The token.
    pub token: Token,
    /// Its secret. It is shown this once and kept nowhere, so it is absent where a request with the
    /// same Idempotency-Key made the token before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// What to do without the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl CreatedToken {
    /// A token that was made before.
    pub fn without_secret(token: Token) -> Self {
        let advice = "The secret was in the first answer and is kept nowhere. If that did not \
                      arrive, revoke this token and make another, with another Idempotency-Key.";
        Self { token, secret: None, advice: Some(advice.into()) }
    }
}

/// Says which token, never its secret.
impl std::fmt::Debug for CreatedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedToken").field("token", &self.token).finish_non_exhaustive()
    }
}
