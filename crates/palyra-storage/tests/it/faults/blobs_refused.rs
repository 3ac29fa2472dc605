//! A place for blobs that cannot be used is found when it is opened, not with the first blob.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use palyra_storage::blob::{BlobStore, S3Credentials};
use palyra_storage::{Database, OpenOptions, StorageConfig};
use palyra_testkit::process::{is_reexecuted, reexec_test};
use palyra_testkit::s3::Fault;

use crate::log;
use crate::shelf::Shelf;
use crate::world::World;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_folder_that_cannot_be_written_is_refused_by_name() {
    let child = reexec_test("faults::blobs_refused::open_in_closed_folders").unwrap();
    let child = child.unprivileged().unwrap().temporary_data_dir().unwrap();
    let mut process = child.spawn().unwrap();
    let folder = process.data_dir().unwrap().join("blobs").display().to_string();
    for mode in ["555", "0"] {
        let told = format!("{mode}: {folder} cannot be written");
        process.wait_for_line(&told, LIMIT).unwrap();
    }
    process.wait_for_line("700: opened", LIMIT).unwrap();
    // Its last look is for what the probe has left behind.
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.logs());
}

/// The child of the test above.
#[test]
#[ignore = "started by another test"]
fn open_in_closed_folders() {
    if !is_reexecuted() {
        return;
    }
    let data = std::path::PathBuf::from(std::env::var_os("PALYRA_DATA_DIR").unwrap());
    let folder = data.join("blobs");
    std::fs::create_dir(&folder).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let db = runtime.block_on(Database::open(OpenOptions::in_directory(&data))).unwrap();
    for mode in [0o555, 0o000, 0o700] {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
        let clock = std::sync::Arc::new(palyra_storage::SystemClock);
        match BlobStore::open(db.clone(), clock, &StorageConfig::default(), &data) {
            Ok(_) => println!("{mode:o}: opened"),
            Err(error) => println!("{mode:o}: {}", error.envelope()),
        }
    }
    assert!(std::fs::read_dir(&folder).unwrap().next().is_none(), "the probe is left behind");
}

#[test]
fn nodes_that_try_one_folder_at_once_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap().into();
    let config = StorageConfig { blobs: place, ..StorageConfig::default() };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let data = tempfile::tempdir().unwrap();
    let db = runtime.block_on(Database::open(OpenOptions::in_directory(data.path()))).unwrap();
    std::thread::scope(|nodes| {
        for _ in 0..4 {
            nodes.spawn(|| {
                for _ in 0..200 {
                    let clock = std::sync::Arc::new(palyra_storage::SystemClock);
                    let store = BlobStore::open(db.clone(), clock, &config, data.path()).unwrap();
                    runtime.block_on(store.probe()).unwrap();
                }
            });
        }
    });
    runtime.block_on(db.close());
    assert!(std::fs::read_dir(&folder).unwrap().next().is_none(), "a probe is left behind");
}

/// The daemon starts all the same, and says so once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_away_is_logged_and_its_return_too() {
    log::keep();
    let mut shelf = Shelf::on_s3(World::sqlite().await);
    let endpoint = shelf.s3().endpoint();
    shelf.s3().go_away();
    let _watched = shelf.store.clone().watched(Duration::from_millis(5));
    let logged = async |count: usize| {
        let deadline = std::time::Instant::now() + LIMIT;
        while log::about(&endpoint).len() < count {
            assert!(std::time::Instant::now() < deadline, "{:?}", log::about(&endpoint));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    logged(1).await;
    // More probes fail, which nobody needs to hear.
    shelf.s3().fail_next(3, Fault::Forbidden);
    shelf.s3().come_back().unwrap();
    logged(2).await;
    let lines = log::about(&endpoint);
    let levels: Vec<_> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(levels, ["WARN", "INFO"], "{lines:?}");
    assert!(lines[0].contains("blob/unavailable") && lines[0].contains("Check"), "{lines:?}");
    assert_eq!(shelf.objects(), [""; 0], "the probe is left behind");
}

#[test]
fn a_key_that_is_missing_is_found_before_anything_is_opened() {
    let on_s3 = StorageConfig { blobs: "s3://bucket".into(), ..StorageConfig::default() };
    let nothing = || S3Credentials::from_variables(|_| None);
    let refused = BlobStore::check(&on_s3, nothing).unwrap_err();
    assert!(refused.to_string().contains("AWS_ACCESS_KEY_ID"), "{refused}");
    let broken = || S3Credentials::from_variables(|_| Some("a key\n".into()));
    let refused = BlobStore::check(&on_s3, broken).unwrap_err();
    assert!(refused.to_string().contains("AWS_ACCESS_KEY_ID"), "{refused}");
    BlobStore::check(&StorageConfig::default(), nothing).unwrap();
}
