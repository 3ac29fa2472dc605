//! Places that data cannot be kept in, and logs that cannot be written.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use palyra_storage::{Database, MIGRATIONS, Migration, OpenOptions, SCHEMA_VERSION};
use palyra_testkit::fs::{SmallDisk, private_tempdir};
use palyra_testkit::process::Termination;

use crate::daemon::{Daemon, LIMIT, palyrad, refused};

#[test]
fn a_data_directory_that_cannot_be_written_is_refused() {
    let folder = private_tempdir().unwrap();
    let mut permissions = std::fs::metadata(folder.path()).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(folder.path(), permissions).unwrap();
    // It belongs to the test, and the daemon is nobody, or the folder lets nobody write.
    let (code, told) = refused(palyrad().data_dir(folder.path()).unprivileged().unwrap());
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("storage/read_only") && told.contains("what to do:"), "{told}");
}

#[test]
fn a_full_disk_is_told_and_work_goes_on_when_there_is_space() {
    let Some(disk) = SmallDisk::mount(4 << 20).unwrap() else { return };
    let daemon = Daemon::of(palyrad().data_dir(disk.path().join("data")));
    let filler = disk.path().join("filler");
    // As much as fits; the rest does not matter.
    let _ = std::fs::write(&filler, vec![0u8; 8 << 20]);
    let large = serde_json::json!({ "value": "a".repeat(60_000) }).to_string();
    let put = |n: usize| daemon.local("PUT", &format!("/admin/v1/secrets/global/s{n}"), &large);
    let full = (0..100).map(put).find(|answer| answer.status != 200).expect("the disk is full");
    assert_eq!((full.status, full.code().as_str()), (503, "storage/disk_full"), "{full:?}");
    assert_eq!(daemon.local("GET", "/admin/v1/secrets", "").status, 200, "reading goes on");
    std::fs::remove_file(filler).unwrap();
    assert_eq!(put(200).status, 200);
}

/// Reading goes on, and so does writing when rows are gone.
#[test]
fn a_database_as_large_as_it_may_be_is_not_called_ready() {
    let (daemon, _folder) = Daemon::with_config("[storage]\nmax_bytes = 2000000\n");
    until_ready_is(&daemon, 200);
    let large = serde_json::json!({ "value": "a".repeat(60_000) }).to_string();
    let path = |n: usize| format!("/admin/v1/secrets/global/s{n}");
    let full = |n: &usize| daemon.local("PUT", &path(*n), &large).status != 200;
    let full = (0..100).find(full).expect("the database is full");
    let refused = daemon.local("PUT", &path(full), &large);
    assert_eq!((refused.status, refused.code().as_str()), (503, "storage/size_limit"));
    let waits = serde_json::json!(["room below storage.max_bytes"]);
    until_ready_is(&daemon, 503);
    assert_eq!(daemon.tcp("GET", "/readyz", &[], "").json()["waiting_for"], waits);
    assert_eq!(daemon.local("GET", "/admin/v1/status", "").json()["waiting_for"], waits);
    let checks = daemon.local("GET", "/admin/v1/doctor", "").json()["checks"].clone();
    let checks = checks.as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "database_size").unwrap();
    assert_eq!(found["state"], "failed", "{found}");
    assert!(found["advice"].as_str().unwrap().contains("`storage.max_bytes`"), "{found}");
    assert_eq!(daemon.local("GET", "/admin/v1/secrets", "").status, 200, "reading goes on");
    (0..full).for_each(|n| assert!(daemon.local("DELETE", &path(n), "").status < 300));
    until_ready_is(&daemon, 200);
    assert_eq!(daemon.local("PUT", &path(full), &large).status, 200);
}

fn until_ready_is(daemon: &Daemon, status: u16) {
    let deadline = std::time::Instant::now() + LIMIT;
    while daemon.tcp("GET", "/readyz", &[], "").status != status {
        assert!(std::time::Instant::now() < deadline, "readiness is not answered with {status}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Opens the database in `folder` as a newer release would.
pub(crate) fn migrate_to_the_future(folder: &Path) {
    static NEWER: LazyLock<Vec<Migration>> = LazyLock::new(|| {
        let text = "CREATE TABLE of_the_future (a {int}) {strict};";
        let (version, name) = (SCHEMA_VERSION + 1, "future");
        let newer = Migration { version, name, oldest_binary: version, text };
        MIGRATIONS.iter().copied().chain([newer]).collect()
    });
    let options = OpenOptions { migrations: &NEWER, ..OpenOptions::in_directory(folder) };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        Database::open(options).await.unwrap().close().await;
    });
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let folder = private_tempdir().unwrap();
    migrate_to_the_future(folder.path());
    let before = std::fs::read(folder.path().join("palyra.db")).unwrap();
    let (code, told) = refused(palyrad().data_dir(folder.path()));
    assert_eq!(code, Some(1));
    assert!(told.contains("storage/newer_schema") && told.contains("what to do:"), "{told}");
    assert_eq!(std::fs::read(folder.path().join("palyra.db")).unwrap(), before);
}

/// Losing the log never stops the daemon: its reader may go, its disk may be full.
#[test]
fn a_log_that_cannot_be_written_is_no_reason_to_stop() {
    let folder = private_tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_palyrad"))
        .args(["--http-bind", "127.0.0.1:0", "--grpc-bind", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .stdout(Stdio::null())
        .stderr(full)
        .spawn()
        .unwrap();
    let deadline = std::time::Instant::now() + LIMIT;
    while !folder.path().join("runtime.json").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn signals_that_follow_each_other_at_once_are_one_wish() {
    let mut daemon = Daemon::start();
    for _ in 0..3 {
        let asked = Command::new("kill").args(["-TERM", &daemon.process.id().to_string()]).status();
        asked.unwrap();
    }
    let ended = daemon.process.terminate(LIMIT).unwrap();
    assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
}
