//! A disk that fills up between the log and its index.

use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc;

use palyra_common::error::ErrorCode;
use palyra_storage::{Database, OpenOptions, params};
use palyra_testkit::fs::SmallDisk;

use crate::world::{COUNT, INSERT, create_notes, value};

const FRAME: u64 = 4_096 + 24;
/// The index of the log grows by one part for so many frames.
const FRAMES_PER_PART: u64 = 4_062;

fn free(disk: &SmallDisk) -> u64 {
    let of = rustix::fs::statvfs(disk.path()).unwrap();
    of.f_bavail * of.f_bsize
}

/// The commit is complete in the log when it fails, so that only a later recovery would see it:
/// the caller must not be told that it was not written, unless it is made so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_failed_late_is_not_told_as_undone_while_it_may_come_back() {
    let Some(disk) = SmallDisk::mount(256 << 20).unwrap() else {
        return;
    };
    let data = disk.path().join("data");
    let db = Database::open(OpenOptions::in_directory(&data)).await.unwrap();
    create_notes(&db).await.unwrap();
    let (end, ended) = mpsc::channel::<()>();
    let (begun, has_begun) = mpsc::channel::<()>();
    let (reader, ended) = (db.clone(), Mutex::new(ended));
    // A long read keeps the log from being started over.
    let long = tokio::spawn(async move {
        reader
            .read(move |tx| {
                tx.query_one(&COUNT, params![], |row| row.get::<i64>(0))?;
                begun.send(()).unwrap();
                let _ = ended.lock().unwrap().recv();
                Ok(())
            })
            .await
    });
    tokio::task::block_in_place(|| has_begun.recv()).unwrap();
    let log = data.join("palyra.db-wal");
    let frames = || std::fs::metadata(&log).map_or(0, |log| log.len()) / FRAME;
    let mut n = 0i64;
    while frames() < FRAMES_PER_PART - 1 {
        n += 1;
        let id = n.to_string();
        db.write(move |tx| tx.execute(&INSERT, params![&id, n])).await.unwrap();
    }
    // Room for a few frames, not for the next part of the index.
    let mut ballast = std::fs::File::create(disk.path().join("ballast")).unwrap();
    while free(&disk) > 3 * 4_096 {
        let bytes = (free(&disk) - 3 * 4_096).min(1 << 20);
        if ballast.write_all(&vec![1u8; usize::try_from(bytes).unwrap()]).is_err() {
            break;
        }
    }
    let failed = db.write(|tx| tx.execute(&INSERT, params!["late", 1i64])).await.unwrap_err();

    // What a crash at this moment would leave behind: the file and its log.
    let crashed = tempfile::tempdir().unwrap();
    for file in ["palyra.db", "palyra.db-wal"] {
        std::fs::copy(data.join(file), crashed.path().join(file)).unwrap();
    }
    let again = Database::open(OpenOptions::in_directory(crashed.path())).await.unwrap();
    let came_back = value(&again, "late").await.is_some();
    let told_unknown = failed.code() == ErrorCode::StorageCommitUnknown;
    assert!(told_unknown || !came_back, "told {failed:?}, and yet it came back");
    end.send(()).unwrap();
    long.await.unwrap().unwrap();

    drop(ballast);
    std::fs::remove_file(disk.path().join("ballast")).unwrap();
    db.write(|tx| tx.execute(&INSERT, params!["after", 1i64])).await.unwrap();
    assert_eq!(value(&db, "after").await, Some(1));
    assert_eq!(value(&db, "late").await, None, "{failed:?}");
}
