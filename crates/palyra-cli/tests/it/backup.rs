//! Backups appear whole or not at all.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

use palyra_testkit::fs::private_dir;
use serde_json::Value;

use crate::world::{World, ran, until};

#[test]
fn a_backup_is_made_checked_and_restored() {
    let world = World::new();
    let daemon = world.palyrad();
    let before = world.palyra(&["status"]).expect(0).out;
    assert!(before.contains("no secret yet") && !before.contains("usable"), "{before}");
    world.palyra_reading(&["secrets", "set", "openai"], b"geheim").expect(0);
    let key_id = || {
        let status = world.palyra(&["status", "--json"]).expect(0).json();
        status["vault"]["key_id"].as_str().map(str::to_owned)
    };
    until("the key is looked at again", || key_id().is_some());
    let key_id = key_id().unwrap();
    let created = world.palyra(&["backup", "create", "b.tar.gz", "--json"]).expect(0).json();
    assert_eq!(created["verified"], true);
    assert_eq!(created["master_key_included"], false);
    assert_eq!(created["missing_blobs"], 0);
    let file = world.home().join("b.tar.gz");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), created["bytes"].as_u64().unwrap());
    assert!(!world.home().join("b.tar.gz.partial").exists());

    let again = world.palyra(&["backup", "create", "b.tar.gz", "--json"]).expect(6);
    assert_eq!(again.error_code(), "common/conflict");
    let made = world.palyra(&["audit", "list", "--action", "backup.started", "--json"]).expect(0);
    assert_eq!(made.json()["items"].as_array().unwrap().len(), 1, "it is refused before it begins");
    world.palyra(&["backup", "verify", "b.tar.gz"]).expect(0);
    let running = world.palyra(&["backup", "restore", "b.tar.gz", "--yes", "--json"]).expect(6);
    assert_eq!(running.error_code(), "common/conflict");
    drop(daemon);

    let elsewhere = world.home().join("restored");
    let asked = ["--data-dir", elsewhere.to_str().unwrap(), "backup", "restore", "b.tar.gz"];
    world.palyra(&asked).expect(2);
    private_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("stray"), "stays").unwrap();
    let told = world.palyra(&[&asked[..], &["--yes"]].concat()).expect(0).out;
    for part in [key_id.as_str(), ".config/palyra/keys/", "what to do", "nothing else is"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(told.contains("all logins were ended (0)"), "{told}");
    assert_eq!(std::fs::read(elsewhere.join("stray")).unwrap(), b"stays");
    let again = world.palyra(&[&asked[..], &["--yes"]].concat()).expect(6).err;
    assert!(again.contains(elsewhere.join("palyra.db").to_str().unwrap()), "{again}");
    let third = world.home().join("third");
    let asked = ["--json", "--data-dir", third.to_str().unwrap(), "backup", "restore", "b.tar.gz"];
    let told = world.palyra(&[&asked[..], &["--yes"]].concat()).expect(0).json();
    assert_eq!(told["login_codes_ended"], 1, "the link of the first start: {told}");
    for count in ["logins_ended", "tokens_valid", "messages_in_doubt"] {
        assert_eq!(told[count], 0, "{told}");
    }
    assert_eq!(told["data_dir"], third.to_str().unwrap());
    assert_eq!(told["warnings"], serde_json::json!([]));
}

