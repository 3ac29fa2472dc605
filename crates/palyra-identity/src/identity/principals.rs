//! Who else has a role here. Only an owner decides that.

use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::Role;
use palyra_storage::Tx;
use serde_json::json;

use super::{Identity, TOPIC};
use crate::audit::{Audit, Done};
use crate::store::principals;
use crate::{Access, AuthError, Origin, ending, role_scopes, standing};

impl Identity {
    /// Whether somebody has logged in as the owner, so that no first login is offered any more.
    pub async fn has_owner(&self) -> Result<bool, AuthError> {
        Ok(self.0.db.read(principals::has_owner).await?)
    }

    /// Gives somebody a role. Its maker has every scope of that role.
    pub async fn add_principal(
        &self,
        by: &Access,
        principal: &Principal,
        role: Role,
        origin: &Origin,
    ) -> Result<(), AuthError> {
        let (by, principal, audit) =
            (by.clone(), principal.clone(), Audit::by(by, origin, self.now()));
        let idle = self.0.logins.idle;
        let add = move |tx: &mut Tx<'_>| {
            let access = standing::maker(tx, &by, idle, &audit)?.access;
            may_change(&access, role)?;
            if !principals::add(tx, &principal, role, audit.at())? {
                let what = "is there already";
                return Err(AuthError::PrincipalConflict { principal: principal.clone(), what });
            }
            let (subject, detail) = (principal.to_string(), json!({ "role": role.as_str() }));
            let done = Done { action: "principal.created", subject, outcome: "ok", detail };
            audit.done(tx, &access.principal, done);
            Ok(())
        };
        self.0.db.try_write(add).await
    }

    /// Ends everything that somebody can do here, on every node, and all that came from it. Says whether that changed
    /// anything. The owner stays: an installation without one could not be repaired from outside.
    pub async fn disable_principal(
        &self,
        by: &Access,
        principal: &Principal,
        origin: &Origin,
    ) -> Result<bool, AuthError> {
        let (by, principal, audit) =
            (by.clone(), principal.clone(), Audit::by(by, origin, self.now()));
        let idle = self.0.logins.idle;
        let disable = move |tx: &mut Tx<'_>| {
            let access = standing::maker(tx, &by, idle, &audit)?.access;
            let found = principals::find(tx, &principal)?;
            let found = found.ok_or_else(|| AuthError::NoPrincipal(principal.clone()))?;
            may_change(&access, found.role)?;
            if principal == Principal::owner() {
                let what = "cannot be disabled";
                return Err(AuthError::PrincipalConflict { principal: principal.clone(), what });
            }
            let changed = principals::disable(tx, &principal, audit.at())?;
            if changed {
                tx.notify(TOPIC);
                let ended = ending::end_of_principal(tx, &principal, audit.at())?;
                let (subject, detail) = (principal.to_string(), ended.detail());
                let done = Done { action: "principal.disabled", subject, outcome: "ok", detail };
                audit.done(tx, &access.principal, done);
            }
            Ok(changed)
        };
        let changed = self.0.db.try_write(disable).await?;
        self.0.cache.forget();
        Ok(changed)
    }
}

/// An owner, by a credential that has all that the role in question has.
fn may_change(access: &Access, role: Role) -> Result<(), AuthError> {
    match access.role {
        Role::Owner => match role_scopes(role).first_outside(access.scopes) {
            Some(scope) => Err(AuthError::Forbidden { scope }),
            None => Ok(()),
        },
        Role::Operator | Role::Approver | Role::Viewer => Err(AuthError::NotOwner),
    }
}
