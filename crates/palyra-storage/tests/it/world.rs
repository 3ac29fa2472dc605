//! A database to test on, and a table for units of work to write to.

use std::sync::Arc;

use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_storage::lease::Leases;
use palyra_storage::{Database, OpenOptions, Sql, StorageError, params, sql};
use palyra_testkit::clock::FakeClock;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};

const CREATE_NOTES: Sql = sql!(
    sqlite: "CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL,
        real REAL, bytes BLOB, note TEXT) STRICT",
    postgres: "CREATE TABLE notes (id TEXT COLLATE \"C\" PRIMARY KEY NOT NULL, n BIGINT NOT NULL,
        real DOUBLE PRECISION, bytes BYTEA, note TEXT COLLATE \"C\")",
);
pub(crate) const INSERT: Sql = sql!("INSERT INTO notes (id, n) VALUES ($1, $2)");
pub(crate) const ADD: Sql = sql!("UPDATE notes SET n = n + $2 WHERE id = $1 RETURNING n");
pub(crate) const COUNT: Sql = sql!("SELECT count(*) FROM notes");
pub(crate) const VALUE: Sql = sql!("SELECT n FROM notes WHERE id = $1");

/// The start of fake time.
pub(crate) const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

pub(crate) struct World {
    pub(crate) db: Database,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) options: OpenOptions,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) postgres: Option<TestDatabase>,
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::in_directory(folder.path());
        Self::open(folder, options, None).await
    }

    pub(crate) async fn postgres(locale: DatabaseLocale) -> Self {
        let database = PostgresServer::shared().unwrap().create_database(locale).unwrap();
        Self::on(database).await
    }

    pub(crate) async fn on(database: TestDatabase) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        options.config.url = database.url().into();
        options.config.connections = 4;
        // Machines are slow, and no story is about running out of patience.
        options.config.retry_for = Duration::from_mins(2);
        Self::open(folder, options, Some(database)).await
    }

    async fn open(
        folder: tempfile::TempDir,
        options: OpenOptions,
        postgres: Option<TestDatabase>,
    ) -> Self {
        let db = Database::open(options.clone()).await.unwrap();
        create_notes(&db).await.unwrap();
        let clock = Arc::new(FakeClock::new(START));
        Self { db, clock, options, folder, postgres }
    }

    /// Leases of another run of a node on the same database.
    pub(crate) fn leases(&self, db: &Database) -> Leases {
        Leases::new(db.clone(), self.clock(), Duration::from_secs(10))
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Where two processes can share a database: another one on it.
    pub(crate) async fn second_node(&self) -> Option<Database> {
        self.postgres.as_ref()?;
        Some(Database::open(self.options.clone()).await.unwrap())
    }
}

pub(crate) async fn create_notes(db: &Database) -> Result<(), StorageError> {
    db.write(|tx| tx.execute(&CREATE_NOTES, params![]).map(drop)).await
}

pub(crate) async fn count(db: &Database) -> i64 {
    db.read(|tx| tx.query_one(&COUNT, params![], |row| row.get(0))).await.unwrap()
}

pub(crate) async fn value(db: &Database, id: &'static str) -> Option<i64> {
    db.read(move |tx| tx.query_opt(&VALUE, params![id], |row| row.get(0))).await.unwrap()
}

pub(crate) async fn insert(db: &Database, id: &'static str, n: i64) -> Result<(), StorageError> {
    db.write(move |tx| tx.execute(&INSERT, params![id, n]).map(drop)).await
}

/// Stamps each story on every engine.
macro_rules! on_every_engine {
    ($($story:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story(crate::world::World::sqlite().await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                let locale = palyra_testkit::postgres::DatabaseLocale::C;
                super::$story(crate::world::World::postgres(locale).await).await;
            })+
        }
        mod postgres_icu {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                let locale = palyra_testkit::postgres::DatabaseLocale::Icu;
                super::$story(crate::world::World::postgres(locale).await).await;
            })+
        }
    };
}
pub(crate) use on_every_engine;
