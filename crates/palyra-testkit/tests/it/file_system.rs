use std::io::ErrorKind;

use palyra_testkit::fs::{ScratchDir, SmallDisk, unprivileged_command};
use palyra_testkit::process::{Stream, is_reexecuted, reexec_test};

use crate::world::LONG;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_small_disk_gets_full_and_has_room_again() {
    let Some(disk) = SmallDisk::mount(1 << 20).unwrap() else {
        assert!(!is_root(), "root may mount");
        return;
    };
    let path = disk.path().to_owned();
    let file = |name: &str| path.join(name);
    std::fs::write(file("first"), vec![1; 900 << 10]).unwrap();
    let error = std::fs::write(file("second"), vec![2; 900 << 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    std::fs::remove_file(file("first")).unwrap();
    std::fs::write(file("second"), vec![2; 900 << 10]).unwrap();
    drop(disk);
    assert!(!path.exists());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(path.to_str().unwrap()));
}

#[test]
#[ignore = "a child process of the next test"]
fn mounting_child() {
    if is_reexecuted() {
        println!("mounted={}", SmallDisk::mount(1 << 20).unwrap().is_some());
    }
}

#[test]
fn where_mounting_is_forbidden_the_reason_is_printed() {
    let child = reexec_test("file_system::mounting_child").unwrap().unprivileged().unwrap();
    let mut child = child.spawn().unwrap();
    assert!(child.wait(LONG).unwrap().success());
    assert_eq!(child.wait_for_line("mounted=", LONG).unwrap(), "mounted=false");
    let errors = child.lines(Stream::Stderr).unwrap().join("\n");
    assert!(errors.contains("no small disk without root: mount failed"), "{errors}");
}

#[test]
fn an_unprivileged_process_may_write_its_data_but_nothing_that_is_read_only() {
    let script = "id -u; echo data >$PALYRA_DATA_DIR/file && cat $PALYRA_DATA_DIR/file
        chmod 0555 $PALYRA_DATA_DIR; echo more >$PALYRA_DATA_DIR/other || echo refused; pwd";
    let builder = unprivileged_command("/bin/sh").unwrap().args(["-c", script]);
    let mut process = builder.temporary_data_dir().unwrap().spawn().unwrap();
    process.wait(LONG).unwrap();
    let lines = process.lines(Stream::Stdout).unwrap();
    assert_ne!(lines[0], "0", "{}", process.logs());
    assert_eq!(lines[1..3], ["data", "refused"], "{}", process.logs());

    let dir = process.data_dir().unwrap().to_owned();
    drop(process);
    assert!(!dir.exists());
}

#[test]
fn a_data_directory_asked_for_first_is_handed_over_too() {
    let builder = palyra_testkit::process::Process::builder("/bin/sh");
    let builder = builder.args(["-c", ": >$PALYRA_DATA_DIR/file"]).temporary_data_dir().unwrap();
    let mut process = builder.unprivileged().unwrap().spawn().unwrap();
    assert!(process.wait(LONG).unwrap().success(), "{}", process.logs());
}

#[test]
fn a_scratch_directory_goes_with_its_value() {
    let dir = ScratchDir::new().unwrap();
    let path = dir.path().to_owned();
    std::fs::create_dir_all(path.join("a/b")).unwrap();
    drop(dir);
    assert!(!path.exists());
}
