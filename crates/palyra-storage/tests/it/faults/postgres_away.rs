//! Postgres stopped and started again under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::{Database, OpenOptions, Param, Tx, params};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, StopMode, TestDatabase};
use tokio::task::JoinSet;

use crate::log;
use crate::world::{ADD, INSERT, World, count, create_notes, insert, value};

struct Shared {
    server: PostgresServer,
    database: TestDatabase,
    folder: tempfile::TempDir,
}

impl Shared {
    fn start() -> Self {
        let server = PostgresServer::start().unwrap();
        let database = server.create_database(DatabaseLocale::C).unwrap();
        Self { server, database, folder: tempfile::tempdir().unwrap() }
    }

    async fn open(&self, retry_for: Duration) -> Database {
        let mut options = OpenOptions::in_directory(self.folder.path());
        options.config.url = self.database.url().into();
        options.config.connections = 4;
        options.config.retry_for = retry_for;
        let db = Database::open(options).await.unwrap();
        create_notes(&db).await.unwrap();
        insert(&db, "sum", 0).await.unwrap();
        db
    }
}

async fn add(db: &Database) -> Result<i64, palyra_storage::StorageError> {
    db.write(|tx| tx.query_one(&ADD, params!["sum", 1i64], |row| row.get(0))).await
}

#[derive(Clone, Copy)]
enum Stop {
    Fast,
    Immediate,
    Kill,
}

/// Whoever is patient enough notices nothing but the delay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_and_return_of_postgres_loses_and_doubles_nothing() {
    let mut shared = Shared::start();
    let db = shared.open(Duration::from_secs(60)).await;
    let (done, stop) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (db, done, stop) = (db.clone(), done.clone(), stop.clone());
        callers.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                add(&db).await.unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for how in [Stop::Fast, Stop::Immediate, Stop::Kill] {
        progress(&done).await;
        match how {
            Stop::Fast => shared.server.stop(StopMode::Fast).unwrap(),
            Stop::Immediate => shared.server.stop(StopMode::Immediate).unwrap(),
            Stop::Kill => shared.server.kill_dash_nine().unwrap(),
        }
        shared.server.start_again().unwrap();
    }
    progress(&done).await;
    stop.store(true, Ordering::Relaxed);
    callers.join_all().await;
    assert_eq!(value(&db, "sum").await, Some(done.load(Ordering::Relaxed)));
}

