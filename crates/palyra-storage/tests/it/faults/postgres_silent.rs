//! A Postgres that is there and does not answer, or answers only to readers.

use std::os::unix::net::UnixListener;
use std::time::Duration;

use palyra_common::error::ErrorCode;
use palyra_storage::lease::{LeaseKeeper, Leases, NodeState};
use palyra_storage::{Database, OpenOptions};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};

use crate::world::{World, count, insert};

const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_never_greets_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let _mute = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.url =
        format!("postgres://anna@/x?host={}&port=5432", folder.path().display()).into();
    options.config.retry_for = palyra_common::time::Duration::from_secs(1);
    let opened = tokio::time::timeout(LIMIT, Database::open(options)).await;
    let refused = opened.expect("opening waits for ever").unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageUnavailable, "{refused:?}");
}

/// Stops or continues the server's processes that serve our connections.
fn signal(world: &World, signal: rustix::process::Signal) {
    let ours = "SELECT pid FROM pg_stat_activity WHERE application_name = 'palyrad'
        AND datname = current_database()";
    for line in world.postgres.as_ref().unwrap().psql(ours).unwrap().lines() {
        let id = rustix::process::Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_freezes_is_noticed_by_the_keeper() {
    let server = PostgresServer::start().unwrap();
    let world = World::on(server.create_database(DatabaseLocale::C).unwrap()).await;
    let ttl = palyra_common::time::Duration::from_millis(600);
    let leases = Leases::new(world.db.clone(), world.clock(), ttl);
    let (keeper, mut handle) = LeaseKeeper::new(world.db.clone(), leases);
    let running = tokio::spawn(keeper.run(std::future::pending()));
    insert(&world.db, "a", 1).await.unwrap();
    signal(&world, rustix::process::Signal::STOP);
    let failing =
        async { while !matches!(handle.changed().await, Some(NodeState::Failing { .. })) {} };
    tokio::time::timeout(LIMIT, failing).await.expect("the keeper never noticed");
    signal(&world, rustix::process::Signal::CONT);
    let healthy = async { while handle.changed().await != Some(NodeState::Healthy) {} };
    tokio::time::timeout(LIMIT, healthy).await.expect("the keeper never recovered");
    running.abort();
    insert(&world.db, "b", 1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_only_allows_reading_is_read() {
    let world = World::postgres(DatabaseLocale::C).await;
    let database = world.postgres.as_ref().unwrap();
    let only = format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name());
    database.psql(&only).unwrap();
    let ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'palyrad'";
    database.psql(ours).unwrap();
    assert_eq!(count(&world.db).await, 0);
    let refused = insert(&world.db, "a", 1).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageReadOnly, "{refused:?}");
}

/// Rows of connections that were idle for days are swept; the connection makes a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_connection_whose_mark_was_swept_goes_on() {
    let world = World::postgres(DatabaseLocale::C).await;
    insert(&world.db, "a", 1).await.unwrap();
    world.postgres.as_ref().unwrap().psql("DELETE FROM commit_marks").unwrap();
    for id in ["b", "c", "d", "e", "f"] {
        insert(&world.db, id, 1).await.unwrap();
    }
    assert_eq!(count(&world.db).await, 6);
    world.db.close().await;
    let left = world.postgres.as_ref().unwrap().psql("SELECT count(*) FROM commit_marks");
    assert_eq!(left.unwrap(), "0", "an orderly end leaves no mark behind");
}