#[test]
fn a_copy_that_a_migration_kept_is_checked_and_put_back() {
    let world = World::new();
    let daemon = world.palyrad();
    world.palyra(&["daemon", "stop"]).expect(0);
    drop(daemon);
    // What a migration keeps is the database as it is.
    let (database, copy) = (world.data_dir().join("palyra.db"), "data/palyra.db.schema-1.copy");
    std::fs::copy(&database, world.home().join(copy)).unwrap();
    let daemon = world.palyrad();
    let running = world.palyra(&["backup", "restore", copy, "--yes", "--json"]).expect(6);
    assert_eq!(running.error_code(), "common/conflict");
    world.palyra(&["daemon", "stop"]).expect(0);
    drop(daemon);

    let checked = world.palyra(&["backup", "verify", copy, "--json"]).expect(0).json();
    assert_eq!((&checked["kind"], &checked["fault"]), (&"copy".into(), &Value::Null));
    let before = std::fs::read(&database).unwrap();
    let asked = world.palyra(&["backup", "restore", copy]).expect(2);
    assert!(asked.err.contains("which is kept under another name?"), "{asked:?}");
    assert_eq!(std::fs::read(&database).unwrap(), before);
    let told = world.palyra(&["backup", "restore", copy, "--yes"]).expect(0).out;
    for part in ["has put back the copy", "palyra.db.replaced-1", "all logins were ended"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(std::fs::read(world.data_dir().join("palyra.db.replaced-1")).unwrap(), before);
    let _daemon = world.palyrad();
    world.palyra(&["status"]).expect(0);
    let restored = ["audit", "list", "--action", "backup.restored", "--json"];
    let restored = world.palyra(&restored).expect(0).json();
    assert_eq!(restored["items"].as_array().unwrap().len(), 1, "{restored}");

    let elsewhere = world.home().join("elsewhere");
    let elsewhere = ["--data-dir", elsewhere.to_str().unwrap(), "--json"];
    let asked = [&elsewhere[..], &["backup", "restore", copy, "--yes"]].concat();
    let refused = world.palyra(&asked).expect(2);
    assert_eq!(refused.error_code(), "common/invalid_input");
}

/// In a folder that others write to, the name of the unfinished file could be taken on purpose.
#[test]
fn an_unfinished_file_is_nobody_elses() {
    let world = World::new();
    let _daemon = world.palyrad();
    let partial = world.home().join("b.tar.gz.partial");
    let other = world.home().join("other");
    std::fs::write(&other, "stays").unwrap();
    let refused = || {
        let refused = world.palyra(&["backup", "create", "b.tar.gz", "--json"]).expect(6);
        assert_eq!(refused.error_code(), "common/conflict");
        assert!(refused.err.contains("b.tar.gz.partial"), "{refused:?}");
        assert!(partial.symlink_metadata().is_ok(), "it is left as it is");
        std::fs::remove_file(&partial).unwrap();
    };
    std::os::unix::fs::symlink(&other, &partial).unwrap();
    refused();
    std::fs::hard_link(&other, &partial).unwrap();
    refused();
    assert_eq!(std::fs::read(&other).unwrap(), b"stays");
    let _socket = UnixListener::bind(&partial).unwrap();
    refused();
    std::fs::write(&partial, "").unwrap();
    // Only root can give a file away.
    if std::os::unix::fs::chown(&partial, Some(1), None).is_ok() {
        refused();
        std::fs::write(&partial, "").unwrap();
    } else {
        eprintln!("not tried: only root can give a file to somebody else");
    }
    std::fs::set_permissions(&partial, Permissions::from_mode(0o644)).unwrap();
    world.palyra(&["backup", "create", "b.tar.gz"]).expect(0);
    let mode = std::fs::metadata(world.home().join("b.tar.gz")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn by_default_its_name_has_the_time() {
    let world = World::new();
    let _daemon = world.palyrad();
    let told = world.palyra(&["backup", "create"]).expect(0).out;
    assert!(told.starts_with("palyra-backup-2") && told.contains(".tar.gz is written"), "{told}");
    for left_out in ["Not in it are", "palyra.toml", "workspaces", "the master key"] {
        assert!(told.contains(left_out), "{left_out}: {told}");
    }
}

#[test]
fn a_backup_of_a_daemon_elsewhere_is_checked_here() {
    let world = World::new();
    let _daemon = world.palyrad();
    let arguments = ["auth", "tokens", "create", "nightly", "--scope", "backups:create"];
    std::fs::write(world.home().join("token"), world.palyra(&arguments).expect(0).out).unwrap();
    let host = world.host();
    let remote = ["--host", &host, "--token-file", "token", "--json", "backup", "create", "b"];
    assert_eq!(world.palyra(&remote).expect(0).json()["verified"], true);
}

#[test]
fn a_damaged_backup_is_a_fault() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.palyra(&["backup", "create", "b.tar.gz"]).expect(0);
    let file = world.home().join("b.tar.gz");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let report = world.palyra(&["backup", "verify", "b.tar.gz", "--json"]).expect(7);
    assert_eq!((&*report.err, &report.json()["fault"]["code"]), ("", &"backup/invalid".into()));
    let told = world.palyra(&["backup", "verify", "b.tar.gz"]).expect(7).out;
    assert!(told.contains("b.tar.gz has a fault: "), "{told}");
    std::fs::write(&file, &whole).unwrap();
    let found = world.palyra(&["backup", "verify", "b.tar.gz", "--json"]).expect(0).json();
    assert!(found["fault"].is_null() && found["rows"].is_u64(), "{found}");
    let names = |report: &Value| report.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&report.json()), names(&found), "one shape, whatever was found");
}

