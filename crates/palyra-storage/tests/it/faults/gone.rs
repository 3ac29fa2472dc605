//! A database that is not where it was is not begun anew.

use std::path::Path;

use palyra_common::error::ErrorCode;
use palyra_storage::{DATABASE_FILE, Database, OpenOptions};

use crate::world::{World, count, insert};

/// What a kill leaves of a young database: nearly everything is in its log.
async fn killed() -> tempfile::TempDir {
    let world = World::sqlite().await;
    insert(&world.db, "a", 1).await.unwrap();
    let left = tempfile::tempdir().unwrap();
    for name in [DATABASE_FILE.to_owned(), format!("{DATABASE_FILE}-wal")] {
        std::fs::copy(world.folder.path().join(&name), left.path().join(name)).unwrap();
    }
    left
}

async fn assert_gone(folder: &Path, trace: &str) {
    let options = OpenOptions::in_directory(folder);
    let examined = Database::examine(&options).unwrap_err();
    for refused in [Database::open(options).await.unwrap_err(), examined] {
        assert_eq!(refused.code(), ErrorCode::StorageDatabaseGone, "{refused:?}");
        let told = refused.envelope().message().to_owned();
        let trace = format!("but {} shows", folder.join(trace).display());
        assert!(told.contains(&trace), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_a_database_that_is_gone_stays_until_it_is_back() {
    let folder = killed().await;
    let (path, log) = (folder.path().join(DATABASE_FILE), format!("{DATABASE_FILE}-wal"));
    let kept = folder.path().join("kept");
    let before = std::fs::read(folder.path().join(&log)).unwrap();
    std::fs::rename(&path, &kept).unwrap();
    assert_gone(folder.path(), &log).await;
    std::fs::write(&path, "").unwrap();
    assert_gone(folder.path(), &log).await;
    assert!(before == std::fs::read(folder.path().join(&log)).unwrap(), "the log was changed");
    std::fs::rename(&kept, &path).unwrap();
    let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
    assert_eq!(count(&db).await, 1);
    db.close().await;
}

/// What the message names is what has to be moved away to begin anew, as the hint says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_shows_that_there_was_a_database_until_it_is_moved() {
    let traces = [
        ("palyra.db.schema-1.copy", "palyra.db.schema-1.copy"),
        ("palyra.db-journal", "palyra.db-journal"),
        ("blobs/ab/abcd", "blobs"),
    ];
    for (file, trace) in traces {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "x").unwrap();
        std::fs::write(path.with_file_name("other"), "x").unwrap();
        assert_gone(folder.path(), trace).await;
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::rename(folder.path().join(trace), elsewhere.path().join("kept")).unwrap();
        let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
        db.close().await;
    }
}

/// Nothing else is left of one that was closed in order and had no blobs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_left_nothing_behind_is_missed_too() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions::in_directory(folder.path());
    Database::open(options.clone()).await.unwrap().close().await;
    std::fs::rename(folder.path().join(DATABASE_FILE), folder.path().join("kept")).unwrap();
    assert_gone(folder.path(), "palyra.lock").await;
    std::fs::rename(folder.path().join("kept"), folder.path().join(DATABASE_FILE)).unwrap();
    Database::open(options.clone()).await.unwrap().close().await;
    // To begin anew, as the hint says.
    for name in [DATABASE_FILE, "palyra.lock"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    Database::open(options).await.unwrap().close().await;
}

/// What a kill right after the first start leaves, or during a look before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_file_alone_is_a_beginning() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(DATABASE_FILE), "").unwrap();
    std::fs::write(folder.path().join(format!("{DATABASE_FILE}-wal")), "").unwrap();
    std::fs::create_dir(folder.path().join("blobs")).unwrap();
    std::fs::write(folder.path().join("blobs/palyra-probe-01"), "x").unwrap();
    let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
    db.close().await;
}
