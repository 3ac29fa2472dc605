//! The daemon in the background.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::world::{FREE_PORTS, LIMIT, World, until};

/// Stops a background daemon also when its test fails.
struct Background<'a>(&'a World);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        self.0.palyra(&["daemon", "stop"]);
    }
}

fn start(world: &World) -> serde_json::Value {
    let arguments = [&["daemon", "start", "--json", "--"][..], &FREE_PORTS].concat();
    world.palyra(&arguments).expect(0).json()
}

#[test]
fn it_is_started_once_shown_and_stopped() {
    let world = World::new();
    assert_eq!(world.palyra(&["daemon", "status", "--json"]).expect(3).json()["running"], false);
    let _background = Background(&world);
    let started = start(&world);
    assert_eq!(started["ready"], true);
    assert_eq!(start(&world)["pid"], started["pid"], "it is left alone");
    let status = world.palyra(&["daemon", "status", "--json"]).expect(0).json();
    assert_eq!(status["pid"], started["pid"]);
    // It answers a moment before it says so.
    until("the log says that it is ready", || {
        let log = world.palyra(&["daemon", "logs", "-n", "1000"]).expect(0).out;
        log.contains("palyrad is ready")
    });
    assert_eq!(world.palyra(&["daemon", "logs", "-n", "1"]).expect(0).out.lines().count(), 1);

    let stopped = world.palyra(&["daemon", "stop", "--json"]).expect(0).json();
    assert_eq!(stopped["pid"], started["pid"]);
    assert_eq!(world.palyra(&["daemon", "stop", "--json"]).expect(0).json()["stopped"], false);
    world.palyra(&["daemon", "status"]).expect(3);
}

#[test]
fn it_is_restarted_as_another_process() {
    let world = World::new();
    let _background = Background(&world);
    let first = start(&world);
    let arguments = [&["daemon", "restart", "--json", "--"][..], &FREE_PORTS].concat();
    let second = world.palyra(&arguments).expect(0).json();
    assert_ne!(first["pid"], second["pid"]);
    assert_eq!(first["data_dir"], second["data_dir"]);
}

#[test]
fn a_start_that_fails_tells_what_palyrad_said() {
    let world = World::new();
    std::fs::create_dir(world.data_dir()).unwrap();
    std::fs::write(world.data_dir().join("palyra.toml"), "[log]\nlevle = \"x\"\n").unwrap();
    let refused = world.palyra(&["daemon", "start"]).expect(2);
    assert!(refused.err.contains("levle") && refused.err.contains("code: config/"), "{refused:?}");
    let with_json = world.palyra(&["daemon", "start", "--json"]).expect(2);
    assert!(with_json.error_code().starts_with("config/"), "{with_json:?}");
}

#[test]
fn what_was_left_by_a_killed_daemon_stops_nobody() {
    let world = World::new();
    let mut daemon = world.palyrad();
    daemon.kill_dash_nine().unwrap();
    let runtime = world.data_dir().join("runtime.json");
    // The number belongs to somebody else by now: to this test.
    let claim = || {
        let text = std::fs::read_to_string(&runtime).unwrap();
        let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
        file["pid"] = std::process::id().into();
        std::fs::write(&runtime, file.to_string()).unwrap();
    };
    claim();
    assert_eq!(world.palyra(&["daemon", "stop", "--json"]).expect(0).json()["stopped"], false);

    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    claim();
    let refused = world.palyra(&["daemon", "stop", "--json"]).expect(6);
    assert_eq!(refused.error_code(), "common/conflict");
    world.palyra(&["status"]).expect(0);
}

#[test]
fn the_log_is_followed_until_nobody_reads() {
    let world = World::new();
    let log = world.data_dir().join("log/palyrad.log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "first\n").unwrap();
    let mut command = world.command(&["daemon", "logs", "-f"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "first");
    let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(b"second\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "second");
    drop(lines);
    until("it ends when its reader is gone", || {
        file.write_all(b"more\n").unwrap();
        child.try_wait().unwrap().is_some()
    });
    assert!(child.wait().unwrap().success());
}
