//! Backups: made while everybody works, checked, and restored on either engine.

mod contents;
mod copies;
mod damage;
mod interrupted;
mod last_step;
mod online;
mod refusals;
mod round_trip;

use std::path::Path;
use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::backup::{self, BackupError, Created, Progress, Source, Verified};
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::Leases;
use palyra_storage::{Database, OpenOptions};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};
use tokio::sync::watch;

use crate::world::World;

/// What a backup of `world` is made of.
fn source(world: &World) -> Source {
    source_of(world, &world.db)
}

fn source_of(world: &World, db: &Database) -> Source {
    let folder = world.folder.path().join("blobs");
    Source {
        db: db.clone(),
        blobs: BlobStore::in_folder(db.clone(), world.clock(), &folder).unwrap(),
        leases: Leases::new(db.clone(), world.clock(), Duration::from_secs(10)),
        clock: world.clock(),
    }
}

fn unwatched() -> watch::Sender<Progress> {
    watch::channel(Progress::default()).0
}

async fn create(source: &Source) -> (Created, Vec<u8>) {
    backup::create(source, Vec::new(), unwatched()).await.unwrap()
}

fn verify(file: &[u8]) -> Result<Verified, BackupError> {
    backup::verify(file, &unwatched())
}

/// An empty place to restore to.
struct Target {
    options: OpenOptions,
    folder: tempfile::TempDir,
    postgres: Option<Arc<TestDatabase>>,
}

impl Target {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::in_directory(folder.path());
        Self { options, folder, postgres: None }
    }

    fn postgres() -> Self {
        let server = PostgresServer::shared().unwrap();
        let database = server.create_database(DatabaseLocale::Icu).unwrap();
        let mut target = Self::sqlite();
        target.options.config.url = database.url().into();
        target.postgres = Some(Arc::new(database));
        target
    }

    /// Of the same engine as `world`.
    fn like(world: &World) -> Self {
        if world.postgres.is_some() { Self::postgres() } else { Self::sqlite() }
    }

    async fn restore(&self, file: &[u8]) -> Result<Verified, BackupError> {
        let input = std::io::Cursor::new(file.to_vec());
        backup::restore(input, self.options.clone(), unwatched()).await
    }

    async fn open(&self) -> Database {
        Database::open(self.options.clone()).await.unwrap()
    }

    fn blobs(&self, world: &World, db: &Database) -> BlobStore {
        let folder = self.folder.path().join("blobs");
        BlobStore::in_folder(db.clone(), world.clock(), &folder).unwrap()
    }

    /// Whether nothing of a restore is left.
    fn is_empty(&self) -> bool {
        files(self.folder.path()).iter().all(|name| name == "palyra.lock")
    }
}

/// All files of a folder and its folders.
fn files(folder: &Path) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(inner) = folders.pop() {
        for item in std::fs::read_dir(inner).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

fn check_code(refused: &BackupError, code: ErrorCode) {
    assert_eq!(refused.code(), code, "{refused:?}");
    assert!(!refused.envelope().recovery_hint().is_empty());
}
