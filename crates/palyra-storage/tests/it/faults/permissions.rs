//! A data directory that cannot be written, or is in use.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use palyra_common::error::ErrorCode;
use palyra_storage::{Database, OpenOptions, SCHEMA_VERSION};
use palyra_testkit::process::{is_reexecuted, reexec_test};

use crate::migrations::NEXT;
use crate::world::{World, on_every_engine};

on_every_engine!(a_new_data_directory_is_private);

const LIMIT: Duration = Duration::from_secs(60);

fn allow(folder: &Path, mode: u32) {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_read_only_data_directory_is_told_and_used_once_it_is_writable() {
    let child = reexec_test("faults::permissions::open_until_it_works").unwrap();
    let child = child.unprivileged().unwrap().temporary_data_dir().unwrap();
    let process = child.spawn().unwrap();
    let data = process.data_dir().unwrap().to_owned();
    process.wait_for_line("waiting", LIMIT).unwrap();
    allow(&data, 0o555);
    process.wait_for_line("storage/read_only", LIMIT).unwrap();
    allow(&data, 0o700);
    process.wait_for_line("opened", LIMIT).unwrap();
}

/// The child of the test above: tries to open until it can.
#[test]
#[ignore = "started by another test"]
fn open_until_it_works() {
    if !is_reexecuted() {
        return;
    }
    let data = std::env::var_os("PALYRA_DATA_DIR").unwrap();
    println!("waiting");
    let deadline = std::time::Instant::now() + LIMIT;
    while !std::fs::metadata(&data).unwrap().permissions().readonly() {
        assert!(std::time::Instant::now() < deadline, "the directory was never made read-only");
        std::thread::sleep(Duration::from_millis(5));
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    loop {
        match runtime.block_on(Database::open(OpenOptions::in_directory(&data))) {
            Ok(_) => break println!("opened"),
            Err(error) => println!("{}", error.code()),
        }
        assert!(std::time::Instant::now() < deadline, "the directory was never made writable");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_user_of_the_directory_is_refused() {
    let world = World::sqlite().await;
    let refused = Database::open(world.options.clone()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageLocked);
    assert!(!refused.to_string().contains("palyra.lock"), "{refused}");
    world.db.close().await;
    Database::open(world.options.clone()).await.unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_is_private() {
    let world = World::sqlite().await;
    let file = |name: &str| world.folder.path().join(name);
    for name in ["palyra.db", "palyra.lock", "palyra.db-wal"] {
        assert_eq!(mode(&file(name)), 0o600, "{name}");
    }
    world.db.close().await;
    let next = OpenOptions { migrations: &NEXT, ..world.options.clone() };
    Database::open(next).await.unwrap().close().await;
    let copy = file(&format!("palyra.db.schema-{SCHEMA_VERSION}.copy"));
    assert_eq!(mode(&copy), 0o600, "the copy");
}

async fn a_new_data_directory_is_private(world: World) {
    let data_dir = world.folder.path().join("new");
    let options = OpenOptions { data_dir: data_dir.clone(), ..world.options.clone() };
    Database::open(options).await.unwrap().close().await;
    assert_eq!(mode(&data_dir), 0o700);
}
