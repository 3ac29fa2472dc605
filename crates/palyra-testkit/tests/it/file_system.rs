use std::os::unix::fs::PermissionsExt;

use palyra_testkit::fs::{ScratchDir, private_dir, unprivileged_command};
use palyra_testkit::process::Stream;

use crate::world::LONG;

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

#[test]
fn a_private_directory_is_private_with_those_above_it() {
    let dir = ScratchDir::new().unwrap();
    private_dir(dir.path().join("a/b")).unwrap();
    for name in ["a", "a/b"] {
        let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{name}");
    }
}
