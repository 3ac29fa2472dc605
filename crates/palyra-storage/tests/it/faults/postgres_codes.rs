//! What the codes of Postgres become.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::{Database, Sql, Tx, params, sql};
use palyra_testkit::postgres::{DatabaseLocale, TestDatabase};

use crate::world::{INSERT, World, count};

const FAIL: Sql = sql!("SELECT fail($1)");
const CREATE_FAIL: &str = "CREATE FUNCTION fail(code TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION E'two\\nlines' USING ERRCODE = code, DETAIL = 'geheim', HINT = 'geheim',
            TABLE = 'notes', CONSTRAINT = 'notes_rule';
    END $$";

async fn failing() -> World {
    let world = World::postgres(DatabaseLocale::C).await;
    world.postgres.as_ref().unwrap().psql(CREATE_FAIL).unwrap();
    world
}

fn fail(tx: &mut Tx<'_>, code: &str) -> Result<i64, palyra_storage::StorageError> {
    tx.query_one(&FAIL, params![code], |row| row.get(0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_is_told_as_what_it_is() {
    let world = failing().await;
    let mut options = world.options.clone();
    options.config.retry_for = Duration::from_millis(1);
    let db = Database::open(options).await.unwrap();
    for (state, expected) in [
        ("XX000", ErrorCode::StorageInternal),
        ("XX001", ErrorCode::StorageCorrupt),
        ("XX002", ErrorCode::StorageCorrupt),
        ("57014", ErrorCode::StorageBusy),
        ("40001", ErrorCode::StorageBusy),
        ("23514", ErrorCode::StorageConstraint),
        ("22003", ErrorCode::StorageInvalidValue),
        ("53100", ErrorCode::StorageDiskFull),
        ("25006", ErrorCode::StorageReadOnly),
    ] {
        let told = db.write(move |tx| fail(tx, state)).await.unwrap_err();
        assert_eq!(told.code(), expected, "{state}: {told:?}");
        let printed = format!("{} {told:?}", told.envelope().message());
        assert!(!printed.contains("geheim"), "{printed}");
        let cause = format!("ERROR: two lines ({state}, table notes, constraint notes_rule)");
        assert!(told.envelope().message().ends_with(&cause), "{printed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_took_too_long_is_run_again() {
    let world = failing().await;
    for state in ["57014", "25P03", "25P04"] {
        let runs = Arc::new(AtomicU32::new(0));
        let counted = runs.clone();
        let write = move |tx: &mut Tx<'_>| match counted.fetch_add(1, Ordering::Relaxed) {
            0 => fail(tx, state),
            _ => Ok(7),
        };
        assert_eq!(world.db.write(write).await.unwrap(), 7, "{state}");
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{state}");
    }
}

/// Until the server has ended a session that waits for its program.
fn until_ended(database: &TestDatabase, session: i64) {
    let left = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {session}");
    let deadline = Instant::now() + std::time::Duration::from_secs(60);
    while database.psql(&left).unwrap() != "0" {
        assert!(Instant::now() < deadline, "the session stays");
    }
}

/// As when the process was stopped, or its machine slept, in the middle of a transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_the_server_has_ended_is_run_again() {
    const SESSION: Sql = sql!("SELECT pg_backend_pid()::BIGINT");
    const IMPATIENT: Sql = sql!("SET LOCAL idle_in_transaction_session_timeout = '50ms'");
    let mut world = World::postgres(DatabaseLocale::C).await;
    let database = Arc::new(world.postgres.take().unwrap());
    let watched = database.clone();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.execute(&INSERT, params!["once", 1_i64])?;
        if counted.fetch_add(1, Ordering::Relaxed) == 0 {
            let session: i64 = tx.query_one(&SESSION, params![], |row| row.get(0))?;
            tx.execute(&IMPATIENT, params![])?;
            until_ended(&watched, session);
        }
        tx.execute(&INSERT, params!["twice", 2_i64])
    };
    assert_eq!(world.db.write(write).await.unwrap(), 1);
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(count(&world.db).await, 2);
}
