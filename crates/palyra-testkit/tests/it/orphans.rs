//! A test process is killed with SIGKILL, and what it had started goes all the same.

use std::path::Path;

use palyra_testkit::fs::{ScratchDir, SmallDisk};
use palyra_testkit::postgres::PostgresServer;
use palyra_testkit::process::{Process, is_reexecuted, reexec_test};

use crate::world::{LONG, any_process_in, eventually, is_alive, stay, value_of};

#[test]
#[ignore = "a child process of the next test"]
fn child_with_a_process() {
    if is_reexecuted() {
        // It outlives everything but SIGKILL, a closed output and a lost directory included.
        let script = "trap '' TERM HUP INT PIPE; echo up; exec >/dev/null 2>&1
            while :; do sleep 0.1; date >$PALYRA_DATA_DIR/now; done";
        let builder = Process::builder("sh").args(["-c", script]);
        let process = builder.temporary_data_dir().unwrap().spawn().unwrap();
        process.wait_for_line("up", LONG).unwrap();
        let scratch = ScratchDir::new().unwrap();
        let disk = SmallDisk::mount(1 << 20).unwrap();
        let disk = disk.as_ref().map_or(scratch.path(), SmallDisk::path);
        std::fs::write(disk.join("file"), "content").unwrap();
        println!(
            "pid={} data={} scratch={} disk={}",
            process.id(),
            process.data_dir().unwrap().display(),
            scratch.path().display(),
            disk.display()
        );
        stay();
    }
}

#[test]
fn processes_directories_and_mounts_end_with_a_killed_test() {
    let mut test = reexec_test("orphans::child_with_a_process").unwrap().spawn().unwrap();
    let line = test.wait_for_line("pid=", LONG).unwrap();
    let pid = value_of("pid", &line).unwrap();
    let dirs = ["data", "scratch", "disk"].map(|name| value_of(name, &line).unwrap());
    assert!(is_alive(&pid));
    assert!(dirs.iter().all(|dir| Path::new(dir).exists()));

    test.kill_dash_nine().unwrap();
    assert!(eventually(|| !is_alive(&pid)), "process {pid} survives its test");
    for dir in dirs {
        assert!(eventually(|| !Path::new(&dir).exists()), "{dir} survives its test");
    }
}

#[test]
#[ignore = "a child process of the next test"]
fn child_with_a_private_server() {
    if is_reexecuted() {
        let server = PostgresServer::start().unwrap();
        println!("dir={}", server.socket_dir().display());
        stay();
    }
}

#[test]
fn a_private_server_ends_with_a_killed_test() {
    let mut test = reexec_test("orphans::child_with_a_private_server").unwrap().spawn().unwrap();
    let line = test.wait_for_line("dir=", LONG).unwrap();
    let dir = value_of("dir", &line).unwrap();
    let dir = Path::new(&dir);
    assert!(dir.exists() && any_process_in(dir));
    test.kill_dash_nine().unwrap();
    assert!(eventually(|| !dir.exists() && !any_process_in(dir)), "{} stays", dir.display());
}
