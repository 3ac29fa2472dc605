//! What people are told of the master key: where it is, and that it is lost while there is still
//! something to be done about it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use palyra_testkit::fs::private_dir;
use palyra_testkit::process::Process;
use serde_json::Value;

use crate::world::{LIMIT, World, until};

/// A daemon with a secret, and the file of its key.
fn with_a_secret(world: &World) -> (Process, PathBuf) {
    let daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "openai"], b"geheim-8161").expect(0);
    let status = world.palyra(&["status", "--json"]).expect(0).json();
    let place = status["vault"]["key_source"].as_str().unwrap().to_owned();
    (daemon, place.strip_prefix("the key file ").unwrap().into())
}

fn vault(report: &Value) -> Value {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "vault");
    found.unwrap_or_else(|| panic!("{report:#}")).clone()
}

#[test]
fn a_key_that_is_lost_while_the_daemon_runs_can_be_replaced_as_the_error_says() {
    let world = World::new();
    let (mut daemon, file) = with_a_secret(&world);
    std::fs::rename(&file, world.home().join("away")).unwrap();
    let told = world.palyra(&["doctor"]).expect(7).out;
    assert!(
        told.contains("does not exist") && told.contains("(vault/key_only_in_memory)"),
        "{told}"
    );
    // A look that is a moment old may still be told.
    until("the status tells it", || world.palyra(&["status"]).code == 7);
    let told = world.palyra(&["status"]).expect(7).out;
    assert!(told.contains("(vault/key_only_in_memory)"), "{told}");
    let refused = world.palyra_reading(&["secrets", "set", "another"], b"geheim-9272").expect(1);
    assert!(refused.err.contains("code: vault/key_only_in_memory"), "{refused:?}");
    let command = refused.err.split('`').nth(1).unwrap().strip_prefix("palyra ").unwrap();
    let command: Vec<_> = command.split(' ').chain(["--yes"]).collect();
    let told = world.palyra(&command).expect(0).out;
    assert!(told.starts_with("1 version of a secret is locked with the new key "), "{told}");
    world.palyra_reading(&["secrets", "set", "another"], b"geheim-9272").expect(0);
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    world.palyra(&["status"]).expect(0);
    world.palyra(&["doctor"]).expect(0);
}

/// It goes in twice, and both times it is the same.
#[test]
fn a_new_passphrase_is_the_one_in_the_file_whatever_ends_its_line() {
    let world = World::new();
    let (mut daemon, _) = with_a_secret(&world);
    let rotate = ["secrets", "rotate-master", "--ask-passphrase", "--yes"];
    let longest = [&[b'x'; 1_000][..], b"\r\n"].concat();
    world.palyra_reading(&rotate, &longest).expect(0);
    for (wrong, why) in [
        (&b"two\nlines\n"[..], "is not one line"),
        (&[b'x'; 1_001], "may have 1000"),
        (&[b'x'; 4_001], "larger than 4000 bytes"),
        (b"\r\n", "is empty"),
    ] {
        let refused = world.palyra_reading(&rotate, wrong).expect(2);
        assert!(refused.err.contains(why), "{refused:?}");
        assert!(refused.err.contains("code: common/invalid_input"), "{refused:?}");
    }
    world.palyra_reading(&rotate, b"abc\r\n").expect(0);
    let file = world.home().join("new.txt");
    std::fs::write(&file, "abc\r\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let config = format!("[vault]\npassphrase_file = \"{}\"\n", file.display());
    std::fs::write(world.data_dir().join("palyra.toml"), config).unwrap();
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    world.palyra(&["status"]).expect(0);
}

/// The last copy of the key would go with the process.
#[test]
fn a_daemon_that_alone_has_the_key_is_not_stopped_unasked() {
    let world = World::new();
    let (daemon, file) = with_a_secret(&world);
    std::fs::rename(&file, world.home().join("away")).unwrap();
    until("the status tells it", || world.palyra(&["status"]).code == 7);
    for command in ["stop", "restart"] {
        let refused = world.palyra(&["daemon", command]).expect(1);
        assert!(refused.err.contains("nothing was stopped"), "{refused:?}");
        assert!(refused.err.contains("code: vault/key_only_in_memory"), "{refused:?}");
        assert!(refused.err.contains("secrets rotate-master"), "{refused:?}");
        let status = world.palyra(&["status", "--json"]).expect(7).json();
        assert_eq!(status["pid"], daemon.id(), "it still runs");
    }
    world.palyra(&["daemon", "stop", "--yes"]).expect(0);
    world.palyra(&["status"]).expect(3);
}

/// As whoever restores a backup needs it, who has nothing but the files of before.
#[test]
fn the_doctor_names_the_place_of_the_key_without_a_daemon() {
    let world = World::new();
    let check = vault(&world.palyra(&["doctor", "--json"]).expect(7).json());
    assert_eq!(check["state"], "ok", "there is no secret yet: {check}");
    let (mut daemon, file) = with_a_secret(&world);
    daemon.terminate(LIMIT).unwrap();
    let place = format!("the key file {}", file.display());
    let check = |state: &str, what: &str| {
        let check = vault(&world.palyra(&["doctor", "--json"]).expect(7).json());
        assert_eq!(check["state"], state, "{check}");
        let seen = check["seen"].as_str().unwrap();
        assert!(seen.contains(&file.display().to_string()) && seen.contains(what), "{check}");
        check
    };
    check("ok", &format!("{place} is there"));
    std::fs::write(world.data_dir().join("palyra.db"), "damaged, and long enough to be seen so")
        .unwrap();
    check("ok", &format!("{place} is there"));
    let away = world.home().join("away");
    std::fs::rename(&file, &away).unwrap();
    let advice = check("warning", &format!("{place} is not there"))["advice"].clone();
    assert!(advice.as_str().unwrap().contains("bring it back"), "{advice}");
    std::fs::write(&file, "garbage").unwrap();
    check("failed", "open to other users");
    std::fs::rename(&away, &file).unwrap();
    check("ok", &format!("{place} is there"));
}

/// They may ask somebody.
#[test]
fn the_doctor_does_not_ask_a_command_for_the_key() {
    let world = World::new();
    private_dir(world.data_dir()).unwrap();
    let config = "[vault]\nkey_command = [\"touch\", \"asked\"]\n";
    std::fs::write(world.data_dir().join("palyra.toml"), config).unwrap();
    let check = vault(&world.palyra(&["doctor", "--json"]).expect(7).json());
    assert_eq!(check["state"], "skipped", "{check}");
    assert!(check["seen"].as_str().unwrap().contains("the command touch"), "{check}");
    assert!(!world.home().join("asked").exists());
}
