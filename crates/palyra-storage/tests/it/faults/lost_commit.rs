//! A connection cut during COMMIT neither loses nor doubles a unit.

use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::{Database, JournalStore, OpenOptions, params};
use palyra_testkit::postgres::{
    CutKind, CutPlan, CutProxy, DatabaseLocale, PostgresServer, TestDatabase,
};
use palyra_testkit::seed::{Seed, rounds};
use tokio::task::JoinSet;

use crate::world::{ADD, create_notes, insert, value};

struct Cut {
    db: Database,
    proxy: CutProxy,
    _database: TestDatabase,
    _folder: tempfile::TempDir,
}

async fn behind_a_proxy(retry_for: Duration) -> Cut {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let proxy = CutProxy::start(server, CutPlan::Never).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.url = proxy.url(&database).into();
    options.config.connections = 4;
    options.config.retry_for = retry_for;
    let db = Database::open(options).await.unwrap();
    create_notes(&db).await.unwrap();
    insert(&db, "sum", 0).await.unwrap();
    Cut { db, proxy, _database: database, _folder: folder }
}

/// The unit has no key of its own: run twice it counts twice, not run it does not count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_of_the_connection_at_commit_is_settled() {
    let seed = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap();
    let cut = behind_a_proxy(Duration::from_secs(30)).await;
    cut.proxy.set_plan(CutPlan::Random { seed, probability: 0.3 });
    let units = i64::from(rounds(120, 3_000));
    let mut callers = JoinSet::new();
    let gate = Arc::new(tokio::sync::Semaphore::new(16));
    for _ in 0..units {
        let (db, gate) = (cut.db.clone(), gate.clone());
        callers.spawn(async move {
            let _turn = gate.acquire().await.unwrap();
            db.write(|tx| tx.query_one(&ADD, params!["sum", 1i64], |row| row.get::<i64>(0)))
                .await
                .unwrap()
        });
    }
    let mut answers = callers.join_all().await;
    cut.proxy.set_plan(CutPlan::Never);
    let counts = cut.proxy.counts();
    println!("{counts:?}");
    let kinds = [counts.before_forward, counts.after_forward, counts.late_forward];
    assert!(kinds.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(value(&cut.db, "sum").await, Some(units), "lost or doubled: {counts:?}");
    answers.sort_unstable();
    assert_eq!(answers, (1..=units).collect::<Vec<_>>(), "each answer is its own commit's");
    assert_eq!(JournalStore::new(cut.db.clone()).verify().await.unwrap().fault, None);
}

/// A COMMIT that overtakes the question about it would be run a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_of_a_connection_whose_commit_still_travels_is_settled() {
    let cut = behind_a_proxy(Duration::from_secs(30)).await;
    for round in 1..=5 {
        cut.proxy.set_plan(CutPlan::AtCommit { nth: 1, kind: CutKind::LateForward });
        let add = |tx: &mut palyra_storage::Tx<'_>| {
            tx.query_one(&ADD, params!["sum", 1i64], |row| row.get::<i64>(0))
        };
        assert_eq!(cut.db.write(add).await.unwrap(), round);
    }
    let counts = cut.proxy.wait_for_late(std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(counts.late_forward, 5);
    assert_eq!(value(&cut.db, "sum").await, Some(5));
}

/// When nobody can be asked any more, the caller is told that nobody knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_cannot_be_settled_is_told_as_unknown() {
    let mut server = PostgresServer::start().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let proxy = CutProxy::start(&server, CutPlan::Never).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.url = proxy.url(&database).into();
    options.config.retry_for = Duration::from_millis(300);
    let db = Database::open(options).await.unwrap();
    create_notes(&db).await.unwrap();
    insert(&db, "sum", 0).await.unwrap();
    let (reached, wait) = std::sync::mpsc::channel();
    let (proceed, gone) = std::sync::mpsc::channel();
    let gone = std::sync::Mutex::new(gone);
    let writer = db.clone();
    let write = tokio::spawn(async move {
        writer
            .write(move |tx| {
                let sum = tx.query_one(&ADD, params!["sum", 1i64], |row| row.get::<i64>(0));
                reached.send(()).unwrap();
                gone.lock().unwrap().recv().unwrap();
                sum
            })
            .await
    });
    wait.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
    server.kill_dash_nine().unwrap();
    proceed.send(()).unwrap();
    let unknown = write.await.unwrap().unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::StorageCommitUnknown, "{unknown:?}");
    assert!(!unknown.code().retryable());
}