/// A backup of a daemon whose audit trail somebody has changed.
fn backup_with_a_broken_trail(world: &World) {
    let daemon = world.palyrad();
    world.palyra(&["daemon", "stop"]).expect(0);
    drop(daemon);
    let database = world.data_dir().join("palyra.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let (before, after) = (b"daemon.started", b"daemon.snarled");
    let places = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(before));
    let places: Vec<_> = places.collect();
    assert!(!places.is_empty(), "a stop leaves everything in one file");
    for at in places {
        bytes[at..at + after.len()].copy_from_slice(after);
    }
    std::fs::write(&database, bytes).unwrap();
    let _daemon = world.palyrad();
    world.palyra(&["audit", "verify"]).expect(7);
    let created = world.palyra(&["backup", "create", "b.tar.gz", "--json"]).expect(7).json();
    assert_eq!(created["fault"]["code"], "journal/broken_chain", "{created}");
    assert_eq!(created["verified"], true, "{created}");
    let told = world.palyra(&["backup", "create", "c.tar.gz"]).expect(7).out;
    assert!(told.contains("is broken at entry 1") && told.contains("can be restored"), "{told}");
}

/// There may be no better backup, and what it holds is whole.
#[test]
fn a_backup_with_a_broken_audit_trail_is_restored_and_that_is_told() {
    let world = World::new();
    backup_with_a_broken_trail(&world);
    let report = world.palyra(&["backup", "verify", "b.tar.gz", "--json"]).expect(7).json();
    assert_eq!(report["fault"]["code"], "journal/broken_chain");

    let broken = "the journal is broken at entry 1";
    let folder = |name: &str| world.home().join(name).to_str().unwrap().to_owned();
    let restore = |into: &str, more: &[&str]| {
        let asked = ["--data-dir", into, "backup", "restore", "b.tar.gz"];
        world.palyra(&[&asked[..], more].concat())
    };
    let (first, second) = (folder("first"), folder("second"));
    let question = restore(&first, &[]).expect(2).err;
    assert!(question.contains(broken) && question.contains("all the same?"), "{question}");
    assert!(!world.home().join("first/palyra.db").exists());
    let told = restore(&first, &["--yes"]).expect(0).out;
    assert!(told.contains("palyrad has restored"), "{told}");
    assert!(told.contains(&format!("warning: {broken}")), "{told}");
    assert!(told.contains("  code: journal/broken_chain\n"), "{told}");
    let told = restore(&second, &["--yes", "--json"]).expect(0).json();
    let warnings = told["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{told}");
    assert!(warnings[0].as_str().unwrap().starts_with(broken), "{told}");

    let whole = std::fs::read(world.home().join("b.tar.gz")).unwrap();
    std::fs::write(world.home().join("b.tar.gz"), &whole[..whole.len() / 2]).unwrap();
    let refused = restore(&folder("third"), &["--yes", "--json"]).expect(7);
    assert_eq!(refused.error_code(), "backup/invalid");
}

/// The other end of a daemon's socket, for what no daemon does on purpose.
fn socket(world: &World) -> UnixListener {
    private_dir(world.data_dir()).unwrap();
    UnixListener::bind(world.data_dir().join("palyra.sock")).unwrap()
}

/// Takes one request and answers with `answer`; the connection lasts as long as what is returned.
fn answer(listener: &UnixListener, answer: &[u8]) -> UnixStream {
    let (mut stream, _) = listener.accept().unwrap();
    assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
    stream.write_all(answer).unwrap();
    stream
}

const HALF: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n";

#[track_caller]
fn assert_nothing_is_left(world: &World) {
    let left = std::fs::read_dir(world.home()).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(left.collect::<Vec<_>>(), [world.data_dir()]);
}

#[test]
fn a_backup_that_breaks_off_leaves_no_file() {
    let world = World::new();
    let listener = socket(&world);
    let dying = std::thread::spawn(move || drop(answer(&listener, HALF)));
    let broken = world.palyra(&["backup", "create", "b.tar.gz", "--json"]).expect(3);
    assert_eq!(broken.error_code(), "client/unreachable");
    dying.join().unwrap();
    assert_nothing_is_left(&world);
}

