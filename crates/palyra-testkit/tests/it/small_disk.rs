//! What needs the right to mount. Only Linux has capabilities, and file systems in memory.

use std::io::{ErrorKind, Write as _};

use palyra_testkit::fs::SmallDisk;
use palyra_testkit::process::{Builder, Stream, is_reexecuted, reexec_test};
use rustix::thread::{
    CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities,
};

use crate::world::LONG;

fn may_mount() -> bool {
    let has = capabilities(None).unwrap().effective;
    rustix::process::geteuid().is_root() && has.contains(CapabilitySet::SYS_ADMIN)
}

#[test]
fn a_small_disk_gets_full_and_has_room_again() {
    let Some(disk) = SmallDisk::mount(1 << 20).unwrap() else {
        assert!(!may_mount(), "root may mount");
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

/// Tells the child what to do without: see [`give_up`].
const WITHOUT_VARIABLE: &str = "PALYRA_TEST_WITHOUT";

/// Takes the right to mount from this thread and what it starts, or from what it starts alone.
fn give_up(whose: &str) {
    const MOUNTING: CapabilitySet = CapabilitySet::SYS_ADMIN;
    remove_capability_from_bounding_set(MOUNTING).unwrap();
    if whose == "everybody" {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(MOUNTING);
        set_capabilities(None, sets).unwrap();
    }
}

#[test]
#[ignore = "a child process of the next tests"]
fn mounting_child() {
    if is_reexecuted() {
        if let Ok(whose) = std::env::var(WITHOUT_VARIABLE)
            && may_mount()
        {
            give_up(&whose);
        }
        println!("mounted={}", SmallDisk::mount(1 << 20).unwrap().is_some());
    }
}

fn mounting() -> Builder {
    reexec_test("small_disk::mounting_child").unwrap()
}

/// It goes on without a disk, and says why.
fn check_told(child: Builder) {
    let mut child = child.spawn().unwrap();
    assert!(child.wait(LONG).unwrap().success(), "{}", child.logs());
    assert_eq!(child.wait_for_line("mounted=", LONG).unwrap(), "mounted=false");
    let errors = child.lines(Stream::Stderr).unwrap().join("\n");
    assert!(errors.contains("no small disk without root and CAP_SYS_ADMIN: mount"), "{errors}");
}

#[test]
fn where_mounting_is_forbidden_the_reason_is_printed() {
    check_told(mounting().unprivileged().unwrap());
}

#[test]
fn root_that_may_not_mount_is_told_the_same() {
    check_told(mounting().env(WITHOUT_VARIABLE, "everybody"));
}

#[test]
fn root_that_may_mount_and_cannot_fails() {
    if !may_mount() {
        return writeln!(std::io::stderr(), "not tried without root and CAP_SYS_ADMIN").unwrap();
    }
    let mut child = mounting().env(WITHOUT_VARIABLE, "children").spawn().unwrap();
    assert!(!child.wait(LONG).unwrap().success(), "{}", child.logs());
    assert!(child.logs().contains("root could not mount a small disk"), "{}", child.logs());
}
