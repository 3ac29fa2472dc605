//! Who asks, and whether they may. Bearer token, console login or local socket: the same handlers
//! stand behind all three.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use palyra_common::ErrorCode;
use palyra_common::runtime_contracts::Scope;
use palyra_identity::{Access, Credential, Origin};

use super::door::Door;
use super::refusal::{Answer, Refusal};
use super::slots::SlotKeeper;
use crate::app::App;
use crate::audit::Actor;
use crate::hosts::PublicUrl;

/// The header by which a page of ours proves itself.
pub(crate) const CSRF_HEADER: &str = "x-palyra-csrf";

/// The cookie of a console login on loopback, where there is no TLS.
pub(crate) const COOKIE: &str = "palyra_login";

/// The same behind a proxy with TLS: browsers send it over TLS only, and take it from no other host.
pub(crate) const TLS_COOKIE: &str = "__Host-palyra";

/// The head of the cookie of a login, for the browser that sends these headers.
pub(crate) fn set_cookie(app: &App, headers: &HeaderMap, secret: &str, lasts_secs: u64) -> String {
    let name = cookie_name(app, headers);
    let secure = if name == TLS_COOKIE { "; Secure" } else { "" };
    format!("{name}={secret}; Path=/; HttpOnly{secure}; SameSite=Strict; Max-Age={lasts_secs}")
}

/// The one cookie that counts for the host that these headers name. Another one may be older, or have
/// been set by a neighbour of that host.
fn cookie_name(app: &App, headers: &HeaderMap) -> &'static str {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let public = PublicUrl::parse(&app.config().http.public_url);
    match public.is_some_and(|url| url.is_tls_for(host)) {
        true => TLS_COOKIE,
        false => COOKIE,
    }
}

/// An authenticated caller.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) access: Access,
    door: Door,
}

impl Caller {
    /// Whoever was let in through `door`.
    pub(crate) fn new(access: Access, door: Door) -> Self {
        Self { access, door }
    }

    /// Refuses unless the credential has `scope`.
    pub(crate) fn allow(self, scope: Scope) -> Answer<Self> {
        self.access.require(scope)?;
        Ok(self)
    }

    /// Refuses whoever is not on the daemon's own machine and user: `what` decides which programs
    /// run there and where everything is kept, which no scope over the network is enough for.
    pub(crate) fn only_local(&self, what: &str) -> Answer<()> {
        self.local(&format!("{what} can only be changed"))
    }

    /// Refuses everybody else: what is done is told in `only`, as in "this can only be done".
    pub(crate) fn local(&self, only: &str) -> Answer<()> {
        if self.access.credential == Credential::LocalOwner {
            return Ok(());
        }
        let what = format!("{only} through the daemon's local socket");
        Err(Refusal::new(ErrorCode::AuthLocalOnly, what))
    }

    /// Who acts, for the audit trail.
    pub(crate) fn actor(&self) -> Actor {
        let Access { principal, credential, .. } = self.access.clone();
        Actor { by: principal, credential, origin: self.door.origin() }
    }

    /// From where, for the audit trail.
    pub(crate) fn origin(&self) -> Origin {
        Origin::new(&self.door.origin())
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Answer<Self> {
        let door = parts.extensions.get::<Door>().copied();
        let door = door.ok_or_else(|| Refusal::new(ErrorCode::AuthRequired, "no door"))?;
        let access = match door {
            Door::Local => app.identity.local_owner(),
            Door::Tcp(_) | Door::Grpc(_) => {
                authenticate(app, &parts.method, &parts.headers).await?
            }
        };
        app.rates.admit(&access)?;
        let slot = app.slots.take(&access)?;
        if let Some(keeper) = parts.extensions.get::<SlotKeeper>() {
            keeper.keep(slot);
        }
        Ok(Self { access, door })
    }
}

async fn authenticate(app: &App, method: &Method, headers: &HeaderMap) -> Answer<Access> {
    let identity = &app.identity;
    if let Some(bearer) = headers.get(header::AUTHORIZATION) {
        let secret = bearer.to_str().ok().and_then(bearer_secret);
        let invalid = || Refusal::new(ErrorCode::AuthInvalid, "the header is not a bearer token");
        return Ok(identity.authenticate_token(secret.ok_or_else(invalid)?).await?);
    }
    let secret = cookie(app, headers).ok_or_else(|| {
        Refusal::new(ErrorCode::AuthRequired, "this needs a login or an API token")
    })?;
    let access = identity.authenticate_login(secret).await?;
    if !method.is_safe() {
        let csrf = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
        identity.verify_csrf(secret, csrf.unwrap_or_default())?;
    }
    Ok(access)
}

pub(crate) fn bearer_secret(value: &str) -> Option<&str> {
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// The secret of the console login, if the browser sent one.
pub(crate) fn cookie<'a>(app: &App, headers: &'a HeaderMap) -> Option<&'a str> {
    let counts = cookie_name(app, headers);
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == counts).then_some(value))
}

/// Which kind of credential, for people.
pub(crate) fn credential_word(credential: Credential) -> &'static str {
    match credential {
        Credential::LocalOwner => "local",
        Credential::Token(_) => "token",
        Credential::Login(_) => "login",
    }
}
