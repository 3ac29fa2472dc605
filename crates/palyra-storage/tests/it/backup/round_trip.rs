//! What was backed up is what was restored, on the same engine and on the other.

use palyra_storage::backup::{self, Source};
use palyra_storage::blob::BlobId;
use palyra_storage::events::{self, NewEvent};
use palyra_storage::{
    Database, JournalStore, MIGRATIONS, OpenOptions, SCHEMA_VERSION, Sql, params, sql,
};

use super::contents::{entry, everything, fill, first_token, tables, token};
use super::{Target, create, source, source_of, verify};
use crate::world::{START, World, on_every_engine};

on_every_engine!(
    every_table_comes_back_on_the_same_engine,
    every_table_comes_back_on_the_other_engine,
    a_restored_database_accepts_work,
    a_restored_database_says_so_once,
    a_backup_of_an_older_schema_is_restored_and_then_migrated,
    the_tables_that_travel_are_those_of_the_catalogue,
);

/// Each blob of the list is there, and whole.
async fn check_blobs(world: &World, target: &Target, db: &Database, ids: &[BlobId]) {
    let blobs = target.blobs(world, db);
    for id in ids {
        let content = blobs.get(id).await.unwrap();
        assert_eq!(BlobId::of(&content), *id);
    }
}

async fn there_and_back(world: World, target: Target) {
    let Source { db, blobs, .. } = source(&world);
    let ids = fill(&db, &blobs).await;
    let expected = everything(&db).await;
    assert!(expected.iter().all(|(_, rows)| !rows.is_empty()), "{expected:?}");
    let (created, file) = create(&source(&world)).await;
    assert_eq!((created.content.blobs, created.missing.count), (3, 0));
    assert_eq!(created.file_bytes, file.len() as u64);
    let verified = verify(&file).unwrap();
    assert_eq!((verified.schema, verified.journal.entries), (SCHEMA_VERSION, 2));
    assert_eq!((verified.content, verified.made_at), (created.content, START));

    assert_eq!(target.restore(&file).await.unwrap(), verified);
    let restored = target.open().await;
    assert_eq!(everything(&restored).await, expected);
    check_blobs(&world, &target, &restored, &ids).await;
    let journal = JournalStore::new(restored.clone()).verify().await.unwrap();
    assert_eq!((journal.entries, journal.fault), (2, None));
    restored.close().await;
}

async fn every_table_comes_back_on_the_same_engine(world: World) {
    let target = Target::like(&world);
    there_and_back(world, target).await;
}

async fn every_table_comes_back_on_the_other_engine(world: World) {
    let target = if world.postgres.is_some() { Target::sqlite() } else { Target::postgres() };
    there_and_back(world, target).await;
}

async fn a_restored_database_accepts_work(world: World) {
    const HELD: Sql = sql!("SELECT count(*) FROM leases");
    let Source { db, blobs, leases, .. } = source(&world);
    fill(&db, &blobs).await;
    let before = token(&leases).await;
    let newest = events::newest(&db).await.unwrap();
    let (_, file) = create(&source(&world)).await;
    for target in [Target::sqlite(), Target::postgres()] {
        target.restore(&file).await.unwrap();
        let restored = target.open().await;
        let held: i64 =
            restored.read(|tx| tx.query_one(&HELD, params![], |row| row.get(0))).await.unwrap();
        assert_eq!(held, 0, "nobody holds a lease on a restored database");
        let first = first_token(&world.leases(&restored)).await;
        assert!(first > before, "{first} after {before}: tokens only grow");
        let next = entry("next");
        let work = move |tx: &mut palyra_storage::Tx<'_>| {
            tx.record(next.clone());
            let (kind, subject) = ("next".to_owned(), "x".to_owned());
            tx.emit(NewEvent { at: START, kind, subject, body: serde_json::Value::Null });
            Ok(())
        };
        restored.write(work).await.unwrap();
        assert_eq!(events::newest(&restored).await.unwrap(), newest + 1);
        let journal = JournalStore::new(restored.clone()).verify().await.unwrap();
        assert_eq!((journal.entries, journal.fault), (3, None));
        let blobs = target.blobs(&world, &restored);
        let id = blobs.put("more".into()).await.unwrap();
        assert_eq!(blobs.get(&id).await.unwrap(), "more");
        restored.close().await;
    }
}

/// Also to a backup that was made before anybody looked.
async fn a_restored_database_says_so_once(world: World) {
    let look = async |db: &Database| db.write(backup::first_look).await.unwrap();
    assert!(!look(&world.db).await, "it was not restored");
    let (_, file) = create(&source(&world)).await;
    let (first, second) = (Target::like(&world), Target::like(&world));
    first.restore(&file).await.unwrap();
    let restored = first.open().await;
    let (_, file) = create(&source_of(&world, &restored)).await;
    assert!(look(&restored).await && !look(&restored).await);
    restored.close().await;
    second.restore(&file).await.unwrap();
    let restored = second.open().await;
    assert!(look(&restored).await && !look(&restored).await);
    restored.close().await;
}

async fn a_backup_of_an_older_schema_is_restored_and_then_migrated(world: World) {
    let old = Target::like(&world);
    let options = OpenOptions { migrations: &MIGRATIONS[..1], ..old.options.clone() };
    let db = Database::open(options).await.unwrap();
    let first = entry("first");
    let record = move |tx: &mut palyra_storage::Tx<'_>| {
        tx.record(first.clone());
        Ok(())
    };
    db.write(record).await.unwrap();
    let (created, file) = create(&source_of(&world, &db)).await;
    assert_eq!(created.schema, 1);
    for target in [Target::sqlite(), Target::postgres()] {
        assert_eq!(target.restore(&file).await.unwrap().schema, 1);
        let restored = target.open().await;
        assert_eq!(restored.schema().await.unwrap().version, SCHEMA_VERSION);
        let journal = JournalStore::new(restored.clone()).verify().await.unwrap();
        assert_eq!((journal.entries, journal.fault), (1, None));
        restored.close().await;
    }
}

/// The list of tables is written by hand; a table that is not in it would be lost.
async fn the_tables_that_travel_are_those_of_the_catalogue(world: World) {
    const CATALOGUE: Sql = sql!(
        sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        postgres: "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'",
    );
    const TYPES: Sql = sql!(
        sqlite: "SELECT DISTINCT c.type FROM sqlite_schema t, pragma_table_info(t.name) c
            WHERE t.type = 'table' AND t.name <> 'notes' ORDER BY 1",
        postgres: "SELECT DISTINCT CAST(data_type AS TEXT) FROM information_schema.columns
            WHERE table_schema = 'public' AND table_name <> 'notes' ORDER BY 1",
    );
    let named = |row: &palyra_storage::Row<'_>| row.get::<String>(0);
    let mut found = world.db.read(move |tx| tx.query(&CATALOGUE, params![], named)).await.unwrap();
    let staying =
        ["schema_state", "leases", "blob_trash", "commit_marks", "connector_status", "notes"];
    found.retain(|name| !staying.contains(&name.as_str()));
    found.sort_unstable();
    let mut expected = tables();
    expected.sort_unstable();
    assert_eq!(found, expected, "a new table goes to store/tables.rs and to this test");
    let types = world.db.read(move |tx| tx.query(&TYPES, params![], named)).await.unwrap();
    let three: &[&str] = match world.postgres {
        Some(_) => &["bigint", "bytea", "text"],
        None => &["BLOB", "INTEGER", "TEXT"],
    };
    assert_eq!(types, three);
}
