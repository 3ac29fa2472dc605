//! Where a restore does not begin, and what a backup says that could not have everything.

use palyra_common::error::ErrorCode;
use palyra_storage::backup::{self, Source};
use palyra_storage::blob::BlobId;
use palyra_storage::lease::LeaseName;
use palyra_storage::{Database, OpenOptions, SCHEMA_VERSION, Sql, params, sql};
use palyra_testkit::fs::SmallDisk;

use super::contents::{everything, fill};
use super::{Target, check_code, create, files, source, unwatched, verify};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_place_with_data_is_refused_and_not_touched,
    a_newer_schema_is_refused,
    a_missing_or_damaged_blob_is_told_by_name,
    a_backup_that_lost_its_lease_is_none,
);

async fn a_place_with_data_is_refused_and_not_touched(world: World) {
    let Source { db, blobs, .. } = source(&world);
    fill(&db, &blobs).await;
    let (_, file) = create(&source(&world)).await;
    let target = Target::like(&world);
    let running = target.open().await;
    let before = everything(&running).await;
    let code = match world.postgres {
        Some(_) => ErrorCode::BackupTargetInUse,
        None => ErrorCode::StorageLocked,
    };
    check_code(&target.restore(&file).await.unwrap_err(), code);
    running.close().await;
    let there = files(target.folder.path());
    let refused = target.restore(&file).await.unwrap_err();
    check_code(&refused, ErrorCode::BackupTargetInUse);
    assert_eq!(files(target.folder.path()), there);
    assert_eq!(everything(&target.open().await).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blobs_without_a_database_are_data_too() {
    let world = World::sqlite().await;
    let (_, file) = create(&source(&world)).await;
    let target = Target::sqlite();
    let blob = target.folder.path().join("blobs/aa/something");
    std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
    std::fs::write(&blob, "precious").unwrap();
    let refused = target.restore(&file).await.unwrap_err();
    check_code(&refused, ErrorCode::BackupTargetInUse);
    let folder = target.folder.path().join("blobs");
    assert_eq!(refused.to_string(), format!("{} holds data already", folder.display()));
    assert_eq!(std::fs::read(&blob).unwrap(), b"precious");
}

async fn a_newer_schema_is_refused(world: World) {
    const NEWER: Sql = sql!("UPDATE schema_state SET version = version + 1");
    let (_, file) = create(&source(&world)).await;
    // What an older program says to it.
    let target = Target::like(&world);
    let older = OpenOptions {
        migrations: &palyra_storage::MIGRATIONS[..SCHEMA_VERSION as usize - 1],
        ..target.options.clone()
    };
    let refused =
        backup::restore(std::io::Cursor::new(file), older, unwatched()).await.unwrap_err();
    check_code(&refused, ErrorCode::StorageNewerSchema);
    assert!(target.is_empty());
    // A newer node has migrated the database under our hands.
    world.db.write(|tx| tx.execute(&NEWER, params![])).await.unwrap();
    let refused = backup::create(&source(&world), Vec::new(), unwatched()).await.unwrap_err();
    check_code(&refused, ErrorCode::StorageNewerSchema);
}

async fn a_missing_or_damaged_blob_is_told_by_name(world: World) {
    let source = source(&world);
    let contents = ["whole", "gone", "changed", "longer"];
    let mut ids = Vec::new();
    for content in contents {
        ids.push(source.blobs.put(content.into()).await.unwrap());
    }
    let folder = world.folder.path().join("blobs");
    let object = |id: &BlobId| {
        let found = files(&folder).into_iter().find(|name| name.contains(id.as_str()));
        folder.join(found.unwrap())
    };
    std::fs::remove_file(object(&ids[1])).unwrap();
    std::fs::write(object(&ids[2]), "Changed").unwrap();
    std::fs::write(object(&ids[3]), "longer than before").unwrap();
    let (created, file) = create(&source).await;
    let mut expected = ids[1..].to_vec();
    expected.sort_unstable();
    assert_eq!((created.missing.count, &created.missing.named), (3, &expected));
    assert_eq!(created.content.blobs, 1);
    assert_eq!(verify(&file).unwrap().missing, created.missing);
    let target = Target::like(&world);
    assert_eq!(target.restore(&file).await.unwrap().missing, created.missing);
    let db = target.open().await;
    let blobs = target.blobs(&world, &db);
    assert_eq!(blobs.get(&ids[0]).await.unwrap(), "whole");
    let damaged = blobs.get(&ids[1]).await.unwrap_err();
    assert_eq!(damaged.code(), ErrorCode::BlobCorrupt, "as it was where it came from");
    // Putting it again mends it.
    blobs.put("gone".into()).await.unwrap();
    assert_eq!(blobs.get(&ids[1]).await.unwrap(), "gone");
}

/// Whoever has the lease may have collected blobs, and they would look as if they were missing.
async fn a_backup_that_lost_its_lease_is_none(world: World) {
    const LOSE: Sql = sql!("UPDATE leases SET token = token + 1 WHERE name = 'retention'");
    struct Loses(Database, tokio::runtime::Handle);
    impl std::io::Write for Loses {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.block_on(self.0.write(|tx| tx.execute(&LOSE, params![]))).unwrap();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let source = source(&world);
    let out = Loses(world.db.clone(), tokio::runtime::Handle::current());
    let refused = backup::create(&source, out, unwatched()).await.map(drop).unwrap_err();
    check_code(&refused, ErrorCode::StorageStaleLease);
    let holder = source.leases.holder(&LeaseName::new("retention")).await.unwrap();
    assert!(holder.is_some(), "it is not ours to give back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_as_such() {
    let Some(disk) = SmallDisk::mount(8 << 20).unwrap() else {
        return a_size_that_is_too_small_is_told().await;
    };
    let world = World::sqlite().await;
    let Source { db, blobs, .. } = source(&world);
    fill(&db, &blobs).await;
    let (_, file) = create(&source(&world)).await;
    // There is room for the rows and not for the blobs.
    let options = OpenOptions::in_directory(disk.path().join("data"));
    let input = std::io::Cursor::new(file);
    let refused = backup::restore(input, options, unwatched()).await.unwrap_err();
    assert!(
        matches!(refused.code(), ErrorCode::StorageDiskFull | ErrorCode::BlobUnavailable),
        "{refused:?}"
    );
    assert_eq!(files(&disk.path().join("data")), ["palyra.lock"]);
    // Neither is a backup left half written.
    std::fs::write(disk.path().join("ballast"), vec![0; (8 << 20) - (64 << 10)]).unwrap();
    source(&world).blobs.put(noise(1 << 20).into()).await.unwrap();
    let path = disk.path().join("palyra.backup");
    let refused = backup::create_file(&source(&world), &path, unwatched()).await.unwrap_err();
    check_code(&refused, ErrorCode::StorageDiskFull);
    assert!(!files(disk.path()).iter().any(|name| name.contains("backup")));
}

/// Bytes that cannot be packed.
fn noise(length: usize) -> Vec<u8> {
    let mut rng = palyra_testkit::seed::Seed::new(7).rng();
    std::iter::repeat_with(|| rng.next_u64().to_le_bytes()).flatten().take(length).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configured_size_without_room_is_told_as_such() {
    a_size_that_is_too_small_is_told().await;
}

async fn a_size_that_is_too_small_is_told() {
    let world = World::sqlite().await;
    let Source { db, blobs, .. } = source(&world);
    fill(&db, &blobs).await;
    let (_, file) = create(&source(&world)).await;
    let mut target = Target::sqlite();
    target.options.config.max_bytes = 1 << 20;
    check_code(&target.restore(&file).await.unwrap_err(), ErrorCode::StorageDiskFull);
    assert!(target.is_empty());
    target.options.config.max_bytes = 0;
    target.restore(&file).await.unwrap();
}