/// Waits until the callers have done something more.
async fn progress(done: &AtomicI64) {
    let before = done.load(Ordering::Relaxed);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while done.load(Ordering::Relaxed) < before + 20 {
        assert!(std::time::Instant::now() < deadline, "no progress since {before}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Whoever is not gets a typed error, and the next call after the server's return succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absent_postgres_is_told_and_its_return_is_enough() {
    let mut shared = Shared::start();
    let db = shared.open(Duration::from_millis(200)).await;
    let mut news = db.subscribe(palyra_storage::Topic::new("notes"));
    shared.server.stop(StopMode::Fast).unwrap();
    let away = add(&db).await.unwrap_err();
    assert_eq!(away.code(), ErrorCode::StorageUnavailable, "{away:?}");
    let away = db.schema().await.unwrap_err();
    assert_eq!(away.code(), ErrorCode::StorageUnavailable, "{away:?}");
    let mut options = OpenOptions::in_directory(shared.folder.path());
    options.config.url = shared.database.url().into();
    options.config.retry_for = Duration::from_millis(200);
    let away = Database::open(options.clone()).await.unwrap_err();
    assert_eq!(away.code(), ErrorCode::StorageUnavailable, "{away:?}");
    options.config.retry_for = Duration::from_secs(60);
    let patient = tokio::spawn(Database::open(options));
    shared.server.start_again().unwrap();
    patient.await.unwrap().expect("a server that starts late is waited for");
    assert_eq!(add(&db).await.unwrap(), 1);
    // Whoever waits looks again as soon as notices can be heard again.
    let limit = std::time::Duration::from_secs(20);
    tokio::time::timeout(limit, news.changed()).await.expect("woken after the reconnect");
}

/// Also for those who never try twice: a server that was away is tried again by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_patience_goes_on_after_the_return() {
    let mut shared = Shared::start();
    let db = shared.open(Duration::ZERO).await;
    shared.server.stop(StopMode::Fast).unwrap();
    for _ in 0..8 {
        let away = add(&db).await.unwrap_err();
        assert_eq!(away.code(), ErrorCode::StorageUnavailable, "{away:?}");
    }
    shared.server.start_again().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    // All connections, one after the other.
    let mut done = 0;
    while done < 20 {
        match add(&db).await {
            Ok(_) => done += 1,
            Err(error) => {
                assert!(std::time::Instant::now() < deadline, "{error:?}");
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        }
    }
    assert_eq!(value(&db, "sum").await, Some(done));
}

/// One line when it goes, one when it is back, however many connections there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_goes_and_returns_is_logged_once_each() {
    log::keep();
    let mut server = PostgresServer::start().unwrap();
    let world = World::on(server.create_database(DatabaseLocale::C).unwrap()).await;
    let place = server.socket_dir().display().to_string();
    insert(&world.db, "a", 1).await.unwrap();
    assert_eq!(log::about(&place), [""; 0]);
    server.stop(StopMode::Fast).unwrap();
    let (db, reader) = (world.db.clone(), world.db.clone());
    let waiting = tokio::spawn(async move { insert(&db, "b", 1).await });
    let reading = tokio::spawn(async move { count(&reader).await });
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while log::about(&place).is_empty() {
        assert!(std::time::Instant::now() < deadline, "nothing is logged");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    server.start_again().unwrap();
    waiting.await.unwrap().unwrap();
    reading.await.unwrap();
    let lines = log::about(&place);
    let levels: Vec<_> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(levels, ["WARN", "INFO"], "{lines:?}");
}

/// What the server had done of many statements that travel together is undone with its connection,
/// and the unit is run again as a whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_cut_among_many_statements_runs_the_unit_again() {
    const WAITING: &str = "FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let world = World::postgres(DatabaseLocale::C).await;
    let rows = |n: i64| (0..300i64).map(move |id| [Param::Text(id.to_string().into()), n.into()]);
    world.db.write(move |tx| tx.execute_many(&INSERT, rows(0))).await.unwrap();
    let (reached, held) = std::sync::mpsc::channel();
    let (proceed, cut) = std::sync::mpsc::channel();
    let cut = std::sync::Mutex::new(cut);
    let holder = world.db.clone();
    let holding = tokio::spawn(async move {
        let hold = move |tx: &mut Tx<'_>| {
            tx.execute(&ADD, params!["150", 1i64])?;
            reached.send(()).unwrap();
            cut.lock().unwrap().recv().unwrap();
            Ok::<_, palyra_storage::StorageError>(())
        };
        holder.write(hold).await
    });
    held.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
    let (db, runs) = (world.db.clone(), Arc::new(AtomicI64::new(0)));
    let counted = runs.clone();
    let many = tokio::spawn(async move {
        let add = move |tx: &mut Tx<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
            tx.execute_many(&ADD, rows(1))
        };
        db.write(add).await
    });
    let database = world.postgres.as_ref().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while database.psql(&format!("SELECT pg_terminate_backend(pid) {WAITING}")).unwrap().is_empty()
    {
        assert!(std::time::Instant::now() < deadline, "nobody waits for the row");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    proceed.send(()).unwrap();
    holding.await.unwrap().unwrap();
    assert_eq!(many.await.unwrap().unwrap(), [1; 300]);
    assert!(runs.load(Ordering::Relaxed) > 1);
    assert_eq!(value(&world.db, "149").await, Some(1));
    assert_eq!(value(&world.db, "150").await, Some(2));
    assert_eq!(value(&world.db, "299").await, Some(1));
}
