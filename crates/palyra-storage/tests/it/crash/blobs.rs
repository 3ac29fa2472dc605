//! A process that dies while it puts or collects blobs leaves nothing behind for ever.

use std::sync::Arc;

use bytes::Bytes;
use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::{Database, OpenOptions};
use palyra_testkit::clock::FakeClock;
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::process::{is_reexecuted, reexec_test};

use super::LIMIT;
use crate::world::START;

const CONTENT: &[u8] = b"precious";

async fn open(folder: &std::path::Path) -> (Database, BlobStore, Arc<FakeClock>) {
    let db = Database::open(OpenOptions::in_directory(folder)).await.unwrap();
    let clock = Arc::new(FakeClock::new(START));
    let store = BlobStore::in_folder(db.clone(), clock.clone(), &folder.join("blobs")).unwrap();
    (db, store, clock)
}

/// The child: puts, lets a day pass, collects.
#[test]
#[ignore = "started by another test"]
fn put_and_collect_in_a_child() {
    if !is_reexecuted() {
        return;
    }
    let folder = std::path::PathBuf::from(std::env::var_os("PALYRA_DATA_DIR").unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (db, store, clock) = open(&folder).await;
        store.put(Bytes::from_static(CONTENT)).await.unwrap();
        clock.advance(Duration::from_hours(25));
        store.collect(10).await.unwrap();
        db.close().await;
    });
}

fn objects(folder: &std::path::Path) -> usize {
    let folders = std::fs::read_dir(folder.join("blobs")).unwrap();
    folders.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_at_any_point_of_putting_and_collecting_is_made_good() {
    let points =
        ["blob.after_begin", "blob.after_upload", "blob.before_delete", "blob.after_delete"];
    for point in points {
        let folder = tempfile::tempdir().unwrap();
        let plan = CrashPlan::at(point);
        let child = reexec_test("crash::blobs::put_and_collect_in_a_child").unwrap();
        let mut child = child.data_dir(folder.path()).crash(&plan).spawn().unwrap();
        plan.expect_crash(&mut child, LIMIT).unwrap();

        let (_db, store, clock) = open(folder.path()).await;
        let id = BlobId::of(CONTENT);
        let gone = store.get(&id).await.unwrap_err();
        assert_eq!(gone.code(), ErrorCode::BlobNotFound, "{point}: half a blob can be read");
        store.put(Bytes::from_static(CONTENT)).await.unwrap();
        assert_eq!(store.get(&id).await.unwrap(), CONTENT, "{point}");
        clock.advance(Duration::from_hours(50));
        store.collect(10).await.unwrap();
        assert_eq!((store.totals().await.unwrap().0, objects(folder.path())), (0, 0), "{point}");
    }
}
