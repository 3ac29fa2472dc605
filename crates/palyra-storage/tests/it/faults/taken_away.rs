//! What is taken away while it is in use is missed with the next commit.

use std::fs;

use palyra_common::error::ErrorCode;
use palyra_storage::{DATABASE_FILE, Database, OpenOptions, StorageError};
use palyra_testkit::postgres::DatabaseLocale;

use crate::world::{World, count, insert};

const LOCK_FILE: &str = "palyra.lock";

fn check_taken(refused: &StorageError) {
    assert_eq!(refused.code(), ErrorCode::StorageDatabaseGone, "{refused:?}");
    let told = refused.envelope().message().to_owned();
    assert!(told.contains("was moved, deleted or replaced while it was in use"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_to_a_database_that_was_moved_until_it_is_back() {
    let world = World::sqlite().await;
    let (path, moved) =
        (world.folder.path().join(DATABASE_FILE), world.folder.path().join("moved"));
    insert(&world.db, "before", 1).await.unwrap();
    fs::rename(&path, &moved).unwrap();
    for _ in 0..2 {
        check_taken(&insert(&world.db, "meanwhile", 1).await.unwrap_err());
        assert!(!path.exists(), "none is made in its place");
    }
    fs::write(&path, "another one").unwrap();
    check_taken(&insert(&world.db, "meanwhile", 1).await.unwrap_err());
    fs::rename(&moved, &path).unwrap();
    insert(&world.db, "after", 1).await.unwrap();
    world.db.close().await;
    let db = Database::open(world.options.clone()).await.unwrap();
    assert_eq!(count(&db).await, 2);
    db.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_was_deleted_is_not_begun_anew() {
    let world = World::sqlite().await;
    insert(&world.db, "before", 1).await.unwrap();
    fs::remove_file(world.folder.path().join(DATABASE_FILE)).unwrap();
    check_taken(&insert(&world.db, "meanwhile", 1).await.unwrap_err());
    world.db.close().await;
    assert!(!world.folder.path().join(DATABASE_FILE).exists());
    let refused = Database::open(world.options.clone()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageDatabaseGone);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_was_deleted_is_taken_again() {
    let world = World::sqlite().await;
    fs::remove_file(world.folder.path().join(LOCK_FILE)).unwrap();
    insert(&world.db, "after", 1).await.unwrap();
    let refused = Database::open(world.options.clone()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageLocked);
    world.db.close().await;
    Database::open(world.options.clone()).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_lost_the_directory_writes_no_more() {
    let world = World::sqlite().await;
    let lock = world.folder.path().join(LOCK_FILE);
    fs::remove_file(&lock).unwrap();
    let others = fs::File::create(&lock).unwrap();
    others.try_lock().unwrap();
    let refused = insert(&world.db, "meanwhile", 1).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageLocked, "{refused:?}");
    drop(others);
    insert(&world.db, "after", 1).await.unwrap();
    assert_eq!(count(&world.db).await, 1);
}

/// Whoever starts it without the address of the server would begin with nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_a_postgres_server_does_not_begin_with_an_empty_file() {
    let world = World::postgres(DatabaseLocale::C).await;
    let alone = OpenOptions::in_directory(world.folder.path());
    let examined = Database::examine(&alone).unwrap_err();
    for refused in [Database::open(alone.clone()).await.unwrap_err(), examined] {
        assert_eq!(refused.code(), ErrorCode::StorageDatabaseGone, "{refused:?}");
        let told = refused.envelope();
        assert!(told.message().contains("storage.url names none"), "{told:?}");
        assert!(told.recovery_hint().contains("PALYRA_STORAGE_URL"), "{told:?}");
    }
    fs::remove_file(world.folder.path().join(LOCK_FILE)).unwrap();
    Database::open(alone).await.unwrap().close().await;
}
