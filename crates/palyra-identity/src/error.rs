//! Why somebody was refused, or why it could not be found out.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::ids::{LoginId, Principal, TokenId};
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, describe};

/// A refusal, or a failure of the database. Never holds a secret.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// Nobody has this secret here.
    #[error("the credential is not known here")]
    Invalid,
    /// It was good once.
    #[error("the credential has expired")]
    Expired,
    /// It was revoked or ended, or its principal was disabled.
    #[error("the credential was revoked")]
    Revoked,
    /// The credential is good, for other things.
    #[error("the credential does not have the scope {scope}")]
    Forbidden {
        /// What it would need.
        scope: Scope,
    },
    /// Something was to be made that would outlive its maker.
    #[error("a credential cannot make one that lasts longer than it does itself, until {limit}")]
    Outlives {
        /// The latest end that is allowed.
        limit: Timestamp,
    },
    /// Only an owner may do this.
    #[error("only an owner may change who else may do what")]
    NotOwner,
    /// The token against cross-site requests is missing or of another login.
    #[error("the request does not prove that it comes from the console")]
    Csrf,
    /// No such login code.
    #[error("the login link is not known here")]
    LinkUnknown,
    /// The login code has been used.
    #[error("the login link was used already")]
    LinkUsed,
    /// The login code was not used in time, or a newer one took its place.
    #[error("the login link has expired")]
    LinkExpired,
    /// No such token, or one of somebody else.
    #[error("there is no token {0}")]
    NoToken(TokenId),
    /// No such login, or one of somebody else.
    #[error("there is no login {0}")]
    NoLogin(LoginId),
    /// No such principal.
    #[error("there is no principal {0}")]
    NoPrincipal(Principal),
    /// There is such a principal already, or it is one that must stay.
    #[error("the principal {principal} {what}")]
    PrincipalConflict {
        /// Which.
        principal: Principal,
        /// What is in the way.
        what: &'static str,
    },
    /// The key of a request was used for another one.
    #[error("{}", palyra_storage::once::TAKEN)]
    KeyTaken,
    /// A value cannot be accepted.
    #[error("{what}")]
    InvalidInput {
        /// Which, and why.
        what: &'static str,
    },
    /// The database failed.
    #[error("the database could not be asked about a credential")]
    Storage(#[from] StorageError),
}

impl AuthError {
    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            AuthError::Invalid => ErrorCode::AuthInvalid,
            AuthError::Expired => ErrorCode::AuthExpired,
            AuthError::Revoked => ErrorCode::AuthRevoked,
            AuthError::Forbidden { .. } | AuthError::Outlives { .. } | AuthError::NotOwner => {
                ErrorCode::AuthForbidden
            }
            AuthError::Csrf => ErrorCode::AuthCsrf,
            AuthError::LinkUnknown => ErrorCode::AuthLinkUnknown,
            AuthError::LinkUsed => ErrorCode::AuthLinkUsed,
            AuthError::LinkExpired => ErrorCode::AuthLinkExpired,
            AuthError::NoToken(_) | AuthError::NoLogin(_) | AuthError::NoPrincipal(_) => {
                ErrorCode::CommonNotFound
            }
            AuthError::PrincipalConflict { .. } | AuthError::KeyTaken => ErrorCode::CommonConflict,
            AuthError::InvalidInput { .. } => ErrorCode::CommonInvalidInput,
            AuthError::Storage(error) => error.code(),
        }
    }

    /// The error as users of every surface see it. A missing scope is also there for programs.
    pub fn envelope(&self) -> StableErrorEnvelope {
        let envelope = StableErrorEnvelope::new(self.code(), describe(self));
        if let AuthError::Forbidden { scope } = self {
            return envelope.with_details(serde_json::json!({ "scope": scope.as_str() }));
        }
        envelope
    }
}

#[cfg(test)]
mod tests;
