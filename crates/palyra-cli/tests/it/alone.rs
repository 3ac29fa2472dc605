//! Without a daemon.

use std::io::Read;
use std::process::Stdio;

use crate::world::{World, ran};

#[test]
fn without_a_daemon_the_exit_code_says_so() {
    let world = World::new();
    for arguments in [
        &["status"][..],
        &["auth", "whoami"],
        &["auth", "tokens", "list"],
        &["auth", "tokens", "revoke", "xyz"],
        &["secrets", "list"],
        &["audit", "verify"],
        &["backup", "create"],
        &["dashboard"],
    ] {
        let told = world.palyra(arguments).expect(3).err;
        assert!(told.starts_with("palyra: no daemon runs on /"), "{arguments:?}: {told}");
        assert!(told.contains("\n  code: client/daemon_not_running\n  what to do: "), "{told}");
        let with_json = world.palyra(&[arguments, &["--json"]].concat()).expect(3);
        assert_eq!(with_json.error_code(), "client/daemon_not_running");
    }
    let left: Vec<_> = std::fs::read_dir(world.home()).unwrap().collect();
    assert!(left.is_empty(), "something is left behind: {left:?}");
}

#[test]
fn a_host_that_does_not_answer_is_unreachable() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let refused = world.palyra(&["--host", &host, "--json", "status"]).expect(3);
    assert_eq!(refused.error_code(), "client/unreachable");
}

#[test]
fn what_is_asked_wrongly_is_2() {
    let world = World::new();
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["status", "extra"],
        &["--host", "http://192.0.2.1", "status"],
        &["--host", "nonsense", "status"],
        &["--token-file", "x", "status"],
        &["audit", "list", "--since", "yesterday"],
        &["completions", "bash", "--json"],
        &["daemon", "run", "--json"],
        &["auth", "tokens", "create", "name"],
        &["auth", "tokens", "create", "name", "--scope", "everything"],
        &["deployment", "explain", "cloud"],
        &["help", "frobnicate"],
        &["--host", "http://127.0.0.1:1", "daemon", "stop"],
        &["daemon", "stop", "--wait", "86401"],
        &["daemon", "start", "--wait", "18446744073709551615"],
        &["daemon", "restart", "--wait", "18446744073709551615"],
    ] {
        world.palyra(arguments).expect(2);
    }
    let told = world.palyra(&["--json", "frobnicate"]).expect(2);
    assert_eq!(told.error_code(), "common/invalid_input");
}

/// Programs are told what people are: what is missing, and what there is instead.
#[test]
fn a_mistake_in_the_arguments_is_named_for_programs_too() {
    let world = World::new();
    for (arguments, named) in [
        (&["--json", "config", "set"][..], "arguments were not provided: <KEY>, <VALUE>"),
        (&["--json", "completions", "nope"], "[possible values: bash, "),
        (&["--json", "staus"], "a similar subcommand exists: 'status'"),
        (&["--json", "config"], "a command is missing, which is one of: show, get, "),
        (&["config", "--json"], "'palyra config' requires a subcommand but one was not provided ["),
        (&["--json", "daemon", "stop", "--wait", "many"], "'--wait <SECONDS>': invalid digit"),
    ] {
        let told = world.palyra(arguments).expect(2);
        assert_eq!(told.error_code(), "common/invalid_input");
        let told: serde_json::Value = serde_json::from_str(&told.err).unwrap();
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(named) && !message.contains("Usage"), "{message}");
    }
}

/// What the environment says is no argument of this call.
#[test]
fn a_variable_changes_nothing_of_how_a_command_is_used() {
    let world = World::new();
    for arguments in [&[][..], &["config"], &["config", "set", "log.level"], &["runs", "show"]] {
        let with = world.palyra(arguments).expect(2);
        assert!(!with.err.contains("Usage: palyra config set --data-dir"), "{with:?}");
        let without = ran(world.command(arguments).env_remove("PALYRA_DATA_DIR")).expect(2);
        assert_eq!(with.err, without.err);
    }
}

#[test]
fn what_destroys_is_refused_where_nobody_can_be_asked() {
    let world = World::new();
    for arguments in [
        &["secrets", "delete", "openai"][..],
        &["auth", "tokens", "revoke", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
    ] {
        let told = world.palyra(arguments).expect(2).err;
        assert!(told.contains("add --yes"), "{told}");
    }
}

#[test]
fn help_and_version_need_nothing() {
    let world = World::new();
    assert!(world.palyra(&["--version"]).expect(0).out.starts_with("palyra "));
    assert!(world.palyra(&["--help"]).expect(0).out.contains("Exit codes:"));
    assert!(world.palyra(&["help", "output"]).expect(0).out.contains("standard error"));
    let backup = world.palyra(&["help", "backup", "create"]).expect(0).out;
    assert!(backup.contains("palyra backup create /mnt"), "{backup}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.palyra(&["completions", shell]).expect(0).out.contains("palyra"));
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let world = World::new();
    for arguments in [&["--help"][..], &["completions", "zsh"], &["deployment", "profiles"]] {
        let mut command = world.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut told = String::new();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(child.wait().unwrap().success(), "{arguments:?}: {told}");
        assert_eq!(told, "");
    }
}

#[test]
fn there_is_no_colour_off_a_terminal() {
    let world = World::new();
    let profiles = world.palyra(&["deployment", "profiles"]).expect(0).out;
    assert!(!profiles.contains('\x1b'), "{profiles:?}");
    let explained = world.palyra(&["deployment", "explain", "single-vm"]).expect(0).out;
    assert!(explained.contains("disk_space: There is room to work."), "{explained}");
}

/// People rely on what it says.
#[test]
fn a_profile_promises_only_what_there_is() {
    let world = World::new();
    for profile in ["local", "single-vm", "worker-enabled"] {
        let told = world.palyra(&["deployment", "explain", profile]).expect(0).out;
        let promises = ["pairing", "mutual_tls", "ocker", "compose", "template", "sandbox"];
        assert!(promises.iter().all(|word| !told.contains(word)), "{told}");
        assert!(!told.contains("The daemon makes them") && !told.contains("Certificate"), "{told}");
        assert!(told.contains("`palyra daemon install`"), "{told}");
        let backups = told.lines().find(|line| line.trim_start().starts_with("backups ")).unwrap();
        assert!(backups.contains("The operator makes them"), "{told}");
    }
}

#[test]
fn a_palyrad_that_is_named_must_be_there() {
    let world = World::new();
    let mut command = world.command(&["--json", "config", "validate"]);
    let missing = ran(command.env("PALYRA_PALYRAD", "/nonexistent/palyrad")).expect(1);
    assert_eq!(missing.error_code(), "client/palyrad_missing");
}

#[test]
fn a_log_that_is_not_there_is_not_found() {
    let world = World::new();
    let missing = world.palyra(&["daemon", "logs", "--json"]).expect(5);
    assert_eq!(missing.error_code(), "common/not_found");
}
