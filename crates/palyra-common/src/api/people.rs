use serde::{Deserialize, Serialize};

use crate::handoff::CrossSurfaceHandoff;
use crate::ids::{Credential, LoginId, Principal};
use crate::runtime_contracts::{Role, Scope};
use crate::time::Timestamp;

/// Who the caller is, and what the credential allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WhoAmI {
    /// Who.
    pub principal: Principal,
    /// In which role.
    pub role: Role,
    /// What may be done.
    pub scopes: Vec<Scope>,
    /// How the caller proved it: `local`, `token` or `login`.
    pub credential: String,
    /// When the credential ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A login in a browser, for the console itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// The login.
    pub login: LoginId,
    /// Who.
    pub principal: Principal,
    /// In which role.
    pub role: Role,
    /// What may be done.
    pub scopes: Vec<Scope>,
    /// To be sent as `X-Palyra-Csrf` with every change.
    pub csrf: String,
    /// When the login ends, however much it is used.
    pub expires_at: Timestamp,
}

/// A login of a browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Login {
    /// Its id.
    pub id: LoginId,
    /// Who logged in.
    pub principal: Principal,
    /// When.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_seen_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
    /// When it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What its link was made with: it ends with that. Absent for a link of the local owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Credential>,
}

/// Somebody who has a role here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Member {
    /// Who.
    pub principal: Principal,
    /// Which role.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
    /// When they were disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<Timestamp>,
}

/// Somebody who is to have a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// Who, as operator:anna.
    #[cfg_attr(
        feature = "openapi",
        schema(value_type = String, pattern = r"^operator:[A-Za-z0-9.:_-]{1,128}$")
    )]
    pub principal: Principal,
    /// Which role: any but the owner's, and nothing that the caller may not do.
    #[cfg_attr(
        feature = "openapi",
        schema(value_type = String, pattern = r"^(operator|approver|viewer)$")
    )]
    pub role: Role,
}

/// A single-use link to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewLoginCode {
    /// Who logs in with it; without this, the caller. Only an owner makes links for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// Where the browser goes on to once it has logged in; without this, to the front page. It says
    /// where to look and allows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<CrossSurfaceHandoff>,
}

/// A single-use code with which a browser logs in.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LoginCode {
    /// The link to open. Absent where a request with the same Idempotency-Key made it before: it is
    /// kept nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// What to do without the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl LoginCode {
    /// A code that was made before.
    pub fn without_link(expires_at: Timestamp) -> Self {
        let advice = "The link was in the first answer and is kept nowhere. If that did not \
                      arrive, make another, with another Idempotency-Key.";
        Self { link: None, expires_at, advice: Some(advice.into()) }
    }
}

impl std::fmt::Debug for LoginCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginCode").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}
