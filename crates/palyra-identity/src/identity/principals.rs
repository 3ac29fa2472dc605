//! Who else has a role here. Only an owner decides that.

use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_storage::Tx;
use palyra_storage::once::Once;
use serde_json::json;

use super::{Identity, PAGE_LIMIT, TOPIC};
use crate::audit::{Audit, Done};
use crate::once::made_before;
use crate::store::console_logins;
use crate::store::principals::{self, Member};
use crate::{Access, AuthError, Made, Origin, ending, role_scopes, standing};

/// Some principals, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberPage {
    /// They, disabled ones included.
    pub members: Vec<Member>,
    /// Where the next page begins, if there is one.
    pub next: Option<Principal>,
}

impl Identity {
    /// Whether there is an owner. The local owner is one from the first link or token on, whether or
    /// not anybody logs in with it.
    pub async fn has_owner(&self) -> Result<bool, AuthError> {
        Ok(self.0.db.read(principals::has_owner).await?)
    }

    /// Whether the owner has ever logged in, so that no first login is offered any more.
    pub async fn owner_has_logged_in(&self) -> Result<bool, AuthError> {
        Ok(self.0.db.read(|tx| console_logins::has_any(tx, &Principal::owner())).await?)
    }

    /// Who has a role. Needs [`Scope::PrincipalsRead`].
    pub async fn list_principals(
        &self,
        by: &Access,
        after: Option<Principal>,
        limit: u32,
    ) -> Result<MemberPage, AuthError> {
        by.require(Scope::PrincipalsRead)?;
        let limit = limit.clamp(1, PAGE_LIMIT);
        let page = move |tx: &mut Tx<'_>| principals::page(tx, after.as_ref(), limit + 1);
        let mut members = self.0.db.read(page).await?;
        let more = members.len() > limit as usize;
        members.truncate(limit as usize);
        let last = members.last().map(|member| member.principal.clone());
        Ok(MemberPage { members, next: last.filter(|_| more) })
    }

    /// Gives a person a role below the owner's. Its maker is an owner, and has
    /// [`Scope::PrincipalsWrite`] and every scope of that role.
    pub async fn add_principal(
        &self,
        by: &Access,
        principal: &Principal,
        role: Role,
        origin: &Origin,
    ) -> Result<Member, AuthError> {
        let (Made::Now(member) | Made::Before(member)) =
            self.add_principal_once(by, principal, role, None, origin).await?;
        Ok(member)
    }

    /// The same, once for a request with a key. Whoever was added before is as they are now.
    pub async fn add_principal_once(
        &self,
        by: &Access,
        principal: &Principal,
        role: Role,
        once: Option<Once>,
        origin: &Origin,
    ) -> Result<Made<Member>, AuthError> {
        by.require(Scope::PrincipalsWrite)?;
        check_new(principal, role)?;
        let (by, principal, audit) =
            (by.clone(), principal.clone(), Audit::by(by, origin, self.now()));
        let idle = self.0.logins.idle;
        let add = move |tx: &mut Tx<'_>| {
            let access = standing::maker(tx, &by, idle, &audit)?.access;
            may_change(&access, role)?;
            let (by, made) = (&access.principal, principal.as_str());
            if made_before(tx, once.as_ref(), by, made, audit.at())?.is_some() {
                let member = principals::one(tx, &principal)?;
                let member = member.ok_or_else(|| AuthError::NoPrincipal(principal.clone()))?;
                return Ok(Made::Before(member));
            }
            if !principals::add(tx, &principal, role, audit.at())? {
                let found = principals::find(tx, &principal)?;
                let what = match found.and_then(|found| found.disabled_at) {
                    Some(_) => "was disabled, which is for good; add them under another name",
                    None => "is there already",
                };
                return Err(AuthError::PrincipalConflict { principal: principal.clone(), what });
            }
            let (subject, detail) = (principal.to_string(), json!({ "role": role.as_str() }));
            let done = Done { action: "principal.created", subject, outcome: "ok", detail };
            audit.done(tx, &access.principal, done);
            let (principal, created_at) = (principal.clone(), audit.at());
            Ok(Made::Now(Member { principal, role, created_at, disabled_at: None }))
        };
        self.0.db.try_write(add).await
    }

    /// Ends everything that somebody can do here, on every node, and all that came from it. Doing
    /// it twice is doing it once. The owner stays: an installation without one could not be
    /// repaired from outside.
    pub async fn disable_principal(
        &self,
        by: &Access,
        principal: &Principal,
        origin: &Origin,
    ) -> Result<Member, AuthError> {
        by.require(Scope::PrincipalsWrite)?;
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
            if principals::disable(tx, &principal, audit.at())? {
                tx.notify(TOPIC);
                let ended = ending::end_of_principal(tx, &principal, audit.at())?;
                let (subject, detail) = (principal.to_string(), ended.detail());
                let done = Done { action: "principal.disabled", subject, outcome: "ok", detail };
                audit.done(tx, &access.principal, done);
            }
            let member = principals::one(tx, &principal)?;
            member.ok_or_else(|| AuthError::NoPrincipal(principal.clone()))
        };
        let member = self.0.db.try_write(disable).await?;
        self.0.cache.forget();
        Ok(member)
    }
}

/// Devices, channels and agents come to be in other ways; the owner is there from the beginning.
fn check_new(principal: &Principal, role: Role) -> Result<(), AuthError> {
    let refuse = |what| Err(AuthError::InvalidInput { what });
    if !principal.as_str().starts_with("operator:") {
        return refuse("a person is added as operator: and a name");
    }
    match role {
        Role::Owner => refuse("there is one owner; give the role operator, approver or viewer"),
        Role::Operator | Role::Approver | Role::Viewer => Ok(()),
    }
}

/// An owner, by a credential that has all that the role in question has.
pub(crate) fn may_change(access: &Access, role: Role) -> Result<(), AuthError> {
    match access.role {
        Role::Owner => match role_scopes(role).first_outside(access.scopes) {
            Some(scope) => Err(AuthError::Forbidden { scope }),
            None => Ok(()),
        },
        Role::Operator | Role::Approver | Role::Viewer => Err(AuthError::NotOwner),
    }
}
