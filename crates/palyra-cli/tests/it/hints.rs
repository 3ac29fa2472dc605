//! What a person is told to do can be done as it stands, and a refusal says what it is.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use palyra_testkit::fs::private_dir;
use palyra_testkit::process::{Process, Stream};

use crate::terminal::Terminal;
use crate::world::{LIMIT, World, ran};

#[test]
fn a_hint_names_the_data_directory_that_was_named() {
    let world = World::new();
    let other = world.home().join("other");
    let named = ["--data-dir", other.to_str().unwrap()];
    let hint = format!("`palyra --data-dir {} daemon start`", other.display());
    for arguments in [&["status"][..], &["secrets", "list"], &["status", "--json"]] {
        let told = world.palyra(&[&named[..], arguments].concat()).expect(3).err;
        assert!(told.contains(&hint), "{told}");
    }
    for arguments in [&["doctor"][..], &["doctor", "--json"]] {
        let told = world.palyra(&[&named[..], arguments].concat()).expect(7).out;
        assert!(told.contains(&hint), "{told}");
    }
    let told = world.palyra(&[&named[..], &["daemon", "status"]].concat()).expect(3).out;
    assert!(told.contains(&hint), "{told}");
    // A variable holds for the next command as well.
    let told = world.palyra(&["status"]).expect(3).err;
    assert!(told.contains("`palyra daemon start`"), "{told}");
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_said_to_be() {
    let world = World::new();
    let long = world.home().join("d".repeat(120));
    let arguments = ["--data-dir", long.to_str().unwrap(), "status", "--json"];
    let refused = world.palyra(&arguments).expect(2);
    assert_eq!(refused.error_code(), "common/invalid_input");
    assert!(refused.err.contains("choose a shorter one with --data-dir"), "{refused:?}");
    let report = world.palyra(&["--data-dir", long.to_str().unwrap(), "doctor"]).expect(7).out;
    assert!(report.contains("choose a shorter one"), "{report}");
}

#[test]
fn a_data_directory_of_somebody_else_is_not_called_unreachable() {
    let world = World::new();
    let locked = world.home().join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).unwrap();
    let refused = Process::builder(env!("CARGO_BIN_EXE_palyra"));
    let refused = refused.args(["--json", "status", "--data-dir", locked.to_str().unwrap()]);
    let mut refused = refused.unprivileged().unwrap().spawn().unwrap();
    assert_eq!(refused.wait(LIMIT).unwrap().code(), Some(4), "{}", refused.logs());
    let told = refused.lines(Stream::Stderr).unwrap().join("\n");
    assert!(told.contains("\"client/not_permitted\""), "{told}");
}

#[test]
fn no_is_an_answer_and_not_an_interruption() {
    let world = World::new();
    let asked = "auth tokens revoke 01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let seen = Terminal::open(&world, asked).wait_for("[y/N]").keys("n\r").end();
    assert!(seen.contains("code=8") && seen.contains("nothing was changed"), "{seen}");
    let seen = Terminal::open(&world, asked).wait_for("[y/N]").keys("\r").end();
    assert!(seen.contains("code=8") && seen.contains("client/declined"), "{seen}");
}

#[test]
fn with_json_nobody_is_asked() {
    let world = World::new();
    let revoke = "auth tokens revoke 01ARZ3NDEKTSV4RRFFQ69G5FAV --json";
    let seen = Terminal::open(&world, revoke).end();
    assert!(seen.contains("code=2") && seen.contains("add --yes"), "{seen}");
    assert!(!seen.contains("[y/N]"), "{seen}");
    let _daemon = world.palyrad();
    let seen = Terminal::open(&world, "secrets set openai --json").end();
    assert!(seen.contains("code=2") && seen.contains("pipe the value in"), "{seen}");
}

#[test]
fn a_restore_does_not_take_the_new_directory_for_the_old_one() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "openai"], b"geheim").expect(0);
    world.palyra(&["backup", "create", "b.tar.gz"]).expect(0);
    let new = world.home().join("new");
    let arguments = ["--data-dir", new.to_str().unwrap(), "backup", "restore", "b.tar.gz", "--yes"];
    // Another home has another key.
    let restored = ran(world.command(&arguments).env("HOME", world.home().join("elsewhere")));
    let told = restored.expect(0).out;
    assert!(!told.contains(&format!("{} doctor`", new.display())), "{told}");
    assert!(told.contains("`palyra --data-dir OLD doctor` names its place"), "{told}");
    assert!(
        told.contains(&format!("`palyra --data-dir {} daemon start`", new.display())),
        "{told}"
    );
}

#[test]
fn a_hint_about_a_credential_does_not_lead_back_to_the_same_refusal() {
    let world = World::new();
    let _daemon = world.palyrad();
    let host = world.host();
    let told = world.palyra(&["--host", &host, "status"]).expect(4).err;
    assert!(told.contains("`palyra dashboard` (on the daemon's machine)"), "{told}");
    assert!(told.contains("--token-file"), "{told}");
    std::fs::write(world.home().join("token"), format!("ply_{}", "x".repeat(43))).unwrap();
    let arguments = ["--host", &host, "--token-file", "token", "status", "--json"];
    let told = world.palyra(&arguments).expect(4).err;
    assert!(told.contains("`palyra auth tokens create` (on the daemon's machine)"), "{told}");
}

#[test]
fn a_token_file_that_is_not_there_is_named_with_what_belongs_in_it() {
    let world = World::new();
    let arguments = ["--host", "http://127.0.0.1:1", "--token-file", "gone", "status", "--json"];
    let refused = world.palyra(&arguments).expect(2);
    assert_eq!(refused.error_code(), "common/invalid_input");
    assert!(refused.err.contains("--token-file") && refused.err.contains("gone"), "{refused:?}");
    assert!(refused.err.contains("with palyra auth tokens create"), "{refused:?}");
}

#[test]
fn a_role_that_does_not_exist_is_told_with_those_that_do() {
    let world = World::new();
    let told = world.palyra(&["auth", "principals", "add", "anna", "--role", "boss"]).expect(2).err;
    assert!(told.contains("\"boss\" is no role, expected one of "), "{told}");
    assert!(told.contains("approver") && !told.contains("Role,"), "{told}");
}

#[test]
fn whoever_waits_for_a_daemon_that_hangs_is_told() {
    let world = World::new();
    private_dir(world.data_dir()).unwrap();
    let hanging = UnixListener::bind(world.data_dir().join("palyra.sock")).unwrap();
    let says = "Waiting for the daemon, for up to 10 s";
    let mut terminal = Terminal::open(&world, "status");
    terminal.wait_for(says);
    drop(hanging);
    let seen = terminal.end();
    assert!(seen.contains("code=3"), "{seen}");
}

#[test]
fn the_doctor_gives_each_advice_once() {
    let world = World::new();
    let _daemon = world.palyrad();
    std::fs::set_permissions(world.data_dir(), PermissionsExt::from_mode(0o755)).unwrap();
    let report = world.palyra(&["doctor"]).expect(0).out;
    assert!(report.contains("has mode 755"), "{report}");
    assert_eq!(report.matches("doctor --fix").count(), 1, "{report}");
}
