//! A backup that is made while 64 writers write and retention wants to work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::backup::{self, Source};
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::lease::LeaseName;
use palyra_storage::retention::{Keep, Rule, Sweeper, ground_rules};
use palyra_storage::{Database, JournalStore, Sql, params, sql};
use tokio::task::JoinSet;

use super::contents::entry;
use super::{Target, create, files, source, unwatched, verify};
use crate::world::{START, World, on_every_engine};

const WRITERS: usize = 64;
/// Two rows in two tables that every unit changes alike: one state has them alike.
const MAKE: [Sql; 2] = [
    sql!("INSERT INTO counters (name, value) VALUES ('pair', 0)"),
    sql!(
        "INSERT INTO principals (id, role, created_at, disabled_at) VALUES ('pair', 'viewer', 0, NULL)"
    ),
];
const ADD: [Sql; 2] = [
    sql!("UPDATE counters SET value = value + 1 WHERE name = 'pair'"),
    sql!("UPDATE principals SET created_at = created_at + 1 WHERE id = 'pair'"),
];
const PAIR: Sql =
    sql!("SELECT value, created_at FROM counters, principals WHERE name = 'pair' AND id = 'pair'");
const HELD: Sql = sql!("SELECT sha256 FROM blob_references ORDER BY sha256");

on_every_engine!(
    one_state_is_backed_up_while_everybody_writes,
    nothing_is_collected_while_a_backup_is_made,
    a_sweeper_that_lost_its_lease_claims_no_blob,
    a_backup_that_nobody_waits_for_ends_and_lets_retention_work,
    a_backup_ends_with_its_database,
    a_file_has_its_name_when_it_is_whole,
);

/// One unit of a writer: the pair, a journal entry, and now and then a blob.
async fn write(db: &Database, blobs: &BlobStore, writer: usize, n: usize) {
    let blob = match n % 4 {
        0 => Some(blobs.put(format!("blob {writer} {n}").into()).await.unwrap()),
        _ => None,
    };
    let recorded = entry("written");
    let unit = move |tx: &mut palyra_storage::Tx<'_>| {
        ADD.iter().try_for_each(|sql| tx.execute(sql, params![]).map(drop))?;
        if let Some(id) = &blob {
            BlobStore::hold(tx, id, "writer", START)?;
        }
        tx.record(recorded.clone());
        Ok::<_, palyra_storage::blob::BlobError>(())
    };
    db.try_write(unit).await.unwrap();
}

