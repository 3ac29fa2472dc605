use std::io::Write;

use palyra_testkit::fs::ScratchDir;

use super::*;

#[test]
fn the_last_lines_are_those_of_this_start() {
    let folder = ScratchDir::new().unwrap();
    let path = path(folder.path());
    let (mut log, begins) = open_for_start(&path).unwrap();
    assert_eq!(begins, 0);
    log.write_all(b"old 1\nold 2\n").unwrap();
    let (mut log, begins) = open_for_start(&path).unwrap();
    log.write_all(b"new 1\nnew 2\nnew 3").unwrap();
    let last = |begins, count| last_lines(&path, begins, count).unwrap().0;
    assert_eq!(last(begins, 10), ["new 1", "new 2", "new 3"]);
    assert_eq!(last(begins, 1), ["new 3"]);
    assert_eq!(last(0, 4), ["old 2", "new 1", "new 2", "new 3"]);
    assert_eq!(last(0, 0), [""; 0]);
}

#[test]
fn a_follower_sees_what_is_added_and_what_is_begun_anew() {
    let folder = ScratchDir::new().unwrap();
    let path = folder.path().join("a.log");
    std::fs::write(&path, "before\n").unwrap();
    let mut follower = Follower::from(&path, 7).unwrap();
    assert_eq!(follower.added().unwrap(), "");
    let mut log = OpenOptions::new().append(true).open(&path).unwrap();
    log.write_all(b"added\nhal").unwrap();
    assert_eq!(follower.added().unwrap(), "added\n");
    assert_eq!(follower.added().unwrap(), "", "half a line waits for its other half");
    log.write_all(b"f\n").unwrap();
    assert_eq!(follower.added().unwrap(), "half\n");
    std::fs::rename(&path, folder.path().join("a.log.1")).unwrap();
    assert_eq!(follower.added().unwrap(), "");
    std::fs::write(&path, "anew\n").unwrap();
    assert_eq!(follower.added().unwrap(), "", "it notices first");
    assert_eq!(follower.added().unwrap(), "anew\n");
}

#[test]
fn a_large_log_is_put_aside_at_the_next_start() {
    let folder = ScratchDir::new().unwrap();
    let path = path(folder.path());
    let (log, _) = open_for_start(&path).unwrap();
    log.set_len(LOG_BYTES + 1).unwrap();
    let (_, begins) = open_for_start(&path).unwrap();
    assert_eq!(begins, 0);
    assert!(files::with_ending(&path, ".1").exists());
}
