//! A damaged file is told, not used, and a whole one in its place is used again.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use palyra_common::error::ErrorCode;
use palyra_storage::{DATABASE_FILE, Database, OpenOptions, Sql, params, sql};

use crate::world::{INSERT, World, count};

const VERSION: Sql = sql!("SELECT version FROM schema_state");
const SUM: Sql = sql!("SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM notes");

fn file(folder: &Path) -> PathBuf {
    folder.join(DATABASE_FILE)
}

fn damage(path: &Path, from: u64) {
    let length = std::fs::metadata(path).unwrap().len();
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    file.write_all(&vec![0xAA; usize::try_from(length - from).unwrap()]).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(file(folder.path()), "this is no database. ".repeat(1_000)).unwrap();
    let refused = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageCorrupt, "{refused:?}");
    assert!(refused.envelope().recovery_hint().contains("backup"));
    let kept = std::fs::read_to_string(file(folder.path())).unwrap();
    assert!(kept.starts_with("this is no database"), "the file was changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_met_while_running_fails_those_who_meet_it_and_nobody_else() {
    let world = World::sqlite().await;
    let fill = |tx: &mut palyra_storage::Tx<'_>| {
        let sets = (0..5_000i64).map(|n| [palyra_storage::text(format!("{n:0>100}")), n.into()]);
        tx.execute_many(&INSERT, sets)
    };
    world.db.write(fill).await.unwrap();
    world.db.close().await;
    let path = file(world.folder.path());
    let whole = std::fs::read(&path).unwrap();
    // The schema is in front, the rows are behind.
    damage(&path, whole.len() as u64 / 2);

    let db = Database::open(world.options.clone()).await.unwrap();
    let read =
        |tx: &mut palyra_storage::Tx<'_>| tx.query_one(&SUM, params![], |row| row.get::<i64>(0));
    let met = db.read(read).await.unwrap_err();
    assert_eq!(met.code(), ErrorCode::StorageCorrupt, "{met:?}");
    let met = db.write(read).await.unwrap_err();
    assert_eq!(met.code(), ErrorCode::StorageCorrupt, "{met:?}");
    // What does not touch the damage works, also for whoever writes.
    assert_eq!(db.schema().await.unwrap().version, palyra_storage::SCHEMA_VERSION);
    let version = |tx: &mut palyra_storage::Tx<'_>| {
        tx.query_one(&VERSION, params![], |row| row.get::<i64>(0))
    };
    assert_eq!(db.write(version).await.unwrap(), palyra_storage::SCHEMA_VERSION);
    db.close().await;

    std::fs::write(&path, whole).unwrap();
    let db = Database::open(world.options.clone()).await.unwrap();
    assert_eq!(db.write(read).await.unwrap(), (0..5_000i64).sum::<i64>());
    assert_eq!(count(&db).await, 5_000);
}
