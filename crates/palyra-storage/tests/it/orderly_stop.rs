//! What an orderly stop leaves behind.

use palyra_storage::{DATABASE_FILE, Database, OpenOptions};

use crate::world::{World, count, insert};

/// Which thread ends last is chance, so it is tried a few times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_alone_is_the_whole_database() {
    for round in 0..8 {
        let world = World::sqlite().await;
        insert(&world.db, "a", 1).await.unwrap();
        assert_eq!(count(&world.db).await, 1);
        world.db.close().await;
        for beside in ["-wal", "-shm"] {
            let path = world.folder.path().join(format!("{DATABASE_FILE}{beside}"));
            assert!(!path.exists(), "round {round}: {} is left", path.display());
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join(DATABASE_FILE);
        std::fs::copy(world.folder.path().join(DATABASE_FILE), copy).unwrap();
        let db = Database::open(OpenOptions::in_directory(elsewhere.path())).await.unwrap();
        assert_eq!(count(&db).await, 1, "round {round}");
    }
}

/// Somebody reads the file with a tool of their own: closing ends all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_cannot_be_emptied_does_not_keep_the_database_open() {
    let world = World::sqlite().await;
    insert(&world.db, "a", 1).await.unwrap();
    let tool = rusqlite::Connection::open(world.folder.path().join(DATABASE_FILE)).unwrap();
    tool.execute_batch("BEGIN; SELECT count(*) FROM notes").unwrap();
    insert(&world.db, "b", 1).await.unwrap();
    world.db.close().await;
    let db = Database::open(world.options.clone()).await.unwrap();
    assert_eq!(count(&db).await, 2);
}
