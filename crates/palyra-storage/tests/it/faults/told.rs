//! What a person is told names what it is about, on one line.

use palyra_common::error::ErrorCode;
use palyra_storage::{DATABASE_FILE, Database, OpenOptions, StorageError};

use crate::world::World;

fn told(error: &StorageError) -> String {
    let message = error.envelope().message().to_owned();
    assert!(!message.contains('\n'), "{message}");
    message
}

async fn refused(options: OpenOptions) -> StorageError {
    Database::open(options).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_in_use_is_named_and_not_its_lock() {
    let world = World::sqlite().await;
    let locked = told(&refused(world.options.clone()).await);
    assert!(locked.ends_with(world.folder.path().to_str().unwrap()), "{locked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let inside = told(&refused(OpenOptions::in_directory(&file)).await);
    assert!(inside.contains(file.to_str().unwrap()), "{inside}");

    let database = folder.path().join(DATABASE_FILE);
    std::fs::create_dir(&database).unwrap();
    let no_file = told(&refused(OpenOptions::in_directory(folder.path())).await);
    assert!(no_file.contains(database.to_str().unwrap()), "{no_file}");

    std::fs::remove_dir(&database).unwrap();
    std::fs::write(&database, "no database at all ".repeat(100)).unwrap();
    let damaged = told(&refused(OpenOptions::in_directory(folder.path())).await);
    assert!(damaged.contains(database.to_str().unwrap()), "{damaged}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_is_too_long_is_told_as_that() {
    let folder = tempfile::tempdir().unwrap();
    let name = "n".repeat(300);
    // The second is short enough for the system, and not for SQLite.
    let parts = vec!["n".repeat(100); 6].join("/");
    for part in [name, parts] {
        let long = told(&refused(OpenOptions::in_directory(folder.path().join(part))).await);
        assert!(long.contains("too long"), "{long}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_is_away_is_named_without_who_we_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.url = "postgres://anna:geheim@127.0.0.1:1/x".to_owned().into();
    options.config.retry_for = palyra_common::time::Duration::from_millis(1);
    let away = refused(options).await;
    assert_eq!(away.code(), ErrorCode::StorageUnavailable);
    let away = told(&away);
    assert!(away.contains("127.0.0.1:1"), "{away}");
    assert!(!away.contains("anna") && !away.contains("geheim"), "{away}");
}
