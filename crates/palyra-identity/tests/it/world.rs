//! A database to test on, time that is moved by hand, and the journal to look into.

use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::{Duration, Timestamp};
use palyra_identity::{
    Access, AuthError, CreatedToken, Identity, NewLogin, NewToken, Origin, ScopeSet,
};
use palyra_storage::{Database, JournalStore, OpenOptions};
use palyra_testkit::clock::FakeClock;
pub(crate) use palyra_testkit::on_every_engine;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};

/// The start of fake time.
pub(crate) const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

pub(crate) struct World {
    pub(crate) db: Database,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) identity: Identity,
    pub(crate) origin: Origin,
    options: OpenOptions,
    _folder: tempfile::TempDir,
    postgres: Option<TestDatabase>,
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::in_directory(folder.path());
        Self::open(folder, options, None).await
    }

    pub(crate) async fn postgres() -> Self {
        let server = PostgresServer::shared().unwrap();
        // The locale that shows where a comparison is left to the database's own rules.
        let database = server.create_database(DatabaseLocale::Icu).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        options.config.url = database.url().into();
        options.config.connections = 4;
        options.config.retry_for = Duration::from_mins(2);
        Self::open(folder, options, Some(database)).await
    }

    async fn open(
        folder: tempfile::TempDir,
        options: OpenOptions,
        postgres: Option<TestDatabase>,
    ) -> Self {
        let db = Database::open(options.clone()).await.unwrap();
        let clock = Arc::new(FakeClock::new(START));
        let identity = Identity::new(db.clone(), clock.clone());
        let origin = Origin::new("test");
        Self { db, clock, identity, origin, options, _folder: folder, postgres }
    }

    /// What a restart leaves: the rows.
    pub(crate) async fn restart(&mut self) {
        self.db.close().await;
        self.db = Database::open(self.options.clone()).await.unwrap();
        self.identity = Identity::new(self.db.clone(), self.clock.clone());
    }

    /// Where two nodes can share a database: another one on it.
    pub(crate) async fn second_node(&self) -> Option<(Database, Identity)> {
        self.postgres.as_ref()?;
        let db = Database::open(self.options.clone()).await.unwrap();
        Some((db.clone(), Identity::new(db, self.clock.clone())))
    }

    pub(crate) async fn first_code(&self) -> String {
        let code = self.identity.first_login_code(&self.origin).await.unwrap().unwrap();
        code.secret.expose().to_owned()
    }

    pub(crate) async fn redeem(&self, code: &str) -> Result<NewLogin, AuthError> {
        self.identity.redeem(code, &self.origin).await
    }

    /// The owner, logged in.
    pub(crate) async fn login(&self) -> NewLogin {
        let by = self.identity.local_owner();
        let code = self.identity.handoff_code(&by, &self.origin).await.unwrap();
        self.redeem(code.secret.expose()).await.unwrap()
    }

    pub(crate) async fn token(&self, by: &Access, scopes: &[Scope]) -> CreatedToken {
        self.identity.create_token(by, new_token(scopes), &self.origin).await.unwrap()
    }

    /// What a token may do now.
    pub(crate) async fn access(&self, token: &CreatedToken) -> Result<Access, AuthError> {
        self.identity.authenticate_token(token.secret.expose()).await
    }

    /// Somebody else, logged in through a code of their own: `operator:NAME`.
    pub(crate) async fn person(&self, name: &str, role: Role) -> (Principal, Access) {
        let principal: Principal = format!("operator:{name}").parse().unwrap();
        let by = self.identity.local_owner();
        self.identity.add_principal(&by, &principal, role, &self.origin).await.unwrap();
        let cookie = crate::principals::login_of(self, &principal).await;
        let access = self.identity.authenticate_login(&cookie).await.unwrap();
        (principal, access)
    }

    /// Actors, actions, subjects' kinds and outcomes of the journal, oldest first.
    pub(crate) async fn journal(&self) -> Vec<String> {
        let entries = JournalStore::new(self.db.clone()).page_after(0, 1_000).await.unwrap();
        let line = |entry: palyra_storage::journal::Recorded| {
            let event = entry.event;
            assert_eq!(event.origin, "test");
            format!("{} {} {}", event.actor, event.action, event.outcome)
        };
        entries.into_iter().map(line).collect()
    }
}

pub(crate) fn new_token(scopes: &[Scope]) -> NewToken {
    let scopes = ScopeSet::from_iter(scopes.iter().copied());
    NewToken { name: "backup script".into(), scopes, expires_at: None, principal: None }
}

/// The code of a refusal.
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, AuthError>) -> ErrorCode {
    result.unwrap_err().code()
}
