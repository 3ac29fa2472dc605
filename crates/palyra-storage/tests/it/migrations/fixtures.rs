//! Databases as they were left by each released schema, kept in `tests/fixtures`.

use std::path::{Path, PathBuf};

use palyra_common::ids::EventId;
use palyra_common::time::Duration;
use palyra_storage::events::{self, NewEvent};
use palyra_storage::journal::JournalEvent;
use palyra_storage::lease::{LeaseName, Leases};
use palyra_storage::{Database, JournalStore, OpenOptions, SCHEMA_VERSION};
use palyra_testkit::clock::FakeClock;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};

use super::NEXT;
use crate::world::START;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Some rows of each kind, through the API of today.
pub(super) async fn fill(db: &Database) {
    for n in 0..3u128 {
        let entry = JournalEvent {
            id: EventId::from_parts(START, n),
            at: START,
            actor: "operator:anna".into(),
            action: "token.created".into(),
            subject: format!("token:{n}"),
            origin: "cli".into(),
            outcome: "ok".into(),
            detail: "{}".into(),
            content: None,
        };
        let event = NewEvent {
            at: START,
            kind: "token.created".into(),
            subject: format!("token:{n}"),
            body: serde_json::json!({ "n": n.to_string() }),
        };
        db.write(move |tx| {
            tx.emit(event.clone());
            tx.record(entry.clone());
            Ok(())
        })
        .await
        .unwrap();
    }
    let clock = std::sync::Arc::new(FakeClock::new(START));
    let leases = Leases::new(db.clone(), clock, Duration::from_secs(10));
    leases.try_take(&LeaseName::new("retention")).await.unwrap().unwrap();
}

/// What [`fill`] wrote is there, and the database works.
pub(super) async fn check(db: &Database) {
    let page = events::page_after(db, 0, 100).await.unwrap();
    let subjects: Vec<_> = page.events.iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(subjects, ["token:0", "token:1", "token:2"]);
    let verified = JournalStore::new(db.clone()).verify().await.unwrap();
    assert_eq!((verified.entries, verified.fault), (3, None));
}

async fn check_and_use(db: &Database) {
    check(db).await;
    let event = NewEvent {
        at: START,
        kind: "used".into(),
        subject: "new".into(),
        body: serde_json::Value::Null,
    };
    db.write(move |tx| {
        tx.emit(event.clone());
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(events::newest(db).await.unwrap(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_released_sqlite_file_is_migrated() {
    for version in 1..=SCHEMA_VERSION {
        for migrations in [palyra_storage::MIGRATIONS, &NEXT] {
            let data = tempfile::tempdir().unwrap();
            let fixture = folder().join(format!("sqlite-schema-{version}.db"));
            std::fs::copy(&fixture, data.path().join("palyra.db")).unwrap();
            let options = OpenOptions { migrations, ..OpenOptions::in_directory(data.path()) };
            check_and_use(&Database::open(options).await.unwrap()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_released_postgres_database_is_migrated() {
    for version in 1..=SCHEMA_VERSION {
        for migrations in [palyra_storage::MIGRATIONS, &NEXT] {
            let server = PostgresServer::shared().unwrap();
            let database = server.create_database(DatabaseLocale::C).unwrap();
            let dump = folder().join(format!("postgres-schema-{version}.sql"));
            database.psql(&std::fs::read_to_string(dump).unwrap()).unwrap();
            let data = tempfile::tempdir().unwrap();
            let mut options = OpenOptions { migrations, ..OpenOptions::in_directory(data.path()) };
            options.config.url = database.url();
            let db = Database::open(options).await.unwrap();
            check_and_use(&db).await;
            db.close().await;
        }
    }
}

/// Writes the fixtures of the newest schema. Run once when a schema is released:
/// `cargo test -p palyra-storage --all-features --test it -- --ignored write_the_fixtures`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes into the repository"]
async fn write_the_fixtures() {
    let data = tempfile::tempdir().unwrap();
    let db = Database::open(OpenOptions::in_directory(data.path())).await.unwrap();
    fill(&db).await;
    db.close().await;
    let fixture = folder().join(format!("sqlite-schema-{SCHEMA_VERSION}.db"));
    std::fs::copy(data.path().join("palyra.db"), fixture).unwrap();

    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let mut options = OpenOptions::in_directory(data.path());
    options.config.url = database.url();
    let db = Database::open(options).await.unwrap();
    fill(&db).await;
    db.close().await;
    let fixture = folder().join(format!("postgres-schema-{SCHEMA_VERSION}.sql"));
    std::fs::write(fixture, database.dump().unwrap()).unwrap();
}