/// The connection breaks off all the same, so that no client takes the file for a whole one.
#[test]
fn a_backup_that_fails_tells_the_reason_of_the_daemon() {
    let world = World::new();
    world.damage("router_rules");
    let _daemon = world.palyrad();
    let failed = world.palyra(&["backup", "create", "b.tar.gz", "--json"]).expect(1);
    assert_eq!(failed.error_code(), "storage/corrupt");
    assert!(
        failed.err.contains("palyra.db") && failed.err.contains("backup restore"),
        "{failed:?}"
    );
    let told = world.palyra(&["backup", "create", "b.tar.gz"]).expect(1).err;
    assert!(told.contains("  code: storage/corrupt\n  what to do: Stop the daemon"), "{told}");
    let left = std::fs::read_dir(world.home()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("b.tar")));

    let arguments = ["auth", "tokens", "create", "nightly", "--scope", "backups:create"];
    std::fs::write(world.home().join("token"), world.palyra(&arguments).expect(0).out).unwrap();
    let host = world.host();
    let remote =
        ["--host", &host, "--token-file", "token", "--json", "backup", "create", "b.tar.gz"];
    assert_eq!(world.palyra(&remote).expect(1).error_code(), "storage/corrupt");
}

#[test]
fn what_is_no_backup_is_not_kept() {
    let world = World::new();
    let listener = socket(&world);
    let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhalf";
    let lying = std::thread::spawn(move || drop(answer(&listener, whole)));
    let refused = world.palyra(&["backup", "create", "b.tar.gz", "--json"]).expect(7);
    assert_eq!(refused.error_code(), "backup/invalid");
    lying.join().unwrap();
    assert_nothing_is_left(&world);
}

#[test]
fn an_interrupted_backup_leaves_no_file() {
    let world = World::new();
    let listener = socket(&world);
    let mut child = world.command(&["backup", "create", "b.tar.gz"]).spawn().unwrap();
    let _open = answer(&listener, HALF);
    let partial = world.home().join("b.tar.gz.partial");
    until("the first piece is written", || {
        std::fs::read(&partial).is_ok_and(|bytes| bytes == b"half")
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_nothing_is_left(&world);
}

/// Ctrl-C reaches both programs.
#[test]
fn a_backup_that_is_interrupted_while_it_is_read_back_leaves_no_file() {
    let world = World::new();
    let listener = socket(&world);
    let program = world.data_dir().join("palyrad");
    std::fs::write(&program, "#!/bin/sh\nkill -INT $PPID $$\n").unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
    let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhalf";
    let daemon = std::thread::spawn(move || drop(answer(&listener, whole)));
    let mut command = world.command(&["backup", "create", "b.tar.gz", "--json"]);
    let interrupted = ran(command.env("PALYRA_PALYRAD", &program)).expect(130);
    assert_eq!(interrupted.error_code(), "client/interrupted");
    daemon.join().unwrap();
    assert_nothing_is_left(&world);
}

#[test]
fn a_folder_is_no_backup() {
    let world = World::new();
    std::fs::create_dir(world.home().join("folder")).unwrap();
    for command in [&["backup", "verify"][..], &["backup", "restore", "--yes"]] {
        let refused = world.palyra(&[command, &["folder", "--json"]].concat()).expect(2);
        assert_eq!(refused.error_code(), "common/invalid_input");
        assert!(refused.err.contains("is a directory"), "{refused:?}");
    }
}

#[test]
fn a_backup_goes_into_a_folder_under_a_name_of_its_own() {
    let world = World::new();
    let _daemon = world.palyrad();
    let folder = world.home().join("backups");
    let refused = world.palyra(&["backup", "create", "backups/", "--json"]).expect(2);
    assert!(refused.err.contains("there is no folder backups/"), "{refused:?}");
    std::fs::create_dir(&folder).unwrap();
    let created = world.palyra(&["backup", "create", "backups/", "--json"]).expect(0).json();
    let file = created["file"].as_str().unwrap();
    assert!(file.starts_with("backups/palyra-backup-2"), "{file}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_backup_does_not_go_to_standard_output() {
    let world = World::new();
    let _daemon = world.palyrad();
    let refused = world.palyra(&["backup", "create", "-", "--json"]).expect(2);
    assert!(refused.err.contains("standard output"), "{refused:?}");
    assert!(!world.home().join("-").exists());
}
