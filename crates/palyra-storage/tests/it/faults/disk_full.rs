//! A full disk refuses writes and harms nothing that was written.

use palyra_common::error::ErrorCode;
use palyra_storage::{Database, OpenOptions, Sql, StorageError, params, sql};
use palyra_testkit::fs::SmallDisk;

use crate::world::{count, create_notes};

const PUT: Sql = sql!("INSERT INTO notes (id, n, bytes) VALUES ($1, $2, $3)");

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
        return;
    };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0u8; 8 << 20]).unwrap();
    let data = disk.path().join("data");
    let db = Database::open(OpenOptions::in_directory(&data)).await.unwrap();
    create_notes(&db).await.unwrap();

    let (kept, error) = fill(&db, 0).await;
    assert_eq!(error.code(), ErrorCode::StorageDiskFull, "{error:?}");
    assert!(error.code().retryable() && !error.envelope().recovery_hint().is_empty());
    assert_eq!(count(&db).await, kept, "what was answered is there, and nothing else");
    let again = put(&db, kept).await.unwrap_err();
    assert_eq!(again.code(), ErrorCode::StorageDiskFull);

    std::fs::remove_file(ballast).unwrap();
    put(&db, kept).await.unwrap();
    assert_eq!(count(&db).await, kept + 1);
    db.close().await;
    let db = Database::open(OpenOptions::in_directory(&data)).await.unwrap();
    assert_eq!(count(&db).await, kept + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_without_room_for_a_database_says_so() {
    let Some(disk) = SmallDisk::mount(16 << 10).unwrap() else {
        return;
    };
    let refused = Database::open(OpenOptions::in_directory(disk.path())).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageDiskFull, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configured_size_is_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.max_bytes = 2 << 20;
    let db = Database::open(options.clone()).await.unwrap();
    create_notes(&db).await.unwrap();
    let (kept, error) = fill(&db, 0).await;
    assert_eq!(error.code(), ErrorCode::StorageDiskFull, "{error:?}");
    assert_eq!(count(&db).await, kept);
    db.close().await;

    options.config.max_bytes = 0;
    let db = Database::open(options).await.unwrap();
    put(&db, kept).await.unwrap();
    assert_eq!(count(&db).await, kept + 1);
}
