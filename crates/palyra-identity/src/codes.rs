//! Login codes: single use, short-lived, and each the beginning of a console login.

use palyra_common::ids::{LoginId, Principal};
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::once::Once;
use palyra_storage::{StorageError, Tx, new_id};
use serde_json::{Value, json};

use crate::audit::{Audit, Done};
use crate::once::made_before;
use crate::refusals::Refusal;
use crate::secret::Digest;
use crate::standing::{self, Bounds};
use crate::store::login_codes::{Code, Purpose, State};
use crate::store::{console_logins, login_codes, principals};
use crate::{Access, AuthError, Identity, Login, Made, Origin, Secret, csrf_token};

/// How long the code for the first login works.
pub const FIRST_LOGIN_CODE_LASTS: Duration = Duration::from_mins(10);

/// How long a code from somebody who is logged in works.
pub const HANDOFF_CODE_LASTS: Duration = Duration::from_secs(60);

/// How long a code for somebody else works: it has to be sent to them first.
pub const INVITATION_CODE_LASTS: Duration = Duration::from_mins(10);

/// A code to log in with, once.
#[derive(Debug, Clone)]
pub struct LoginCode {
    /// The code.
    pub secret: Secret,
    /// Until when it works.
    pub expires_at: Timestamp,
}

/// A login that has just been made.
#[derive(Debug, Clone)]
pub struct NewLogin {
    /// What the browser keeps in its cookie.
    pub cookie_secret: Secret,
    /// What the console sends with each change.
    pub csrf_token: Secret,
    /// The login.
    pub login: Login,
}

impl Identity {
    /// A code for the owner's first login; nothing if there was one. Earlier codes go on working,
    /// for another node may have printed them, until one of them is used.
    pub async fn first_login_code(&self, origin: &Origin) -> Result<Option<LoginCode>, AuthError> {
        let (code, audit) = (self.new_code(FIRST_LOGIN_CODE_LASTS), Audit::new(origin, self.now()));
        let (digest, expires_at) = (Digest::of(&code.secret), code.expires_at);
        let made = self.0.db.write(move |tx| {
            let (purpose, principal) = (Purpose::FirstLogin, Principal::owner());
            if console_logins::has_any(tx, &principal)? {
                return Ok(false);
            }
            let row = Code { purpose, principal, bounds: Bounds::NONE, made_by: None };
            add(tx, &digest, &row, expires_at, &audit, &Principal::system())?;
            Ok(true)
        });
        Ok(made.await?.then_some(code))
    }

    /// A code that logs the same principal in once more, elsewhere. The login has no more than
    /// `by` has and, if `by` comes from a token, ends no later.
    pub async fn handoff_code(&self, by: &Access, origin: &Origin) -> Result<LoginCode, AuthError> {
        Ok(self.code_for(by, None, None, origin).await?.0)
    }

    /// A code for an owner to send to somebody else, within the same bounds. For oneself it is
    /// [`handoff_code`](Self::handoff_code).
    pub async fn invitation_code(
        &self,
        by: &Access,
        principal: &Principal,
        origin: &Origin,
    ) -> Result<LoginCode, AuthError> {
        Ok(self.code_for(by, Some(principal.clone()), None, origin).await?.0)
    }

    /// One of both, once for a request with a key. Of a code that was made before only its end is
    /// known.
    pub async fn login_code_once(
        &self,
        by: &Access,
        principal: Option<Principal>,
        once: Option<Once>,
        origin: &Origin,
    ) -> Result<Made<LoginCode, Timestamp>, AuthError> {
        Ok(match self.code_for(by, principal, once, origin).await? {
            (code, None) => Made::Now(code),
            (_, Some(expires_at)) => Made::Before(expires_at),
        })
    }

    /// A code, and if one was made before, in place of this one, the end of that.
    async fn code_for(
        &self,
        by: &Access,
        named: Option<Principal>,
        once: Option<Once>,
        origin: &Origin,
    ) -> Result<(LoginCode, Option<Timestamp>), AuthError> {
        by.require(Scope::LoginsWrite)?;
        let lasts = match &named {
            Some(other) if *other != by.principal => INVITATION_CODE_LASTS,
            Some(_) | None => HANDOFF_CODE_LASTS,
        };
        let (code, audit) = (self.new_code(lasts), Audit::by(by, origin, self.now()));
        let (digest, expires_at) = (Digest::of(&code.secret), code.expires_at);
        let (by, idle) = (by.clone(), self.0.logins.idle);
        let make = move |tx: &mut Tx<'_>| -> Result<Option<Timestamp>, AuthError> {
            let maker = standing::maker(tx, &by, idle, &audit)?;
            maker.access.require(Scope::LoginsWrite)?;
            let (principal, made) =
                (&maker.access.principal, expires_at.as_unix_millis().to_string());
            if let Some(before) = made_before(tx, once.as_ref(), principal, &made, audit.at())? {
                return end_of(&before).map(Some);
            }
            let (principal, _) = maker.recipient(tx, named.as_ref())?;
            let (bounds, made_by) = (maker.bounds, maker.access.as_maker());
            let row = Code { purpose: Purpose::Handoff, principal, bounds, made_by };
            add(tx, &digest, &row, expires_at, &audit, &maker.access.principal)?;
            Ok(None)
        };
        Ok((code, self.0.db.try_write(make).await?))
    }

    /// Says whether a code would work now, and leaves it as it is.
    pub async fn look_at_code(&self, code: &str) -> Result<(), AuthError> {
        let unknown = || self.refused(Refusal::LinkUnknown);
        let digest = Digest::of_presented("", code).ok_or_else(unknown)?;
        let state = self.0.db.read(move |tx| login_codes::find(tx, &digest)).await?;
        match refusal(&state.ok_or_else(unknown)?, self.now()) {
            Some(refusal) => Err(self.refused(refusal)),
            None => Ok(()),
        }
    }

    /// Uses a code up and logs its principal in. Of all who try, on whichever node, one wins.
    pub async fn redeem(&self, code: &str, origin: &Origin) -> Result<NewLogin, AuthError> {
        let now = self.now();
        let unknown = || self.refused(Refusal::LinkUnknown);
        let digest = Digest::of_presented("", code).ok_or_else(unknown)?;
        // Guesses, and links tried again and again, never reach the queue of those who write.
        let state = self.0.db.read(move |tx| login_codes::find(tx, &digest)).await?;
        let state = state.ok_or_else(unknown)?;
        if let (Some(refusal), Some(_)) = (refusal(&state, now), state.refused_at) {
            return Err(self.refused(refusal));
        }
        let (cookie_secret, audit) = (Secret::random(""), Audit::new(origin, now));
        let new = Redemption {
            code: digest,
            id: new_id(),
            cookie: Digest::of(&cookie_secret),
            expires_at: now + self.0.logins.absolute,
            audit,
        };
        let outcome = self.0.db.write(move |tx| new.run(tx)).await?;
        let login = outcome.map_err(|refusal| self.refused(refusal))?;
        let csrf_token = csrf_token(cookie_secret.expose());
        Ok(NewLogin { cookie_secret, csrf_token, login })
    }

    fn new_code(&self, lasts: Duration) -> LoginCode {
        LoginCode { secret: Secret::random(""), expires_at: self.now() + lasts }
    }
}

