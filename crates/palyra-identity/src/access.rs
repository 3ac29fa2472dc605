//! What an authenticated request may do.

use palyra_common::ids::{Credential, Principal};
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::Timestamp;

use crate::{AuthError, ScopeSet, role_scopes};

/// The result of authentication. It is made anew for each request and not kept: what was revoked
/// since is only seen by asking again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who acts.
    pub principal: Principal,
    /// As what.
    pub role: Role,
    /// What may be done: what the credential allows of what the role allows.
    pub scopes: ScopeSet,
    /// By what it was proven.
    pub credential: Credential,
    /// When the credential ends, if it does.
    pub expires_at: Option<Timestamp>,
}

impl Access {
    /// The owner, on the daemon's own machine.
    pub(crate) fn local_owner() -> Self {
        Self {
            principal: Principal::owner(),
            role: Role::Owner,
            scopes: role_scopes(Role::Owner),
            credential: Credential::LocalOwner,
            expires_at: None,
        }
    }

    /// Refuses, and names the scope, unless it is allowed.
    pub fn require(&self, scope: Scope) -> Result<(), AuthError> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(AuthError::Forbidden { scope }) }
    }

    /// What is kept with whatever this makes: it ends with its maker. Whoever runs the daemon is
    /// there as long as it is.
    pub(crate) fn as_maker(&self) -> Option<Credential> {
        match self.credential {
            Credential::LocalOwner => None,
            made @ (Credential::Token(_) | Credential::Login(_)) => Some(made),
        }
    }

    /// Whose credentials this one sees and ends: everybody's, or only its own principal's.
    pub(crate) fn reach(&self) -> Option<Principal> {
        match self.role {
            Role::Owner => None,
            Role::Operator | Role::Approver | Role::Viewer => Some(self.principal.clone()),
        }
    }
}
