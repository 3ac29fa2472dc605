//! Databases as they were left by each released schema, kept in `tests/fixtures`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use palyra_common::ids::EventId;
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::events::{self, NewEvent};
use palyra_storage::journal::{JournalEvent, Verified};
use palyra_storage::lease::{LeaseName, Leases};
use palyra_storage::retention::{Keep, Rule, Sweeper, ground_rules};
use palyra_storage::{
    DATABASE_FILE, Database, JournalStore, OpenOptions, SCHEMA_VERSION, Sql, params, sql,
};
use palyra_testkit::clock::FakeClock;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};

use super::NEXT;
use crate::world::START;

const BLOB: &[u8] = b"what was attached";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The statements that make a Postgres database of a released schema.
pub(super) fn postgres_dump(version: i64) -> String {
    let dump = folder().join(format!("postgres-schema-{version}.sql"));
    std::fs::read_to_string(dump).unwrap()
}

/// A database as it was left by a released schema.
pub(super) struct Released {
    pub(super) options: OpenOptions,
    _folder: tempfile::TempDir,
    _database: Option<TestDatabase>,
}

impl Released {
    pub(super) fn sqlite(version: i64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fixture = self::folder().join(format!("sqlite-schema-{version}.db"));
        std::fs::copy(fixture, folder.path().join(DATABASE_FILE)).unwrap();
        let options = OpenOptions::in_directory(folder.path());
        Self { options, _folder: folder, _database: None }
    }

    pub(super) fn postgres(version: i64) -> Self {
        let server = PostgresServer::shared().unwrap();
        let database = server.create_database(DatabaseLocale::C).unwrap();
        database.psql(&postgres_dump(version)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        options.config.url = database.url().into();
        Self { options, _folder: folder, _database: Some(database) }
    }
}

/// Some rows of each kind, through the API of today: three events, a journal with a pruned, a
/// sealed and an open segment, a lease, and a blob that is held.
pub(crate) async fn fill(db: &Database) {
    let journal = JournalStore::new(db.clone());
    write(db, 0).await;
    assert!(journal.seal(START).await.unwrap());
    prune_sealed(db).await;
    write(db, 1).await;
    assert!(journal.seal(START).await.unwrap());
    write(db, 2).await;

    let id = blobs(db, START).put(Bytes::from_static(BLOB)).await.unwrap();
    db.try_write(move |tx| BlobStore::hold(tx, &id, "message:1", START)).await.unwrap();
    leases(db, START).try_take(&LeaseName::new("retention")).await.unwrap().unwrap();
}

async fn write(db: &Database, n: u128) {
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

/// Prunes what is sealed, however young it is, and nothing else.
async fn prune_sealed(db: &Database) {
    let now = START + Duration::from_secs(1);
    let keep = Keep { age: Duration::from_millis(0), count: i64::MAX };
    let rules = ground_rules(db.engine());
    let journal = rules.into_iter().filter(|rule| rule.table == "journal");
    let rules = journal.map(|rule| Rule { keep, ..rule }).collect();
    let clock = Arc::new(FakeClock::new(now));
    let hour = Duration::from_hours(1);
    let sweeper = Sweeper::new(db.clone(), leases(db, now), clock, rules, hour);
    assert_eq!(sweeper.round().await.unwrap(), [("journal", 1)]);
}

fn leases(db: &Database, now: Timestamp) -> Leases {
    Leases::new(db.clone(), Arc::new(FakeClock::new(now)), Duration::from_secs(10))
}

/// The rows are what a fixture keeps. The objects stay behind.
fn blobs(db: &Database, now: Timestamp) -> BlobStore {
    let objects = Arc::new(object_store::memory::InMemory::new());
    BlobStore::new(db.clone(), Arc::new(FakeClock::new(now)), objects)
}

/// What [`fill`] wrote is there, and the database works.
pub(crate) async fn check(db: &Database) {
    let page = events::page_after(db, 0, 100).await.unwrap();
    let subjects: Vec<_> = page.events.iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(subjects, ["token:0", "token:1", "token:2"]);

    let journal = JournalStore::new(db.clone());
    let expected = Verified { entries: 2, pruned_segments: 1, fault: None };
    assert_eq!(journal.verify().await.unwrap(), expected);
    let segments = journal.segments().await.unwrap();
    let pruned: Vec<_> = segments.iter().map(|segment| segment.pruned_at.is_some()).collect();
    assert_eq!(pruned, [true, false]);

    // It is held: however late it is, it is not collected.
    let blobs = blobs(db, START + Duration::from_days(1_000));
    assert_eq!(blobs.collect(10).await.unwrap(), 0);
    assert_eq!(blobs.size(&BlobId::of(BLOB)).await.unwrap(), Some(BLOB.len() as u64));
    assert_eq!(blobs.totals().await.unwrap(), (1, BLOB.len() as u64));
}

/// Work of each kind goes on from what [`fill`] wrote.
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

    write(db, 3).await;
    let journal = JournalStore::new(db.clone());
    assert!(journal.seal(START).await.unwrap());
    let verified = journal.verify().await.unwrap();
    assert_eq!((verified.entries, verified.fault), (3, None));

    let id = BlobId::of(BLOB);
    db.try_write(move |tx| BlobStore::let_go(tx, &id, "message:1", START)).await.unwrap();
    let blobs = blobs(db, START + Duration::from_days(1_000));
    assert_eq!(blobs.collect(10).await.unwrap(), 1, "nobody else held it");
}

/// Every table and index, as it was made.
pub(super) async fn definitions(db: &Database) -> Vec<String> {
    const ALL: Sql = sql!(
        sqlite: "SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name",
        postgres: "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
            FROM information_schema.columns WHERE table_schema = current_schema()
            UNION ALL SELECT CAST(indexdef AS TEXT) FROM pg_indexes
            WHERE schemaname = current_schema() ORDER BY 1",
    );
    db.read(|tx| tx.query(&ALL, params![], |row| row.get(0))).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_released_sqlite_file_is_migrated() {
    for migrations in [palyra_storage::MIGRATIONS, &NEXT] {
        let new = tempfile::tempdir().unwrap();
        let options = OpenOptions { migrations, ..OpenOptions::in_directory(new.path()) };
        let expected = definitions(&Database::open(options).await.unwrap()).await;
        for version in 1..=SCHEMA_VERSION {
            let old = Released::sqlite(version);
            let options = OpenOptions { migrations, ..old.options.clone() };
            let db = Database::open(options).await.unwrap();
            assert_eq!(definitions(&db).await, expected, "schema {version}");
            check_and_use(&db).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_released_postgres_database_is_migrated() {
    let server = PostgresServer::shared().unwrap();
    for migrations in [palyra_storage::MIGRATIONS, &NEXT] {
        let (new, data) =
            (server.create_database(DatabaseLocale::C).unwrap(), tempfile::tempdir().unwrap());
        let mut options = OpenOptions { migrations, ..OpenOptions::in_directory(data.path()) };
        options.config.url = new.url().into();
        let expected = definitions(&Database::open(options).await.unwrap()).await;
        for version in 1..=SCHEMA_VERSION {
            let old = Released::postgres(version);
            let options = OpenOptions { migrations, ..old.options.clone() };
            let db = Database::open(options).await.unwrap();
            assert_eq!(definitions(&db).await, expected, "schema {version}");
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
    options.config.url = database.url().into();
    let db = Database::open(options).await.unwrap();
    fill(&db).await;
    db.close().await;
    let fixture = folder().join(format!("postgres-schema-{SCHEMA_VERSION}.sql"));
    std::fs::write(fixture, database.dump().unwrap()).unwrap();
}
