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
    what_had_ended_in_a_table_of_its_own_is_in_the_outbox,
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

/// By its key, so that it is not sent again, in place and out of a backup.
async fn what_had_ended_in_a_table_of_its_own_is_in_the_outbox(world: World) {
    const BEFORE: [Sql; 4] = [
        sql!(
            "INSERT INTO connectors (id, kind, enabled, settings, queue, readiness, stopped_before,
                 version, created_at)
             VALUES ('echo:default', 'echo', 1, '{}', '{}', 'ready', 0, 1, 1)"
        ),
        sql!(
            "INSERT INTO outbox (connector_id, envelope_id, part, conversation, lane_seq, aside,
                 state, attempts, attempt_limit, doubtful, looks, due_at, operation, created_at,
                 changed_at, version)
             VALUES ('echo:default', 'm3', 0, 'c', 0, 0, 'pending', 0, 8, 0, 0, 1, '{}', 1, 3, 0)"
        ),
        sql!(
            "INSERT INTO outbox_history (connector_id, envelope_id, part, conversation, state,
                 native_message_id, attempts, operation, created_at, ended_at)
             VALUES ('echo:default', 'm2', 0, 'c', 'delivered', 'n2', 1, '{}', 1, 2)"
        ),
        sql!(
            "INSERT INTO outbox_history (connector_id, envelope_id, part, conversation, state,
                 native_message_id, attempts, created_at, ended_at)
             VALUES ('echo:default', 'm1', 0, 'c', 'cancelled', NULL, 0, 1, 1)"
        ),
    ];
    const AFTER: Sql = sql!(
        "SELECT envelope_id || ' ' || place || ' ' || state || ' ' || changed_at || ' '
             || coalesce(native_message_id, '-') || ' ' || coalesce(operation, '-')
         FROM outbox ORDER BY envelope_id"
    );
    let rows = async |db: &Database| {
        let named = |row: &palyra_storage::Row<'_>| row.get::<String>(0);
        db.read(move |tx| tx.query(&AFTER, params![], named)).await.unwrap()
    };
    let expected = ["m1 3 cancelled 1 - -", "m2 2 delivered 2 n2 {}", "m3 0 pending 3 - {}"];
    let old = Target::like(&world);
    let options = OpenOptions { migrations: &MIGRATIONS[..6], ..old.options.clone() };
    let db = Database::open(options).await.unwrap();
    let fill = |tx: &mut palyra_storage::Tx<'_>| {
        BEFORE.iter().try_for_each(|sql| tx.execute(sql, params![]).map(drop))
    };
    db.write(fill).await.unwrap();
    let (_, file) = create(&source_of(&world, &db)).await;
    db.close().await;
    let migrated = old.open().await;
    assert_eq!(rows(&migrated).await, expected);
    migrated.close().await;
    for target in [Target::sqlite(), Target::postgres()] {
        assert_eq!(target.restore(&file).await.unwrap().schema, 6);
        let restored = target.open().await;
        assert_eq!(rows(&restored).await, expected);
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
    let staying = [
        "schema_state",
        "leases",
        "blob_trash",
        "commit_marks",
        "connector_status",
        "connector_resume",
        "notes",
    ];
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
