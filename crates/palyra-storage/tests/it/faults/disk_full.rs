//! A full disk refuses writes and harms nothing that was written.

use palyra_common::error::ErrorCode;
use palyra_storage::{Database, OpenOptions, Sql, StorageError, params, sql};
use palyra_testkit::fs::SmallDisk;

use crate::world::{count, create_notes};

const PUT: Sql = sql!("INSERT INTO notes (id, n, bytes) VALUES ($1, $2, $3)");

const LIMIT_REACHED: &str = "storage/size_limit";

async fn put(db: &Database, n: i64) -> Result<(), StorageError> {
    db.write(move |tx| {
        let bytes = [7u8; 10_000];
        tx.execute(&PUT, params![palyra_storage::text(n), n, bytes.as_slice()]).map(drop)
    })
    .await
}

/// Writes until it fails; returns how many were kept and the failure.
async fn fill(db: &Database, from: i64) -> (i64, StorageError) {
    for n in from..from + 100_000 {
        if let Err(error) = put(db, n).await {
            return (n, error);
        }
    }
    panic!("the disk never filled up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writing_goes_on_when_space_is_free_again() {
    let Some(disk) = SmallDisk::mount(16 << 20).unwrap() else {
        return writing_goes_on_when_rows_are_gone().await;
    };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0u8; 8 << 20]).unwrap();
    let data = disk.path().join("data");
    let db = Database::open(OpenOptions::in_directory(&data)).await.unwrap();
    create_notes(&db).await.unwrap();
    let kept = fill_up(&db, "storage/disk_full", data.to_str().unwrap()).await;

    std::fs::remove_file(ballast).unwrap();
    put(&db, kept).await.unwrap();
    assert_eq!(count(&db).await, kept + 1);
    db.close().await;
    let db = Database::open(OpenOptions::in_directory(&data)).await.unwrap();
    assert_eq!(count(&db).await, kept + 1);
}

/// Writes until nothing more goes in, which is told with `code` and `about`; returns how many
/// were kept.
async fn fill_up(db: &Database, code: &str, about: &str) -> i64 {
    let (kept, error) = fill(db, 0).await;
    assert_eq!(error.code().as_str(), code, "{error:?}");
    assert!(error.envelope().message().contains(about), "{}", error.envelope());
    assert!(error.code().retryable() && !error.envelope().recovery_hint().is_empty());
    assert_eq!(count(db).await, kept, "what was answered is there, and nothing else");
    let again = put(db, kept).await.unwrap_err();
    assert_eq!(again.code().as_str(), code);
    kept
}

fn limited(folder: &tempfile::TempDir, max_bytes: u64) -> OpenOptions {
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.max_bytes = max_bytes;
    options
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn room_that_rows_leave_is_used_again() {
    writing_goes_on_when_rows_are_gone().await;
}

async fn writing_goes_on_when_rows_are_gone() {
    const REMOVE: Sql = sql!("DELETE FROM notes WHERE n < $1");
    const GONE: i64 = 20;
    let folder = tempfile::tempdir().unwrap();
    let options = limited(&folder, 2 << 20);
    let db = Database::open(options.clone()).await.unwrap();
    create_notes(&db).await.unwrap();
    let kept = fill_up(&db, LIMIT_REACHED, "storage.max_bytes").await;
    db.write(|tx| tx.execute(&REMOVE, params![GONE])).await.unwrap();
    put(&db, kept).await.unwrap();
    assert_eq!(count(&db).await, kept + 1 - GONE);
    db.close().await;
    let db = Database::open(options).await.unwrap();
    assert_eq!(count(&db).await, kept + 1 - GONE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_without_room_for_a_database_says_so() {
    let Some(disk) = SmallDisk::mount(16 << 10).unwrap() else {
        return a_size_too_small_is_told().await;
    };
    let refused = Database::open(OpenOptions::in_directory(disk.path())).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageDiskFull, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configured_size_without_room_for_a_database_says_so() {
    a_size_too_small_is_told().await;
}

async fn a_size_too_small_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let refused = Database::open(limited(&folder, 16 << 10)).await.unwrap_err();
    assert_eq!(refused.code().as_str(), LIMIT_REACHED, "{refused:?}");
    // With more room the same directory serves.
    let db = Database::open(limited(&folder, 2 << 20)).await.unwrap();
    create_notes(&db).await.unwrap();
    put(&db, 0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configured_size_is_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(limited(&folder, 2 << 20)).await.unwrap();
    create_notes(&db).await.unwrap();
    let kept = fill_up(&db, LIMIT_REACHED, "storage.max_bytes").await;
    db.close().await;

    let db = Database::open(limited(&folder, 0)).await.unwrap();
    put(&db, kept).await.unwrap();
    assert_eq!(count(&db).await, kept + 1);
}
