//! Console logins: how long they last, listing and ending them.

use palyra_common::ids::LoginId;
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Duration;
use palyra_storage::Tx;

use crate::audit::{Audit, Done};
use crate::ending::{self, Ended};
use crate::standing;
use crate::store::console_logins;
use crate::{Access, AuthError, Credential, Identity, Login, Origin, PAGE_LIMIT, TOPIC};

/// How long a login lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginOptions {
    /// Without use. Use is written once a minute, so a login may end up to a minute early.
    pub idle: Duration,
    /// However much it is used.
    pub absolute: Duration,
}

impl Default for LoginOptions {
    fn default() -> Self {
        Self { idle: Duration::from_hours(12), absolute: Duration::from_days(30) }
    }
}

impl LoginOptions {
    /// Refuses lengths that cannot work.
    pub fn check(&self) -> Result<(), AuthError> {
        // Use is written once a minute: a shorter idle time would end logins that are in use.
        if self.idle < Duration::from_mins(5) {
            return Err(AuthError::InvalidInput { what: "a login stays idle for at least 5m" });
        }
        if self.absolute < self.idle {
            let what = "a login lasts at least as long as it may be idle";
            return Err(AuthError::InvalidInput { what });
        }
        Ok(())
    }
}

/// Some logins, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginPage {
    /// They, ended ones included for as long as they are kept.
    pub logins: Vec<Login>,
    /// Where the next page begins, if there is one.
    pub next: Option<LoginId>,
}

impl Identity {
    /// Logins: an owner sees all, others their own. Needs [`Scope::LoginsRead`].
    pub async fn list_logins(
        &self,
        by: &Access,
        after: Option<LoginId>,
        limit: u32,
    ) -> Result<LoginPage, AuthError> {
        by.require(Scope::LoginsRead)?;
        let (of, limit) = (by.reach(), limit.clamp(1, PAGE_LIMIT));
        let page = move |tx: &mut Tx<'_>| console_logins::page(tx, of.as_ref(), after, limit + 1);
        let mut logins = self.0.db.read(page).await?;
        let more = logins.len() > limit as usize;
        logins.truncate(limit as usize);
        let next = if more { logins.last().map(|login| login.id) } else { None };
        Ok(LoginPage { logins, next })
    }

    /// One login: whoever may see or end logins sees those within reach, and a login sees itself.
    pub async fn login(&self, by: &Access, id: LoginId) -> Result<Login, AuthError> {
        if by.credential != Credential::Login(id) && by.require(Scope::LoginsWrite).is_err() {
            by.require(Scope::LoginsRead)?;
        }
        let found = self.0.db.read(move |tx| console_logins::one(tx, id)).await?;
        let reach = by.reach();
        let within = |login: &Login| reach.as_ref().is_none_or(|own| *own == login.principal);
        found.filter(within).ok_or(AuthError::NoLogin(id))
    }

    /// Ends a login and all that came from it, on every node. Says whether that changed anything.
    /// A login may end itself; ending another needs [`Scope::LoginsWrite`], and only an owner ends
    /// those of others.
    pub async fn end_login(
        &self,
        by: &Access,
        id: LoginId,
        origin: &Origin,
    ) -> Result<bool, AuthError> {
        self.end(by, id, Along::WithAllItMade, origin).await
    }

    /// Ends the login that asks, if it is one. Whoever leaves a browser does not mean the tokens
    /// that were made in it.
    pub async fn log_out(&self, by: &Access, origin: &Origin) -> Result<bool, AuthError> {
        match by.credential {
            Credential::Login(id) => self.end(by, id, Along::Alone, origin).await,
            Credential::Token(_) | Credential::LocalOwner => Ok(false),
        }
    }

    async fn end(
        &self,
        by: &Access,
        id: LoginId,
        along: Along,
        origin: &Origin,
    ) -> Result<bool, AuthError> {
        let (by, audit) = (by.clone(), Audit::by(by, origin, self.now()));
        let idle = self.0.logins.idle;
        let end = move |tx: &mut Tx<'_>| {
            let access = match along {
                Along::WithAllItMade => standing::maker(tx, &by, idle, &audit)?.access,
                // Nobody but the one who leaves is concerned, who may have been ended already.
                Along::Alone => by.clone(),
            };
            if access.credential != Credential::Login(id) {
                access.require(Scope::LoginsWrite)?;
            }
            let found = console_logins::by_id(tx, id)?;
            let found = found.ok_or(AuthError::NoLogin(id))?;
            if access.reach().is_some_and(|own| own != found.principal) {
                return Err(AuthError::NoLogin(id));
            }
            let changed = console_logins::end(tx, id, audit.at())?;
            let ended = match along {
                Along::WithAllItMade => {
                    ending::end_made_with(tx, Credential::Login(id), audit.at())?
                }
                Along::Alone => Ended::default(),
            };
            let changed = changed || !ended.is_nothing();
            if changed {
                tx.notify(TOPIC);
                let (subject, detail) = (format!("login:{id}"), ended.detail());
                let done = Done { action: "login.ended", subject, outcome: "ok", detail };
                audit.done(tx, &access.principal, done);
            }
            Ok(changed)
        };
        let changed = self.0.db.try_write(end).await?;
        self.0.cache.forget();
        Ok(changed)
    }
}

/// What ends with a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Along {
    WithAllItMade,
    Alone,
}
