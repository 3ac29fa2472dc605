//! The process that is killed: concurrent writers under one lease.

use std::sync::Arc;
use std::time::Duration;

use palyra_common::error::ErrorCode;
use palyra_storage::events::NewEvent;
use palyra_storage::journal::JournalEvent;
use palyra_storage::lease::{Lease, LeaseName, Leases};
use palyra_storage::{
    Database, OpenOptions, Sql, StorageError, SystemClock, new_id, params, sql, text,
};
use palyra_testkit::process::is_reexecuted;
use tokio::task::JoinSet;

use crate::world::START;

pub(super) const LEASE_NAME: &str = "writer";
pub(super) const LEASE: Duration = Duration::from_millis(1_000);
const WRITERS: usize = 8;
/// A writer refuses what it has written every so many turns.
const REFUSES_EVERY: u64 = 10;
/// Tells a writer never to give the lease back: it prolongs it until it is taken away.
pub(super) const KEEP_VARIABLE: &str = "PALYRA_TEST_KEEP_LEASE";
/// Between the writes of a keeper, so that it is mostly stopped outside of a transaction: the
/// locks of a transaction that stands still go only when the server loses its patience.
const PAUSE: Duration = Duration::from_millis(100);

const CREATE_COMMITS: Sql = sql!(
    sqlite: "CREATE TABLE commits (id TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL,
        token INTEGER NOT NULL) STRICT",
    postgres: "CREATE TABLE commits (id TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL,
        token BIGINT NOT NULL)",
);
const CREATE_SUM: Sql = sql!("INSERT INTO notes (id, n) VALUES ('sum', 0)");
const COMMIT: Sql = sql!("INSERT INTO commits (id, owner, token) VALUES ($1, $2, $3)");
const ADD: Sql = sql!("UPDATE notes SET n = n + 1 WHERE id = 'sum'");

pub(super) async fn create_tables(db: &Database) {
    db.write(|tx| {
        tx.execute(&CREATE_COMMITS, params![])?;
        tx.execute(&CREATE_SUM, params![]).map(drop)
    })
    .await
    .unwrap();
}

/// Takes the lease when it can, and writes under it from several tasks at once, telling of each
/// write that was acknowledged. Never ends by itself, but for a bound of time.
#[test]
#[ignore = "started by another test"]
fn write_until_killed() {
    if !is_reexecuted() {
        return;
    }
    let mut options = OpenOptions::in_directory(std::env::var_os("PALYRA_DATA_DIR").unwrap());
    options.config.url = std::env::var("PALYRA_STORAGE_URL").unwrap().into();
    options.config.connections = 4;
    // A stopped node may hold locks for as long as the server lets it.
    options.config.retry_for = palyra_common::time::Duration::from_mins(2);
    let keeps = std::env::var_os(KEEP_VARIABLE).is_some();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let work = async {
        let db = Database::open(options).await.unwrap();
        let ttl = palyra_common::time::Duration::from_millis(LEASE.as_millis() as u64);
        let leases = Leases::new(db.clone(), Arc::new(SystemClock), ttl);
        println!("node {}", db.incarnation());
        loop {
            match leases.try_take(&LeaseName::new(LEASE_NAME)).await.unwrap() {
                Some(lease) if keeps => keep(&db, &leases, lease).await,
                Some(lease) => hold(&db, &leases, lease).await,
                None => {}
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let bound = Duration::from_secs(600);
    let _: Result<(), _> = runtime.block_on(async { tokio::time::timeout(bound, work).await });
}

/// Writes until the lease is lost or, so that others get a turn, for a while.
async fn hold(db: &Database, leases: &Leases, lease: Lease) {
    let deadline = tokio::time::Instant::now() + LEASE;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (db, lease) = (db.clone(), lease.clone());
        writers.spawn(async move {
            for turn in 1_u64.. {
                if tokio::time::Instant::now() >= deadline {
                    return;
                }
                if turn.is_multiple_of(REFUSES_EVERY) {
                    refuse_late(&db, &lease).await;
                }
                let id = new_id::<palyra_common::ids::EventId>().to_string();
                match write(&db, &lease, id.clone()).await {
                    Ok(()) => println!("ack {id}"),
                    Err(error) if error.code() == ErrorCode::StorageStaleLease => {
                        println!("stale {}", lease.token());
                        return;
                    }
                    Err(error) => panic!("{error:?}"),
                }
            }
        });
    }
    writers.join_all().await;
    leases.release(lease).await.unwrap();
}

/// Writes and then refuses, beside others whose writes are kept.
async fn refuse_late(db: &Database, lease: &Lease) {
    let lease = lease.clone();
    let refused: Result<(), StorageError> = db
        .write(move |tx| {
            lease.fence(tx)?;
            tx.execute(&ADD, params![])?;
            Err(StorageError::InvalidValue { what: "refused after all".into() })
        })
        .await;
    refused.unwrap_err();
}

/// Writes and prolongs the lease until it is somebody else's.
async fn keep(db: &Database, leases: &Leases, lease: Lease) {
    loop {
        let id = new_id::<palyra_common::ids::EventId>().to_string();
        match write(db, &lease, id.clone()).await {
            Ok(()) => println!("ack {id}"),
            Err(error) if error.code() == ErrorCode::StorageStaleLease => {
                return println!("stale {}", lease.token());
            }
            Err(error) => panic!("{error:?}"),
        }
        leases.renew().await.unwrap();
        tokio::time::sleep(PAUSE).await;
    }
}

async fn write(db: &Database, lease: &Lease, id: String) -> Result<(), StorageError> {
    let (lease, owner) = (lease.clone(), db.incarnation());
    let entry = JournalEvent {
        id: id.parse().unwrap(),
        at: START,
        actor: owner.to_string(),
        action: "commit".into(),
        subject: id.clone(),
        origin: "test".into(),
        outcome: "ok".into(),
        detail: "{}".into(),
        content: None,
    };
    db.write(move |tx| {
        lease.fence(tx)?;
        tx.execute(&COMMIT, params![&id, text(owner), lease.token()])?;
        tx.execute(&ADD, params![])?;
        tx.emit(NewEvent {
            at: START,
            kind: "commit".into(),
            subject: id.clone(),
            body: lease.token().into(),
        });
        tx.record(entry.clone());
        Ok(())
    })
    .await
}