/// The end of a code that a request made.
fn end_of(made: &str) -> Result<Timestamp, AuthError> {
    let wrong = |_| StorageError::internal("a request is remembered that made no code");
    Ok(Timestamp::from_unix_millis(made.parse().map_err(wrong)?))
}

fn add(
    tx: &mut Tx<'_>,
    digest: &Digest,
    code: &Code,
    expires_at: Timestamp,
    audit: &Audit,
    actor: &Principal,
) -> Result<(), StorageError> {
    login_codes::add(tx, digest, code, audit.at(), expires_at)?;
    let detail = json!({ "purpose": code.purpose.as_str() });
    let subject = code.principal.to_string();
    audit.done(tx, actor, Done { action: "login_code.created", subject, outcome: "ok", detail });
    Ok(())
}

/// Why a code does not work at `now`, if it does not.
fn refusal(state: &State, now: Timestamp) -> Option<Refusal> {
    let expired = (state.expires_at <= now).then_some(Refusal::LinkExpired);
    match (state.used_at, state.ended_at, state.purpose) {
        (Some(_), _, _) => Some(Refusal::LinkUsed),
        // Nobody has taken it back: another link was used.
        (None, Some(_), Purpose::FirstLogin) => Some(Refusal::LinkExpired),
        (None, Some(_), Purpose::Handoff) => expired.or(Some(Refusal::Revoked)),
        (None, None, _) => expired,
    }
}

/// One attempt to use a code. A refusal is an outcome, not an error: it is committed, with its
/// entry in the journal.
struct Redemption {
    code: Digest,
    id: LoginId,
    cookie: Digest,
    expires_at: Timestamp,
    audit: Audit,
}

impl Redemption {
    fn run(&self, tx: &mut Tx<'_>) -> Result<Result<Login, Refusal>, StorageError> {
        let now = self.audit.at();
        let Some(code) = login_codes::take(tx, &self.code, now)? else {
            return self.refuse(tx).map(Err);
        };
        if code.purpose == Purpose::FirstLogin {
            standing::ensure_owner(tx, &self.audit)?;
        }
        // However the owner comes in, what was printed for the first time is of no more use.
        if code.principal == Principal::owner() {
            login_codes::end_first_logins(tx, now)?;
        }
        let found = principals::find(tx, &code.principal)?;
        if found.is_none_or(|found| found.disabled_at.is_some()) {
            self.record_refusal(tx, &code.principal, Refusal::Revoked);
            return Ok(Err(Refusal::Revoked));
        }
        let limit = code.bounds.limit_at.unwrap_or(Timestamp::MAX);
        let login = Login {
            id: self.id,
            principal: code.principal.clone(),
            created_at: now,
            last_seen_at: now,
            expires_at: self.expires_at.min(limit),
            ended_at: None,
            made_by: code.made_by,
        };
        console_logins::add(tx, &self.cookie, &login, &code.bounds)?;
        let (subject, detail) = (
            format!("login:{}", self.id),
            json!({ "purpose": code.purpose.as_str(), "made_by": code.made_by }),
        );
        let done = Done { action: "login.created", subject, outcome: "ok", detail };
        self.audit.done(tx, &code.principal, done);
        Ok(Ok(login))
    }

    /// The code was not there to be used. The first such attempt is recorded; the rest is counted.
    fn refuse(&self, tx: &mut Tx<'_>) -> Result<Refusal, StorageError> {
        let now = self.audit.at();
        let Some(state) = login_codes::find(tx, &self.code)? else {
            return Ok(Refusal::LinkUnknown);
        };
        let refusal = refusal(&state, now).unwrap_or(Refusal::LinkUsed);
        if login_codes::refuse(tx, &self.code, now)? {
            self.record_refusal(tx, &Principal::system(), refusal);
        }
        Ok(refusal)
    }

    fn record_refusal(&self, tx: &mut Tx<'_>, actor: &Principal, refusal: Refusal) {
        let (subject, outcome) = ("login_code".to_owned(), refusal.as_str());
        let done = Done { action: "login.refused", subject, outcome, detail: Value::Null };
        self.audit.done(tx, actor, done);
    }
}
