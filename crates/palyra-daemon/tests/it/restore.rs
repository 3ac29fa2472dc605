//! `palyrad restore`: from one data directory to another, and from one engine to the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_storage::backup::{self, Progress, Source};
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::Leases;
use palyra_storage::{Database, OpenOptions, StorageConfig, SystemClock};
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};
use palyra_testkit::process::{Builder, Process, Stream};
use tokio::sync::watch;

use crate::daemon::{LIMIT, palyrad, refused};
use crate::lifecycle::journal;

/// A backup of a node that has worked and holds a blob.
fn backup_of_a_node(folder: &Path) -> PathBuf {
    backup_after(folder, |_| {})
}

/// As [`backup_of_a_node`], after something has happened to its data directory.
fn backup_after(folder: &Path, happened: impl FnOnce(&Path)) -> PathBuf {
    let data = folder.join("old");
    let mut daemon = palyrad().data_dir(&data).spawn().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    daemon.terminate(LIMIT).unwrap();
    let file = folder.join("palyra.backup");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let db = Database::open(OpenOptions::in_directory(&data)).await.unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let config = StorageConfig::default();
        let blobs = BlobStore::open(db.clone(), clock.clone(), &config, &data).unwrap();
        blobs.put("content".into()).await.unwrap();
        happened(&data);
        let leases = Leases::new(db.clone(), clock.clone(), config.lease_ttl);
        let source = Source { db: db.clone(), blobs, leases, clock };
        let unwatched = watch::channel(Progress::default()).0;
        backup::create_file(&source, &file, unwatched).await.unwrap();
        db.close().await;
    });
    file
}

/// After the subcommand, as people write it.
pub(crate) fn restore(file: &Path, data_dir: &Path) -> Builder {
    Process::builder(env!("CARGO_BIN_EXE_palyrad"))
        .arg("restore")
        .arg(file)
        .arg("--data-dir")
        .arg(data_dir)
}

#[test]
fn a_daemon_starts_on_what_was_restored() {
    let folder = private_tempdir().unwrap();
    let file = backup_of_a_node(folder.path());
    let new = folder.path().join("new");
    let mut restoring = restore(&file, &new).spawn().unwrap();
    assert_eq!(restoring.wait(LIMIT).unwrap().code(), Some(0), "{}", restoring.logs());
    let told = restoring.lines(Stream::Stdout).unwrap().join("\n");
    assert!(told.contains("palyrad has restored") && told.contains("1 blobs"), "{told}");
    let progress = restoring.lines(Stream::Stderr).unwrap().join("\n");
    assert!(progress.contains("restoring") && progress.contains("palyra.backup"), "{progress}");

    let mut daemon = palyrad().data_dir(&new).spawn().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    let (code, told) = refused(restore(&file, &new));
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("storage/locked") && told.contains("what to do:"), "{told}");
    daemon.terminate(LIMIT).unwrap();
    assert_eq!(journal(&new), ["daemon.started", "daemon.stopped"].repeat(2));

    let (code, told) = refused(restore(&file, &new));
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("backup/target_in_use") && told.contains("what to do:"), "{told}");
}

/// The command line reads the JSON, and nobody sees what is said beside it.
#[test]
fn what_is_wrong_with_what_was_restored_is_in_the_json() {
    let folder = private_tempdir().unwrap();
    let lose = |data: &Path| std::fs::remove_dir_all(data.join("blobs")).unwrap();
    let file = backup_after(folder.path(), lose);
    let mut restoring = restore(&file, &folder.path().join("new")).arg("--json").spawn().unwrap();
    assert_eq!(restoring.wait(LIMIT).unwrap().code(), Some(0), "{}", restoring.logs());
    let told = restoring.lines(Stream::Stdout).unwrap().join("\n");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["missing_blobs"], 1, "{told}");
    let warnings = told["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{told}");
    let warning = warnings[0].as_str().unwrap();
    assert!(warning.ends_with("had no content when the backup was made"), "{told}");
    let said = restoring.lines(Stream::Stderr).unwrap();
    assert!(said.contains(&format!("palyrad: {warning}")), "{said:?}");
}

#[test]
fn a_backup_of_sqlite_is_restored_to_postgres() {
    let folder = private_tempdir().unwrap();
    let file = backup_of_a_node(folder.path());
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let new = folder.path().join("new");
    let url = database.url();
    let mut restoring = restore(&file, &new).args(["--storage-url", &url]).spawn().unwrap();
    assert_eq!(restoring.wait(LIMIT).unwrap().code(), Some(0), "{}", restoring.logs());
    let daemon = palyrad().data_dir(&new).env("PALYRA_STORAGE_URL", &url).spawn().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    let started = database.psql("SELECT count(*) FROM journal WHERE action = 'daemon.started'");
    assert_eq!(started.unwrap(), "2");
}

#[test]
fn what_cannot_be_restored_is_refused_with_a_reason() {
    let folder = private_tempdir().unwrap();
    let file = backup_of_a_node(folder.path());
    let new = folder.path().join("new");
    let (code, told) = refused(restore(&folder.path().join("none"), &new));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("common/invalid_input") && told.contains("none"), "{told}");
    let mut cut = std::fs::read(&file).unwrap();
    cut.pop();
    std::fs::write(&file, cut).unwrap();
    let (code, told) = refused(restore(&file, &new));
    assert_eq!(code, Some(7), "{told}");
    assert!(told.contains("backup/invalid") && told.contains("what to do:"), "{told}");
    let left = std::fs::read_dir(&new).unwrap().map(|item| item.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name != "palyra.lock" && name != "blobs").collect();
    assert!(left.is_empty(), "{left:?}");
}
