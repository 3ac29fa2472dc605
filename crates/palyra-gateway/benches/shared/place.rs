//! An empty database to measure on.

use palyra_storage::{Database, OpenOptions};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};
use tokio::runtime::Runtime;

/// Which engine, with as many connections where there are several.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

pub(crate) const CONNECTIONS: u32 = 8;

/// An empty database.
pub(crate) struct Place {
    pub(crate) db: Database,
    pub(crate) postgres: Option<TestDatabase>,
    _server: Option<PostgresServer>,
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn open(runtime: &Runtime, engine: Engine) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        let (server, postgres) = match engine {
            Engine::Sqlite => (None, None),
            Engine::Postgres => {
                let server = PostgresServer::start().unwrap();
                let database = server.create_database(DatabaseLocale::C).unwrap();
                options.config.url = database.url().into();
                options.config.connections = CONNECTIONS;
                (Some(server), Some(database))
            }
        };
        let db = runtime.block_on(Database::open(options)).unwrap();
        Self { db, postgres, _server: server, folder }
    }
}
