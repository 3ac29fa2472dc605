//! A file that was changed or cut anywhere is refused, by the check and by the restore.

use palyra_common::error::ErrorCode;
use palyra_storage::backup::Source;
use palyra_storage::{Sql, params, sql};
use palyra_testkit::seed::Seed;

use super::contents::{entry, fill};
use super::{Target, check_code, create, source, verify};
use crate::world::World;

async fn check_refused(file: &[u8], what: &str) {
    let refused = verify(file).expect_err(what);
    assert_eq!(refused.code(), ErrorCode::BackupInvalid, "{what}: {refused:?}");
    let target = Target::sqlite();
    let refused = target.restore(file).await.expect_err(what);
    assert_eq!(refused.code(), ErrorCode::BackupInvalid, "{what}: {refused:?}");
    assert!(target.is_empty(), "{what}: something was left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_flipped_bit_and_any_cut_is_refused() {
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let world = World::sqlite().await;
    let source = source(&world);
    source.blobs.put("content".into()).await.unwrap();
    let recorded = entry("recorded");
    let record = move |tx: &mut palyra_storage::Tx<'_>| {
        tx.record(recorded.clone());
        Ok(())
    };
    source.db.write(record).await.unwrap();
    let (_, file) = create(&source).await;
    verify(&file).unwrap();
    let length = file.len() as u64;
    // The ends, where formats have their loopholes, and anywhere.
    let mut places: Vec<u64> = (0..12).chain(length - 110..length).collect();
    places.extend((0..60).map(|_| rng.within(0..length)));
    for at in places {
        let mut flipped = file.clone();
        flipped[at as usize] ^= 1 << rng.within(0..8);
        check_refused(&flipped, &format!("a bit of byte {at} was flipped")).await;
        check_refused(&file[..at as usize], &format!("cut at {at}")).await;
    }
    check_refused(&[&file[..], b"x"].concat(), "something follows").await;
    check_refused(b"", "an empty file").await;
    check_refused(b"SQLite format 3\0 and so on", "a database").await;
    // By hand it would meet the log of the one that was there.
    let database = [&b"SQLite format 3\0"[..], &[0; 4096]].concat();
    let told = verify(&database).unwrap_err().to_string();
    assert!(told.ends_with("go back to it with `palyra backup restore`"), "{told}");
}

/// A backup on Postgres is refused as late as one on SQLite, and leaves as little.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_end_leaves_postgres_empty() {
    let world = World::sqlite().await;
    let Source { db, blobs, .. } = source(&world);
    fill(&db, &blobs).await;
    let (_, file) = create(&source(&world)).await;
    let mut flipped = file.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let target = Target::postgres();
    check_code(&target.restore(&flipped).await.unwrap_err(), ErrorCode::BackupInvalid);
    assert!(target.is_empty(), "objects were left");
    target.restore(&file).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_audit_chain_is_told_and_does_not_hold_data_hostage() {
    const CHANGE: Sql = sql!("UPDATE journal SET actor = 'nobody' WHERE seq = 2");
    let world = World::sqlite().await;
    let Source { db, blobs, .. } = source(&world);
    fill(&db, &blobs).await;
    db.write(|tx| tx.execute(&CHANGE, params![])).await.unwrap();
    let (_, file) = create(&source(&world)).await;
    check_code(&verify(&file).unwrap_err(), ErrorCode::JournalBrokenChain);
    let restored = Target::sqlite().restore(&file).await.unwrap();
    assert_eq!(restored.journal.fault.unwrap().seq, 2);
}