async fn one_state_is_backed_up_while_everybody_writes(world: World) {
    let source = source(&world);
    let Source { db, blobs, .. } = &source;
    db.write(|tx| MAKE.iter().try_for_each(|sql| tx.execute(sql, params![]).map(drop)))
        .await
        .unwrap();
    let (stop, units) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (db, blobs, stop, units) = (db.clone(), blobs.clone(), stop.clone(), units.clone());
        writers.spawn(async move {
            for n in 0.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                write(&db, &blobs, writer, n).await;
                units.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    let written = |at_least| {
        let units = units.clone();
        async move {
            while units.load(Ordering::SeqCst) < at_least {
                tokio::task::yield_now().await;
            }
        }
    };
    written(200).await;
    let before = units.load(Ordering::SeqCst);
    let mut backups = Vec::new();
    for _ in 0..3 {
        backups.push(create(&source).await.1);
    }
    // Writers went on meanwhile.
    written(before + 1).await;
    stop.store(true, Ordering::SeqCst);
    writers.join_all().await;
    let mut last = before - 1;
    for file in backups {
        last = check_state(&world, &file, last).await;
    }
}

/// The restored state is whole, and not older than `before` units. Returns its age in units.
async fn check_state(world: &World, file: &[u8], before: i64) -> i64 {
    let verified = verify(file).unwrap();
    assert_eq!((verified.missing.count, &verified.journal.fault), (0, &None));
    let target = Target::like(world);
    target.restore(file).await.unwrap();
    let db = target.open().await;
    let (one, other): (i64, i64) = db
        .read(|tx| tx.query_one(&PAIR, params![], |row| Ok((row.get(0)?, row.get(1)?))))
        .await
        .unwrap();
    assert_eq!(one, other, "two states were mixed");
    assert!(one > before, "{one} units after {before}");
    let journal = JournalStore::new(db.clone()).verify().await.unwrap();
    assert_eq!((journal.entries as i64, journal.fault), (one, None));
    let held: Vec<String> =
        db.read(|tx| tx.query(&HELD, params![], |row| row.get(0))).await.unwrap();
    assert!(!held.is_empty());
    let blobs = target.blobs(world, &db);
    for id in held {
        blobs.get(&id.parse().unwrap()).await.unwrap();
    }
    db.close().await;
    one
}

/// A place that lets the test work when the first byte of the backup comes.
#[derive(Debug)]
struct Gate {
    reached: Option<tokio::sync::oneshot::Sender<()>>,
    open: std::sync::mpsc::Receiver<()>,
    file: Vec<u8>,
}

impl std::io::Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(reached) = self.reached.take() {
            reached.send(()).unwrap();
            // Whoever holds the other end has gone away or says go on.
            let _ = self.open.recv();
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

type Go = std::sync::mpsc::Sender<()>;

fn gate() -> (Gate, tokio::sync::oneshot::Receiver<()>, Go) {
    let (reached, when_reached) = tokio::sync::oneshot::channel();
    let (go, open) = std::sync::mpsc::channel();
    (Gate { reached: Some(reached), open, file: Vec::new() }, when_reached, go)
}

fn sweeper(world: &World, db: &Database, blobs: &BlobStore) -> Sweeper {
    let (leases, rules) = (world.leases(db), ground_rules(db.engine()));
    let every = Duration::from_mins(10);
    Sweeper::new(db.clone(), leases, world.clock(), rules, every).with_blobs(blobs.clone())
}

async fn nothing_is_collected_while_a_backup_is_made(world: World) {
    let source = source(&world);
    let Source { db, blobs, .. } = &source;
    // Nobody has held the blob for two days.
    world.clock.set(START - Duration::from_days(2));
    let id = blobs.put("forgotten".into()).await.unwrap();
    world.clock.set(START);
    let (out, reached, go) = gate();
    let making = {
        let source = source.clone();
        tokio::spawn(async move { backup::create(&source, out, unwatched()).await })
    };
    reached.await.unwrap();
    // The backup has seen its row.
    assert_eq!(sweeper(&world, db, blobs).round().await.unwrap(), []);
    if let Some(other) = world.second_node().await {
        assert_eq!(sweeper(&world, &other, blobs).round().await.unwrap(), []);
    }
    go.send(()).unwrap();
    let (created, out) = making.await.unwrap().unwrap();
    assert_eq!((created.content.blobs, created.missing.count), (1, 0));
    verify(&out.file).unwrap();
    // Afterwards retention works again.
    sweeper(&world, db, blobs).round().await.unwrap();
    assert_eq!(blobs.get(&id).await.unwrap_err().code(), ErrorCode::BlobNotFound);
}

/// One that slept until a backup had the lease.
async fn a_sweeper_that_lost_its_lease_claims_no_blob(world: World) {
    const LOSE: Sql = sql!("UPDATE leases SET token = token + 1 WHERE name = 'retention'");
    let Source { db, blobs, leases, .. } = source(&world);
    let id = blobs.put("forgotten".into()).await.unwrap();
    world.clock.advance(Duration::from_days(2));
    let rule = Rule {
        table: "leases",
        keep: Keep { age: Duration::from_days(7), count: i64::MAX },
        step: |tx, _| tx.execute(&LOSE, params![]).map(|_| 0),
    };
    let every = Duration::from_mins(10);
    let sweeper = Sweeper::new(db, leases, world.clock(), vec![rule], every);
    let refused = sweeper.with_blobs(blobs.clone()).round().await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageStaleLease, "{refused:?}");
    assert_eq!(blobs.get(&id).await.unwrap(), "forgotten");
}

async fn a_backup_that_nobody_waits_for_ends_and_lets_retention_work(world: World) {
    let source = source(&world);
    let (out, reached, go) = gate();
    let making = {
        let source = source.clone();
        tokio::spawn(async move { backup::create(&source, out, unwatched()).await })
    };
    reached.await.unwrap();
    making.abort();
    assert!(making.await.unwrap_err().is_cancelled());
    drop(go);
    // Renewals find a lease that nobody knows of, twice, and give it back.
    for _ in 0..2 {
        source.leases.renew().await.unwrap();
    }
    let name = LeaseName::new("retention");
    assert_eq!(source.leases.holder(&name).await.unwrap(), None);
}

async fn a_backup_ends_with_its_database(world: World) {
    let source = source(&world);
    let (out, reached, go) = gate();
    let making = {
        let source = source.clone();
        tokio::spawn(async move { backup::create(&source, out, unwatched()).await })
    };
    reached.await.unwrap();
    world.db.close().await;
    go.send(()).unwrap();
    let refused = making.await.unwrap().map(drop).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageShuttingDown, "{refused:?}");
}

async fn a_file_has_its_name_when_it_is_whole(world: World) {
    let source = source(&world);
    source.blobs.put("content".into()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palyra.backup");
    let created = backup::create_file(&source, &path, unwatched()).await.unwrap();
    assert_eq!(files(folder.path()), ["palyra.backup"]);
    let file = std::fs::read(&path).unwrap();
    assert_eq!(file.len() as u64, created.file_bytes);
    assert_eq!(verify(&file).unwrap().content, created.content);
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    backup::create_file(&source, &path, unwatched()).await.unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), file, "a file was overwritten");
    let nowhere = folder.path().join("none/palyra.backup");
    backup::create_file(&source, &nowhere, unwatched()).await.unwrap_err();
    let id = BlobId::of(b"content");
    assert_eq!(source.blobs.get(&id).await.unwrap(), "content");
}
