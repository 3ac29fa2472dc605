//! API tokens: making, listing and revoking them.

use palyra_common::ids::{Principal, TokenId};
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Timestamp;
use palyra_storage::once::Once;
use palyra_storage::{StorageError, Tx, new_id};
use serde_json::json;

use crate::audit::{Audit, Done};
use crate::once::made_before;
use crate::secret::Digest;
use crate::standing::{self, Maker};
use crate::store::api_tokens;
use crate::{
    Access, AuthError, Credential, Identity, Made, Origin, PAGE_LIMIT, ScopeSet, Secret, TOPIC,
    Token, ending,
};

/// What every token begins with, so that people and scanners recognise it.
pub const TOKEN_PREFIX: &str = "ply_";

/// The longest name of a token.
pub const MAX_TOKEN_NAME_CHARS: usize = 100;

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What it is for, in its maker's words.
    pub name: String,
    /// What it allows: at least one, at most those of its maker.
    pub scopes: ScopeSet,
    /// When it ends by itself: not later than a token that makes it.
    pub expires_at: Option<Timestamp>,
    /// Whose it is, if not its maker's.
    pub principal: Option<Principal>,
}

impl NewToken {
    fn check(&self, now: Timestamp) -> Result<(), AuthError> {
        let refuse = |what| Err(AuthError::InvalidInput { what });
        let length = self.name.chars().count();
        if self.name.trim() != self.name || !(1..=MAX_TOKEN_NAME_CHARS).contains(&length) {
            return refuse("a token has a name of 1 to 100 characters, without blanks around it");
        }
        if self.name.chars().any(char::is_control) {
            return refuse("the name of a token has no control characters");
        }
        if self.scopes.is_empty() {
            return refuse("a token has at least one scope");
        }
        if self.expires_at.is_some_and(|end| end <= now) {
            return refuse("the expiry of a token is in the future");
        }
        Ok(())
    }

    /// Nobody makes more than they have.
    fn check_against(&self, maker: &Maker) -> Result<(), AuthError> {
        maker.access.require(Scope::TokensWrite)?;
        if let Some(scope) = self.scopes.first_outside(maker.access.scopes) {
            return Err(AuthError::Forbidden { scope });
        }
        match (maker.bounds.limit_at, self.expires_at) {
            (None, _) => Ok(()),
            (Some(limit), Some(end)) if end <= limit => Ok(()),
            (Some(limit), Some(_) | None) => Err(AuthError::Outlives { limit }),
        }
    }
}

/// A token that has just been made. Its secret is not to be had again.
#[derive(Debug, Clone)]
pub struct CreatedToken {
    /// What its bearer presents.
    pub secret: Secret,
    /// The token.
    pub token: Token,
}

/// Some tokens, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenPage {
    /// They, revoked and expired ones included for as long as they are kept.
    pub tokens: Vec<Token>,
    /// Where the next page begins, if there is one.
    pub next: Option<TokenId>,
}

impl Identity {
    /// Makes a token, of the same principal or for an owner of another one. Needs
    /// [`Scope::TokensWrite`].
    pub async fn create_token(
        &self,
        by: &Access,
        new: NewToken,
        origin: &Origin,
    ) -> Result<CreatedToken, AuthError> {
        let secret = Secret::random(TOKEN_PREFIX);
        let (Made::Now(token) | Made::Before(token)) =
            self.make_token(by, new, &secret, None, origin).await?;
        Ok(CreatedToken { secret, token })
    }

    /// The same, once for a request with a key. A token that was made before is as it is now, and
    /// without its secret.
    pub async fn create_token_once(
        &self,
        by: &Access,
        new: NewToken,
        once: Option<Once>,
        origin: &Origin,
    ) -> Result<Made<CreatedToken, Token>, AuthError> {
        let secret = Secret::random(TOKEN_PREFIX);
        Ok(match self.make_token(by, new, &secret, once, origin).await? {
            Made::Now(token) => Made::Now(CreatedToken { secret, token }),
            Made::Before(token) => Made::Before(token),
        })
    }

