//! Opening a database: lock, migrate, start the threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::watch;

use super::lock::{DirectoryLock, note_server};
use super::threads::{self, Started};
use super::traces;
use super::{Database, Inner};
use crate::StorageError;
use crate::config::StorageConfig;
use crate::engine::EngineKind;
use crate::engine::export::Origin;
use crate::engine::postgres;
use crate::engine::postgres::connect::Dial;
use crate::engine::sqlite::SqliteFile;
use crate::engine::sqlite::copy::coming;
use crate::engine::sqlite::files::remove_all;
use crate::engine::sqlite::load::restoring;
use crate::engine::sqlite::migrate::from_io;
use crate::lease::Held;
use crate::migrate::{MIGRATIONS, Migration};
use crate::notify::Bell;
use crate::private;

/// The SQLite file in the data directory.
pub const DATABASE_FILE: &str = "palyra.db";

/// What to open.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Where this node keeps its files.
    pub data_dir: PathBuf,
    /// Section `[storage]`.
    pub config: StorageConfig,
    /// The schema. Anything but [`MIGRATIONS`] is for tests of migrations.
    pub migrations: &'static [Migration],
}

impl OpenOptions {
    /// A SQLite file in `data_dir`, with defaults.
    pub fn in_directory(data_dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: data_dir.into(), config: StorageConfig::default(), migrations: MIGRATIONS }
    }

    pub(crate) fn sqlite_file(&self) -> SqliteFile {
        let max_bytes = Some(self.config.max_bytes).filter(|bytes| *bytes > 0);
        SqliteFile { path: self.data_dir.join(DATABASE_FILE), max_bytes }
    }
}

impl Database {
    /// Opens, and migrates if need be. On SQLite the data directory is locked for as long as the
    /// database is open, and every lease is free, since nobody else can hold one.
    pub async fn open(options: OpenOptions) -> Result<Self, StorageError> {
        options.config.check()?;
        let opened = tokio::task::spawn_blocking(move || open(&options)).await;
        opened.unwrap_or_else(|_| Err(StorageError::internal("opening the database panicked")))
    }
}

fn open(options: &OpenOptions) -> Result<Database, StorageError> {
    let data_dir = &options.data_dir;
    let server = options.config.url.server()?;
    private::make_directory(data_dir).map_err(|error| from_io(data_dir, error))?;
    let place = match server {
        None => {
            let lock = DirectoryLock::take(data_dir)?;
            Place::Sqlite(sqlite_file(options)?, lock)
        }
        Some(server) => {
            traces::refuse_unfinished_restore(options)?;
            let (dial, patience) = (Dial::new(server), options.config.retry_for.into());
            let runtime = postgres::runtime()?;
            postgres::migrate::migrate(&runtime, &dial, options.migrations, patience)?;
            // Without it a start that is not told of the server begins with an empty file.
            let _ = note_server(data_dir);
            Place::Postgres(Box::new(dial))
        }
    };
    start(options, place)
}

/// The database of a server as it is: nothing is migrated, and nothing is made in the data
/// directory. For whoever knows that its schema is current.
pub(super) fn join(options: &OpenOptions) -> Result<Database, StorageError> {
    let Some(server) = options.config.url.server()? else {
        return Err(StorageError::InvalidValue { what: "storage.url names no server".into() });
    };
    start(options, Place::Postgres(Box::new(Dial::new(server))))
}

/// Where the data is, with all that its threads need to be there.
enum Place {
    Sqlite(SqliteFile, DirectoryLock),
    Postgres(Box<Dial>),
}

fn start(options: &OpenOptions, place: Place) -> Result<Database, StorageError> {
    let bell = Arc::new(Bell::default());
    let (closed, watcher) = watch::channel(false);
    let incarnation = crate::clock::new_id();
    let (engine, origin, started) = match place {
        Place::Sqlite(file, lock) => {
            let started = threads::sqlite(options, file.clone(), lock, &bell);
            let started = started.map_err(|error| file.name_limit(error))?;
            (EngineKind::Sqlite, Origin::Sqlite(file), started)
        }
        Place::Postgres(dial) => {
            let started = threads::postgres(options, &dial, incarnation, &bell, watcher)?;
            (EngineKind::Postgres, Origin::Postgres(dial), started)
        }
    };
    let Started { queues, threads } = started;
    Ok(Database(Arc::new(Inner {
        engine,
        origin,
        incarnation,
        queues: RwLock::new(Some(queues)),
        bell,
        held_leases: Held::default(),
        closed,
        threads: Mutex::new(threads),
    })))
}

fn sqlite_file(options: &OpenOptions) -> Result<SqliteFile, StorageError> {
    let file = options.sqlite_file();
    traces::check(options)?;
    // They take room, and are of no use to anybody.
    let _ = remove_all(&coming(file.path()));
    let _ = std::fs::remove_file(restoring(file.path()));
    // SQLite gives the log beside it the same permissions.
    private::open_file(file.path()).map_err(|error| from_io(file.path(), error))?;
    Ok(file)
}
