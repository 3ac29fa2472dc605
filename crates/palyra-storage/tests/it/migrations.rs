//! Every schema that was ever released can be opened, migrated, and the migration interrupted.

mod at_once;
pub(crate) mod fixtures;
mod interrupted;
mod lanes;
mod names;

use std::sync::LazyLock;

use palyra_common::error::ErrorCode;
use palyra_storage::{
    Database, MIGRATIONS, Migration, OpenOptions, SCHEMA_VERSION, SchemaState, Sql, params, sql,
};

use crate::world::{World, on_every_engine};

/// The released schemas and one that might come next: it adds a column, fills it and indexes it.
pub(crate) static NEXT: LazyLock<Vec<Migration>> = LazyLock::new(|| {
    let mut steps = MIGRATIONS.to_vec();
    steps.push(Migration {
        version: SCHEMA_VERSION + 1,
        name: "next",
        oldest_binary: SCHEMA_VERSION,
        text: "ALTER TABLE events ADD COLUMN weight {int};
               UPDATE events SET weight = 1;
               CREATE INDEX events_by_weight ON events (weight);",
    });
    steps
});

const WEIGHT: Sql = sql!("SELECT count(*), CAST(coalesce(sum(weight), 0) AS BIGINT) FROM events");

async fn weight(db: &Database) -> (i64, i64) {
    db.read(|tx| tx.query_one(&WEIGHT, params![], |row| Ok((row.get(0)?, row.get(1)?))))
        .await
        .unwrap()
}

on_every_engine!(
    a_schema_of_a_newer_program_is_refused,
    a_migration_that_fails_leaves_the_old_schema,
    a_migration_keeps_what_was_there,
);

async fn set_schema(world: &World, version: i64, oldest_binary: i64) {
    const SET: Sql = sql!("UPDATE schema_state SET version = $1, oldest_binary = $2");
    let set =
        move |tx: &mut palyra_storage::Tx<'_>| tx.execute(&SET, params![version, oldest_binary]);
    assert_eq!(world.db.write(set).await.unwrap(), 1);
}

async fn a_schema_of_a_newer_program_is_refused(world: World) {
    set_schema(&world, 99, 99).await;
    world.db.close().await;
    let refused = Database::open(world.options.clone()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageNewerSchema);
    let told = refused.envelope();
    assert!(told.message().contains("99"), "{told}");
    assert!(!told.recovery_hint().contains("beside"), "{}", told.recovery_hint());
    // Of a server nothing is examined before the start.
    if world.options.config.url.is_empty() {
        let examined = Database::examine(&world.options).unwrap_err();
        assert_eq!(examined.code(), ErrorCode::StorageNewerSchema);
    }
}

async fn a_migration_that_fails_leaves_the_old_schema(world: World) {
    static BROKEN: LazyLock<Vec<Migration>> = LazyLock::new(|| {
        let mut steps = NEXT.clone();
        let text = "CREATE TABLE half (a {int}); INSERT nowhere VALUS (1);\nSELECT 1;";
        steps.push(Migration {
            version: SCHEMA_VERSION + 2,
            name: "broken",
            oldest_binary: SCHEMA_VERSION,
            text,
        });
        steps
    });
    world.db.close().await;
    let options = OpenOptions { migrations: &BROKEN, ..world.options.clone() };
    for _ in 0..2 {
        let failed = Database::open(options.clone()).await.unwrap_err();
        assert_eq!(failed.code(), ErrorCode::StorageMigrationFailed, "{failed:?}");
        let told = failed.envelope().message().to_owned();
        assert!(told.contains("nowhere") && !told.contains("CREATE"), "{told}");
        assert!(!told.contains('\n') && !told.contains("internal"), "{told}");
    }
    let good = OpenOptions { migrations: &NEXT, ..world.options.clone() };
    let db = Database::open(good).await.unwrap();
    assert_eq!(
        db.schema().await.unwrap(),
        SchemaState { version: SCHEMA_VERSION + 1, oldest_binary: SCHEMA_VERSION }
    );
}

async fn a_migration_keeps_what_was_there(world: World) {
    fixtures::fill(&world.db).await;
    world.db.close().await;
    let db =
        Database::open(OpenOptions { migrations: &NEXT, ..world.options.clone() }).await.unwrap();
    fixtures::check(&db).await;
    assert_eq!(weight(&db).await, (3, 3));
    db.close().await;
    let again = Database::open(world.options.clone()).await;
    if world.postgres.is_some() {
        // The next schema allows programs that know only this one.
        fixtures::check(&again.unwrap()).await;
    } else {
        let refused = again.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::StorageNewerSchema);
        // The copy that was kept is the old database, whole, and the message says where it is.
        let copy = world.folder.path().join(format!("palyra.db.schema-{SCHEMA_VERSION}.copy"));
        let told = refused.envelope();
        let (folder, name) = (world.folder.path().display(), copy.display());
        let command = format!("`palyra --data-dir {folder} backup restore {name}`");
        assert!(told.message().contains(&command), "{told}");
        let older = tempfile::tempdir().unwrap();
        std::fs::rename(copy, older.path().join("palyra.db")).unwrap();
        let db = Database::open(OpenOptions::in_directory(older.path())).await.unwrap();
        fixtures::check(&db).await;
    }
}