    async fn make_token(
        &self,
        by: &Access,
        new: NewToken,
        secret: &Secret,
        once: Option<Once>,
        origin: &Origin,
    ) -> Result<Made<Token>, AuthError> {
        by.require(Scope::TokensWrite)?;
        let audit = Audit::by(by, origin, self.now());
        new.check(audit.at())?;
        let (id, digest): (TokenId, _) = (new_id(), Digest::of(secret));
        let (by, idle) = (by.clone(), self.0.logins.idle);
        let make = move |tx: &mut Tx<'_>| -> Result<Made<Token>, AuthError> {
            let maker = standing::maker(tx, &by, idle, &audit)?;
            maker.access.require(Scope::TokensWrite)?;
            let made = id.to_string();
            if let Some(before) =
                made_before(tx, once.as_ref(), &maker.access.principal, &made, audit.at())?
            {
                return token_of(tx, &before).map(Made::Before);
            }
            new.check_against(&maker)?;
            let (principal, allowed) = maker.recipient(tx, new.principal.as_ref())?;
            if new.scopes.first_outside(allowed).is_some() {
                let what = "has a role without all these scopes";
                return Err(AuthError::PrincipalConflict { principal, what });
            }
            let token = Token {
                id,
                name: new.name.clone(),
                made_by: maker.access.as_maker(),
                principal,
                scopes: new.scopes,
                created_at: audit.at(),
                expires_at: new.expires_at,
                last_used_at: None,
                revoked_at: None,
            };
            api_tokens::add(tx, &digest, &token)?;
            let scopes: Vec<&str> = token.scopes.iter().map(Scope::as_str).collect();
            let detail = json!({
                "principal": token.principal, "scopes": scopes, "expires_at": token.expires_at
            });
            let subject = format!("token:{id}");
            let done = Done { action: "token.created", subject, outcome: "ok", detail };
            audit.done(tx, &maker.access.principal, done);
            Ok(Made::Now(token))
        };
        self.0.db.try_write(make).await
    }

    /// Tokens: an owner sees all, others their own. Needs [`Scope::TokensRead`].
    pub async fn list_tokens(
        &self,
        by: &Access,
        after: Option<TokenId>,
        limit: u32,
    ) -> Result<TokenPage, AuthError> {
        by.require(Scope::TokensRead)?;
        let (of, limit) = (by.reach(), limit.clamp(1, PAGE_LIMIT));
        let page = move |tx: &mut Tx<'_>| api_tokens::page(tx, of.as_ref(), after, limit + 1);
        let mut tokens = self.0.db.read(page).await?;
        let more = tokens.len() > limit as usize;
        tokens.truncate(limit as usize);
        let next = if more { tokens.last().map(|token| token.id) } else { None };
        Ok(TokenPage { tokens, next })
    }

    /// One token: whoever may see tokens sees those within reach, and a token sees itself.
    pub async fn token(&self, by: &Access, id: TokenId) -> Result<Token, AuthError> {
        if by.credential != Credential::Token(id) && by.require(Scope::TokensWrite).is_err() {
            by.require(Scope::TokensRead)?;
        }
        let found = self.0.db.read(move |tx| api_tokens::one(tx, id)).await?;
        let reach = by.reach();
        let within = |token: &Token| reach.as_ref().is_none_or(|own| *own == token.principal);
        found.filter(within).ok_or(AuthError::NoToken(id))
    }

    /// Revokes a token and all that came from it, on every node within a second. Says whether that
    /// changed anything. A token may revoke itself; another needs [`Scope::TokensWrite`], and only
    /// an owner revokes those of others.
    pub async fn revoke_token(
        &self,
        by: &Access,
        id: TokenId,
        origin: &Origin,
    ) -> Result<bool, AuthError> {
        let (by, audit) = (by.clone(), Audit::by(by, origin, self.now()));
        let idle = self.0.logins.idle;
        let revoke = move |tx: &mut Tx<'_>| {
            let access = standing::maker(tx, &by, idle, &audit)?.access;
            if access.credential != Credential::Token(id) {
                access.require(Scope::TokensWrite)?;
            }
            let found = api_tokens::by_id(tx, id)?.ok_or(AuthError::NoToken(id))?;
            if access.reach().is_some_and(|own| own != found.principal) {
                return Err(AuthError::NoToken(id));
            }
            let changed = api_tokens::revoke(tx, id, audit.at())?;
            let ended = ending::end_made_with(tx, Credential::Token(id), audit.at())?;
            let changed = changed || !ended.is_nothing();
            if changed {
                tx.notify(TOPIC);
                let (subject, detail) = (format!("token:{id}"), ended.detail());
                let done = Done { action: "token.revoked", subject, outcome: "ok", detail };
                audit.done(tx, &access.principal, done);
            }
            Ok(changed)
        };
        let changed = self.0.db.try_write(revoke).await?;
        self.0.cache.forget();
        Ok(changed)
    }
}

/// The token that a request made. It is kept for longer than the request is remembered.
fn token_of(tx: &mut Tx<'_>, made: &str) -> Result<Token, AuthError> {
    let gone = || StorageError::internal("a request is remembered that made no token");
    let id = made.parse().map_err(|_| gone())?;
    Ok(api_tokens::one(tx, id)?.ok_or_else(gone)?)
}
