//! How a stored credential stands: pure judgement, and the rows that it is based on.

use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::{StorageError, Tx};

use crate::audit::Audit;
use crate::identity::principals::may_change;
use crate::refusals::Refusal;
use crate::store::{api_tokens, console_logins, principals};
use crate::{Access, AuthError, Credential, ScopeSet, role_scopes};

/// What a credential, and all that it makes, must stay within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The most that it allows. `None`: whatever the role allows, also after a later version adds
    /// to it.
    pub(crate) scopes: Option<ScopeSet>,
    /// The latest time that anything made with it may last to.
    pub(crate) limit_at: Option<Timestamp>,
}

impl Bounds {
    /// No more bounds than the role has.
    pub(crate) const NONE: Self = Self { scopes: None, limit_at: None };
}

/// A credential as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) credential: Credential,
    pub(crate) principal: Principal,
    pub(crate) bounds: Bounds,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) seen_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
}

/// A credential and the one whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) stored: Stored,
    pub(crate) owner: principals::Found,
}

impl Standing {
    /// Adds the principal, which is always there.
    pub(crate) fn complete(
        tx: &mut Tx<'_>,
        stored: Option<Stored>,
    ) -> Result<Option<Self>, StorageError> {
        let Some(stored) = stored else { return Ok(None) };
        match principals::find(tx, &stored.principal)? {
            Some(owner) => Ok(Some(Self { stored, owner })),
            None => Err(StorageError::internal("a credential belongs to nobody")),
        }
    }

    /// What it allows at `now`, if anything. A revoked credential says so also after its expiry.
    pub(crate) fn judge(&self, now: Timestamp, idle: Duration) -> Result<Access, Refusal> {
        let Stored { credential, principal, bounds, expires_at, seen_at, ended_at } = &self.stored;
        if ended_at.is_some() || self.owner.disabled_at.is_some() {
            return Err(Refusal::Revoked);
        }
        let idle_for = seen_at.map_or(Duration::ZERO, |seen| now.since(seen));
        let idled_out = match credential {
            Credential::Login(_) => idle_for >= idle,
            Credential::Token(_) | Credential::LocalOwner => false,
        };
        if idled_out || expires_at.is_some_and(|end| end <= now) {
            return Err(Refusal::Expired);
        }
        let of_role = role_scopes(self.owner.role);
        Ok(Access {
            principal: principal.clone(),
            role: self.owner.role,
            scopes: bounds.scopes.map_or(of_role, |own| own.intersection(of_role)),
            credential: *credential,
            expires_at: *expires_at,
        })
    }
}

/// Somebody who is about to make a credential, or to end one.
pub(crate) struct Maker {
    pub(crate) access: Access,
    pub(crate) bounds: Bounds,
}

/// Looks at the maker's own credential again, in the transaction that makes or ends another: an
/// [`Access`] may be older than a revocation, which from here on waits. The local owner becomes a row by this.
pub(crate) fn maker(
    tx: &mut Tx<'_>,
    by: &Access,
    idle: Duration,
    audit: &Audit,
) -> Result<Maker, AuthError> {
    // The principal first, as whoever disables one does.
    principals::hold(tx, &by.principal)?;
    let stored = match by.credential {
        Credential::LocalOwner => {
            ensure_owner(tx, audit)?;
            return Ok(Maker { access: Access::local_owner(), bounds: Bounds::NONE });
        }
        Credential::Token(id) => api_tokens::hold(tx, id)?,
        Credential::Login(id) => console_logins::hold(tx, id)?,
    };
    let standing = Standing::complete(tx, stored)?.ok_or(AuthError::Invalid)?;
    let access = standing.judge(audit.at(), idle)?;
    Ok(Maker { access, bounds: standing.stored.bounds })
}

impl Maker {
    /// For whom a credential is made, and what their role allows: the maker, or for an owner
    /// somebody else.
    pub(crate) fn recipient(
        &self,
        tx: &mut Tx<'_>,
        named: Option<&Principal>,
    ) -> Result<(Principal, ScopeSet), AuthError> {
        let own = &self.access.principal;
        let Some(other) = named.filter(|named| *named != own) else {
            return Ok((own.clone(), role_scopes(self.access.role)));
        };
        self.access.require(Scope::PrincipalsWrite)?;
        let found = principals::hold(tx, other)?;
        let found = found.ok_or_else(|| AuthError::NoPrincipal(other.clone()))?;
        may_change(&self.access, found.role)?;
        if found.disabled_at.is_some() {
            let (principal, what) = (other.clone(), "is disabled");
            return Err(AuthError::PrincipalConflict { principal, what });
        }
        Ok((other.clone(), role_scopes(found.role)))
    }
}

/// Makes the owner if there is none yet.
pub(crate) fn ensure_owner(tx: &mut Tx<'_>, audit: &Audit) -> Result<(), StorageError> {
    if principals::add(tx, &Principal::owner(), Role::Owner, audit.at())? {
        audit.owner_created(tx);
    }
    Ok(())
}
