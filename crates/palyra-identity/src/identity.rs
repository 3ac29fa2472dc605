//! The handle, and authentication.

pub(crate) mod principals;

use std::sync::Arc;

use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_storage::{Database, StorageError, Topic, Tx, describe};

use crate::cache::{Cache, Key, Kind, Looked};
use crate::refusals::{Counters, Refusal};
use crate::secret::Digest;
use crate::standing::{Standing, Stored};
use crate::store::{api_tokens, console_logins};
use crate::{Access, AuthError, Credential, LoginOptions, RefusalCounts, TOKEN_PREFIX, csrf};

/// Rung when a credential was ended or a principal disabled, on every node.
pub const TOPIC: Topic = Topic::new("identity");

/// How long what was read of a credential is believed when no notice comes.
pub const CACHED_FOR: Duration = Duration::from_millis(500);

/// How often the last use of a credential is written.
pub const TOUCHED_EVERY: Duration = Duration::from_mins(1);

/// The most tokens or logins that one page holds.
pub const PAGE_LIMIT: u32 = 200;

/// The most credentials that are remembered.
const CACHED_AT_MOST: usize = 4_096;

/// Principals and their credentials. Cheap to clone; all clones share one cache.
#[derive(Clone)]
pub struct Identity(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) db: Database,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) logins: LoginOptions,
    pub(crate) cache: Cache,
    refusals: Counters,
}

impl Identity {
    /// With the usual lifetimes of logins.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self::with_logins(db, clock, LoginOptions::default())
    }

    /// With chosen lifetimes of logins.
    pub fn with_logins(db: Database, clock: Arc<dyn Clock>, logins: LoginOptions) -> Self {
        let cache = Cache::new(db.subscribe(TOPIC), CACHED_AT_MOST, CACHED_FOR);
        Self(Arc::new(Inner { db, clock, logins, cache, refusals: Counters::default() }))
    }

    /// Whoever speaks through the Unix socket in the data directory. The owner need not have
    /// logged in before.
    pub fn local_owner(&self) -> Access {
        Access::local_owner()
    }

    /// What the bearer of an API token may do.
    pub async fn authenticate_token(&self, secret: &str) -> Result<Access, AuthError> {
        self.authenticate(Kind::Token, Digest::of_presented(TOKEN_PREFIX, secret)).await
    }

    /// What the bearer of a console login's cookie may do.
    pub async fn authenticate_login(&self, cookie_secret: &str) -> Result<Access, AuthError> {
        self.authenticate(Kind::Login, Digest::of_presented("", cookie_secret)).await
    }

    /// What a credential allows now that was authenticated a while ago: for work that takes long.
    pub async fn look_again(&self, access: &Access) -> Result<Access, AuthError> {
        let credential = access.credential;
        let look = move |tx: &mut Tx<'_>| {
            let stored = match credential {
                Credential::LocalOwner => return Ok(None),
                Credential::Token(id) => api_tokens::by_id(tx, id)?,
                Credential::Login(id) => console_logins::by_id(tx, id)?,
            };
            Standing::complete(tx, stored)
        };
        match (credential, self.0.db.read(look).await?) {
            (Credential::LocalOwner, _) => Ok(Access::local_owner()),
            (_, Some(standing)) => {
                let judged = standing.judge(self.now(), self.0.logins.idle);
                judged.map_err(|refusal| self.refused(refusal))
            }
            (_, None) => Err(self.refused(Refusal::Invalid)),
        }
    }

    /// Refuses a change whose CSRF token is not the one of this cookie.
    pub fn verify_csrf(&self, cookie_secret: &str, presented: &str) -> Result<(), AuthError> {
        if csrf::matches(cookie_secret, presented) {
            return Ok(());
        }
        Err(self.refused(Refusal::Csrf))
    }

    /// How often credentials were refused since this process began.
    pub fn refusals(&self) -> RefusalCounts {
        self.0.refusals.read()
    }

    async fn authenticate(
        &self,
        kind: Kind,
        presented: Option<Digest>,
    ) -> Result<Access, AuthError> {
        let digest = presented.ok_or_else(|| self.refused(Refusal::Invalid))?;
        let (key, now, idle) = ((kind, digest), self.now(), self.0.logins.idle);
        let generation = match self.0.cache.look(&key, now) {
            Looked::Hit(standing) => {
                return standing.judge(now, idle).map_err(|refusal| self.refused(refusal));
            }
            Looked::Miss(generation) => generation,
        };
        let found = self.0.db.read(move |tx| find(tx, &key)).await?;
        let standing = found.ok_or_else(|| self.refused(Refusal::Invalid))?;
        let access = standing.judge(now, idle).map_err(|refusal| self.refused(refusal))?;
        let seen = self.touch(standing, now).await;
        self.0.cache.keep(generation, key, seen, now);
        Ok(access)
    }

    /// Writes the time of this use, now and then. That it could not be written keeps nobody out:
    /// on a full disk people must be able to look.
    async fn touch(&self, mut standing: Standing, now: Timestamp) -> Standing {
        let before = now - TOUCHED_EVERY;
        if standing.stored.seen_at.is_some_and(|seen| seen > before) {
            return standing;
        }
        let credential = standing.stored.credential;
        let written = self.0.db.write(move |tx| match credential {
            Credential::Token(id) => api_tokens::touch(tx, id, now, before),
            Credential::Login(id) => console_logins::touch(tx, id, now, before),
            Credential::LocalOwner => Ok(false),
        });
        match written.await {
            Ok(_) => standing.stored.seen_at = Some(now),
            Err(error) => {
                let (code, error) = (error.code(), describe(&error));
                tracing::warn!(%code, %error, "the last use of a credential could not be written");
            }
        }
        standing
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Counts a refusal and makes it the caller's error.
    pub(crate) fn refused(&self, refusal: Refusal) -> AuthError {
        self.0.refusals.note(refusal, self.now());
        refusal.into()
    }
}

fn find(tx: &mut Tx<'_>, (kind, digest): &Key) -> Result<Option<Standing>, StorageError> {
    let stored: Option<Stored> = match kind {
        Kind::Token => api_tokens::by_digest(tx, digest)?,
        Kind::Login => console_logins::by_digest(tx, digest)?,
    };
    Standing::complete(tx, stored)
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("db", &self.0.db).finish_non_exhaustive()
    }
}
