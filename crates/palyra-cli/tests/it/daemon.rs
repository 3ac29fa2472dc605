//! The daemon in the background.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use palyra_testkit::fs::{SmallDisk, private_dir};
use palyra_testkit::process::{Process, Stream};

use crate::world::{Background, FREE_PORTS, LIMIT, World, palyrad, ran, until};

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
    let second = world.palyra(&["daemon", "restart", "--json"]).expect(0).json();
    assert_eq!(second["stopped"], first["pid"]);
    assert_ne!(first["pid"], second["pid"]);
    assert_eq!(first["data_dir"], second["data_dir"]);
    assert_eq!(second["options"], serde_json::json!(FREE_PORTS), "it keeps its options");
    let other = [&["daemon", "restart", "--"][..], &FREE_PORTS, &["--log-level", "warn"]].concat();
    let told = world.palyra(&other).expect(0).out;
    assert!(
        told.contains("has stopped as process ") && told.contains("--log-level warn"),
        "{told}"
    );
    assert_eq!(world.palyra(&["config", "get", "log.level"]).expect(0).out, "warn\n");
}

#[test]
fn a_restart_elsewhere_reads_the_file_that_was_named() {
    restarts_elsewhere(&["--config", "own.toml"], None);
    restarts_elsewhere(&["--config=own.toml"], None);
    restarts_elsewhere(&[], Some(("PALYRA_CONFIG", "own.toml")));
}

fn restarts_elsewhere(options: &[&str], variable: Option<(&str, &str)>) {
    let world = World::new();
    let _background = Background(&world);
    let [here, there] = ["here", "there"].map(|name| world.home().join(name));
    for (folder, level) in [(&here, "warn"), (&there, "error")] {
        private_dir(folder).unwrap();
        let text = format!("[log]\nlevel = \"{level}\"\n");
        std::fs::write(folder.join("own.toml"), text).unwrap();
    }
    let arguments = [&["daemon", "start", "--"][..], &FREE_PORTS, options].concat();
    ran(world.command(&arguments).envs(variable).current_dir(&here)).expect(0);
    let level = || world.palyra(&["config", "get", "log.level"]).expect(0).out;
    assert_eq!(level(), "warn\n");
    ran(world.command(&["daemon", "restart"]).current_dir(&there)).expect(0);
    assert_eq!(level(), "warn\n", "{options:?} {variable:?}");

    let own = here.join("own.toml");
    let shown = world.palyra(&["config", "show", "--json"]).expect(0).json();
    assert_eq!(shown["file"], own.to_str().unwrap());
    std::fs::write(&own, "[log]\nlevel = \"warn\"\nlevle = 1\n").unwrap();
    ran(world.command(&["config", "unset", "log.levle"]).current_dir(&there)).expect(0);
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "[log]\nlevel = \"warn\"\n");
}

#[test]
fn a_restart_keeps_the_variables_of_the_daemon() {
    let world = World::new();
    let _background = Background(&world);
    let arguments = [&["daemon", "start", "--"][..], &FREE_PORTS].concat();
    let mut command = world.command(&arguments);
    command.env("PALYRA_HTTP_OPEN_METRICS", "true").env("PALYRA_LOG_LEVEL", "debug");
    ran(command.env("PALYRA_VAULT_PASSPHRASE", "geheim").env("OTHER", "x")).expect(0);
    let mut command = world.command(&["daemon", "restart"]);
    let told = ran(command.env("PALYRA_LOG_LEVEL", "warn")).expect(0);
    let names = "from its environment: PALYRA_HTTP_OPEN_METRICS PALYRA_VAULT_PASSPHRASE";
    assert!(told.out.contains(names), "{told:?}");
    assert!(!format!("{told:?}").contains("geheim"), "{told:?}");
    let get = |key: &str| world.palyra(&["config", "get", key]).expect(0).out;
    assert_eq!(get("http.open_metrics"), "true\n");
    assert_eq!(get("log.level"), "warn\n", "what is said now wins");
    let pid = world.palyra(&["status", "--json"]).expect(0).json()["pid"].to_string();
    let has = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let has = String::from_utf8(has).unwrap();
    assert!(has.contains("PALYRA_VAULT_PASSPHRASE=geheim\0") && !has.contains("OTHER="), "{has}");
}

#[test]
fn it_is_not_stopped_for_a_start_that_would_fail() {
    let world = World::new();
    let _background = Background(&world);
    let pid = start(&world)["pid"].clone();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let on_taken = ["daemon", "restart", "--json", "--", "--http-bind", &taken];
    let refused = world.palyra(&on_taken);
    assert_eq!(refused.expect(6).error_code(), "daemon/address_in_use");
    let told = world.palyra(&["daemon", "restart", "--", "--frobnicate"]).expect(2).err;
    assert!(told.contains("nothing was stopped") && told.contains("--frobnicate"), "{told}");
    std::fs::write(world.data_dir().join("palyra.toml"), "[log]\nlevle = 1\n").unwrap();
    let refused = world.palyra(&["daemon", "restart", "--json"]).expect(2);
    assert!(refused.err.contains("nothing was stopped") && refused.err.contains("levle"));
    assert!(refused.err.contains("? ") && !refused.err.contains("?."), "{refused:?}");
    assert_eq!(world.palyra(&["status", "--json"]).expect(0).json()["pid"], pid);
}

#[test]
fn other_options_for_a_daemon_that_runs_are_not_ignored() {
    let world = World::new();
    let _background = Background(&world);
    start(&world);
    let refused = world.palyra(&["daemon", "start", "--json", "--", "--log-level", "warn"]);
    assert_eq!(refused.expect(6).error_code(), "common/conflict");
    world.palyra(&["daemon", "start"]).expect(0);
}

#[test]
fn the_log_holds_no_link_to_log_in_with() {
    let world = World::new();
    let _background = Background(&world);
    start(&world);
    until("the log says that it is ready", || {
        let log = world.palyra(&["daemon", "logs"]).expect(0).out;
        assert!(!log.contains("code="), "{log}");
        let data_dir = world.data_dir();
        log.contains(&format!(
            "`palyra --data-dir '{}' dashboard` gives a link",
            data_dir.display()
        ))
    });
    let log = world.palyra(&["daemon", "logs", "--json", "-n", "1"]).expect(0).json();
    assert!(log["lines"][0].as_str().unwrap().contains("dashboard` gives a link"), "{log}");
}

#[test]
fn a_start_that_fails_tells_what_palyrad_said() {
    let world = World::new();
    private_dir(world.data_dir()).unwrap();
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

/// Whatever starts it: systemd opens the file without looking at its size.
#[test]
fn a_log_that_grows_is_put_aside_while_the_daemon_runs() {
    let world = World::new();
    let _background = Background(&world);
    let pid = start(&world)["pid"].clone();
    let log = world.data_dir().join("log/palyrad.log");
    std::fs::OpenOptions::new().write(true).open(&log).unwrap().set_len((16 << 20) + 1).unwrap();
    let process = rustix::process::Pid::from_raw(pid.as_i64().unwrap() as i32).unwrap();
    let reload = || rustix::process::kill_process(process, rustix::process::Signal::HUP).unwrap();
    reload();
    let size = |path: &std::path::Path| path.metadata().map_or(0, |file| file.len());
    let aside = log.with_extension("log.1");
    until("it is put aside", || size(&aside) > 16 << 20 && size(&log) < 1 << 20);
    assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    reload();
    until("it goes on in the new one", || {
        let told = world.palyra(&["daemon", "logs"]).expect(0).out;
        told.contains("the configuration was reloaded")
    });
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

#[test]
fn a_followed_log_is_a_document_per_line_for_programs() {
    let world = World::new();
    let log = world.data_dir().join("log/palyrad.log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "first \"x\"\n").unwrap();
    let mut command = world.command(&["daemon", "logs", "-f", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(line, r#"{"line":"first \"x\""}"#);
}

#[test]
fn a_daemon_whose_files_were_removed_is_found_and_stopped() {
    let world = World::new();
    let data_dir = world.data_dir();
    let removals: [&dyn Fn(); 3] = [
        &|| std::fs::remove_file(data_dir.join("runtime.json")).unwrap(),
        &|| std::fs::remove_file(data_dir.join("palyra.sock")).unwrap(),
        // Between its database and the rest, it may put back its lock.
        &|| until("the directory is gone", || std::fs::remove_dir_all(&data_dir).is_ok()),
    ];
    for (nth, remove) in removals.iter().enumerate() {
        let mut daemon = world.palyrad();
        remove();
        if nth > 0 {
            let status = world.palyra(&["daemon", "status", "--json"]).expect(7).json();
            assert_eq!((&status["pid"], &status["answers"]), (&daemon.id().into(), &false.into()));
            let refused = world.palyra(&["daemon", "start", "--json"]).expect(6);
            let told =
                format!("process {} serves {} and does not", daemon.id(), data_dir.display());
            assert!(refused.err.contains(&told), "{refused:?}");
            for arguments in [&["status"][..], &["secrets", "list"]] {
                let same = world.palyra(&[arguments, &["--json"]].concat()).expect(3);
                assert_eq!(same.error_code(), "client/unreachable");
                assert!(same.err.contains(&told), "{same:?}");
            }
            for arguments in [&["daemon", "status"][..], &["doctor"]] {
                let same = world.palyra(arguments).expect(7).out;
                assert!(same.contains(&told), "{same}");
            }
        }
        let stopped = world.palyra(&["daemon", "stop", "--json"]).expect(0).json();
        assert_eq!(stopped["pid"], daemon.id(), "removal {nth}");
        daemon.wait(LIMIT).unwrap();
    }
    assert_eq!(world.palyra(&["daemon", "stop", "--json"]).expect(0).json()["stopped"], false);
}

/// It would not come up again.
#[test]
fn a_restart_that_the_deployment_profile_forbids_stops_nothing() {
    let world = World::new();
    let _background = Background(&world);
    let started = start(&world);
    let by_hand = "[deployment]\nprofile = \"worker-enabled\"\n";
    std::fs::write(world.data_dir().join("palyra.toml"), by_hand).unwrap();
    let refused = world.palyra(&["daemon", "restart", "--json"]);
    assert!(refused.err.contains("storage.url is empty"), "{refused:?}");
    let status = world.palyra(&["daemon", "status", "--json"]).expect(0).json();
    assert_eq!(status["pid"], started["pid"]);
}

/// The start would look for it and fail.
#[test]
fn a_restart_on_a_server_that_is_away_stops_nothing() {
    let world = World::new();
    let _background = Background(&world);
    let started = start(&world);
    let url = "postgres://anna@127.0.0.1:1/x";
    world.palyra(&["config", "set", "storage.url", url]).expect(0);
    let refused = world.palyra(&["daemon", "restart", "--json"]);
    assert!(refused.err.contains("nothing was stopped"), "{refused:?}");
    assert!(refused.err.contains("127.0.0.1:1"), "{refused:?}");
    let status = world.palyra(&["daemon", "status", "--json"]).expect(0).json();
    assert_eq!(status["pid"], started["pid"]);
}

#[test]
fn a_daemon_that_was_killed_gets_its_options_again() {
    for again in ["start", "restart"] {
        let world = World::new();
        let _background = Background(&world);
        std::fs::write(world.home().join("own.toml"), "[log]\nlevel = \"warn\"\n").unwrap();
        let own = ["--config", "own.toml"];
        let arguments = [&["daemon", "start", "--json", "--"][..], &FREE_PORTS, &own].concat();
        let mut command = world.command(&arguments);
        let pid =
            ran(command.env("PALYRA_HTTP_OPEN_METRICS", "true")).expect(0).json()["pid"].clone();
        let process = rustix::process::Pid::from_raw(pid.as_i64().unwrap() as i32).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        until("it is gone", || world.palyra(&["daemon", "status"]).code == 3);
        let told = ran(world.command(&["daemon", again]).current_dir("/")).expect(0);
        assert!(told.err.contains("--config") && told.err.contains("own.toml"), "{told:?}");
        assert!(told.err.contains("gets none of them: PALYRA_HTTP_OPEN_METRICS"), "{told:?}");
        assert_eq!(world.palyra(&["config", "get", "log.level"]).expect(0).out, "warn\n");
        let port = world.palyra(&["config", "get", "http.bind"]).expect(0).out;
        assert_eq!(port, "127.0.0.1:0\n", "{again}");
    }
}

#[test]
fn a_full_disk_is_seen_before_anything_is_stopped_and_is_not_called_ready() {
    let Some(disk) = SmallDisk::mount(8 << 20).unwrap() else { return };
    let world = World::new();
    let there = disk.path().join("data");
    private_dir(&there).unwrap();
    std::os::unix::fs::symlink(&there, world.data_dir()).unwrap();
    let _background = Background(&world);
    let pid = start(&world)["pid"].clone();
    // As much as fits.
    let filler = disk.path().join("filler");
    let _ = std::fs::write(&filler, vec![0u8; 16 << 20]);
    let status = || world.palyra(&["status", "--json"]);
    until("it says so", || status().code == 7);
    assert_eq!(status().json()["waiting_for"], serde_json::json!(["disk space"]));
    let refused = world.palyra(&["daemon", "restart", "--json"]).expect(1);
    assert!(refused.err.contains("nothing was stopped"), "{refused:?}");
    assert!(refused.err.contains("is full"), "{refused:?}");
    assert_eq!(refused.error_code(), "storage/disk_full");
    assert_eq!(status().json()["pid"], pid);
    std::fs::remove_file(filler).unwrap();
    until("it goes on", || status().code == 0);
}

#[test]
fn a_start_on_a_full_disk_says_so() {
    let Some(disk) = SmallDisk::mount(4 << 20).unwrap() else { return };
    let world = World::new();
    // One that others can change is refused for that.
    std::fs::set_permissions(disk.path(), PermissionsExt::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(disk.path(), world.data_dir()).unwrap();
    let _ = std::fs::write(disk.path().join("filler"), vec![0u8; 8 << 20]);
    for verb in ["start", "restart"] {
        let arguments = [&["daemon", verb, "--json", "--"][..], &FREE_PORTS].concat();
        let told = world.palyra(&arguments).expect(1);
        assert_eq!(told.error_code(), "storage/disk_full", "{verb}");
        assert!(told.err.contains("is full") && told.err.contains("Free space"), "{told:?}");
    }
}

#[test]
fn a_data_directory_that_others_can_change_is_told_with_what_closes_it() {
    let world = World::new();
    std::fs::create_dir(world.data_dir()).unwrap();
    std::fs::set_permissions(world.data_dir(), PermissionsExt::from_mode(0o777)).unwrap();
    let arguments = [&["daemon", "start", "--json", "--"][..], &FREE_PORTS].concat();
    let refused = world.palyra(&arguments).expect(4);
    assert_eq!(refused.error_code(), "storage/open_to_others");
    assert!(refused.err.contains("chmod 700 '"), "{refused:?}");
    assert!(refused.err.contains("`palyra doctor --fix`"), "{refused:?}");
    assert!(!refused.err.contains("example.toml"), "{refused:?}");
    world.palyra(&["doctor", "--fix"]);
    let _background = Background(&world);
    assert_eq!(start(&world)["ready"], true);
}

#[test]
fn a_busy_port_is_told_with_what_can_be_run() {
    let world = World::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let check = |verb: &str| {
        let options = ["--http-bind", &taken, "--grpc-bind", "127.0.0.1:0"];
        let arguments = [&["daemon", verb, "--json", "--"][..], &options].concat();
        let refused = world.palyra(&arguments).expect(6);
        assert_eq!(refused.error_code(), "daemon/address_in_use", "{verb}");
        let next = "`palyra daemon start -- --http-bind ADDRESS`";
        assert!(refused.err.contains(next), "{refused:?}");
        refused
    };
    check("start");
    check("restart");
    let _background = Background(&world);
    start(&world);
    assert!(check("restart").err.contains("nothing was stopped"));
}

/// As palyrad itself tells it, and not as a file of the command line.
#[test]
fn a_start_where_nothing_may_be_written_is_not_allowed() {
    let world = World::new();
    std::fs::create_dir(world.data_dir()).unwrap();
    for folder in [world.home(), &world.data_dir()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    }
    // The folder of the build may be closed to others.
    let program = world.home().join("palyrad");
    std::fs::copy(palyrad(), &program).unwrap();
    for folder in [world.data_dir(), world.home().join("none/data")] {
        for verb in ["start", "restart"] {
            let refused = Process::builder(env!("CARGO_BIN_EXE_palyra"))
                .args(["--json", "--data-dir", folder.to_str().unwrap(), "daemon", verb])
                .env("PALYRA_PALYRAD", &program);
            let mut refused = refused.unprivileged().unwrap().spawn().unwrap();
            assert_eq!(refused.wait(LIMIT).unwrap().code(), Some(4), "{}", refused.logs());
            let told = refused.lines(Stream::Stderr).unwrap().join("\n");
            assert!(told.contains("storage/read_only"), "{verb}: {told}");
            assert!(told.contains("write permission"), "{verb}: {told}");
        }
    }
}

/// A signal that halts a process reaches its threads one after the other.
fn is_halted(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut stats = threads.map(|thread| {
        std::fs::read_to_string(thread.unwrap().path().join("stat")).unwrap_or_default()
    });
    stats.all(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T")))
}

/// It hears nothing, so nobody waits for it.
#[test]
fn a_halted_daemon_is_told_as_such_and_ended_by_force() {
    let world = World::new();
    let mut daemon = world.palyrad();
    let process = rustix::process::Pid::from_raw(daemon.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    until("every thread of it stands still", || is_halted(daemon.id()));
    let told = format!("process {} serves", daemon.id());
    let halted = world.palyra(&["status", "--json"]).expect(3);
    assert_eq!(halted.error_code(), "client/unreachable");
    assert!(halted.err.contains(&told) && halted.err.contains("was halted"), "{halted:?}");
    assert!(halted.err.contains(&format!("kill -CONT {}", daemon.id())), "{halted:?}");
    let halted = world.palyra(&["channels", "list", "--json"]).expect(3);
    assert_eq!(halted.error_code(), "client/unreachable");
    assert!(halted.err.contains(&told) && halted.err.contains("was halted"), "{halted:?}");
    let refused = world.palyra(&["daemon", "stop", "--json"]).expect(6);
    assert!(refused.err.contains("daemon stop --force"), "{refused:?}");
    let stopped = world.palyra(&["daemon", "stop", "--force", "--json"]).expect(0).json();
    assert_eq!(stopped["pid"], daemon.id());
    daemon.wait(LIMIT).unwrap();
    world.palyra(&["daemon", "status"]).expect(3);
}

/// Stands for a daemon in the moment after it was killed: it takes a connection and breaks it off.
#[test]
fn what_a_killed_daemon_breaks_off_is_asked_again() {
    let world = World::new();
    let _background = Background(&world);
    private_dir(world.data_dir()).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(world.data_dir().join("palyra.sock"));
    let socket = socket.unwrap();
    let killed = std::thread::spawn(move || drop(socket.accept().unwrap()));
    assert_eq!(start(&world)["ready"], true);
    killed.join().unwrap();
}

#[test]
fn the_log_of_a_daemon_in_the_foreground_is_not_said_to_be_a_file() {
    let world = World::new();
    let background = Background(&world);
    start(&world);
    let log = world.data_dir().join("log/palyrad.log");
    let status = || world.palyra(&["daemon", "status", "--json"]).expect(0).json();
    assert_eq!(status()["log"], log.to_str().unwrap());
    drop(background);
    let daemon = world.palyrad();
    assert!(status()["log"].is_null(), "{}", status());
    assert!(!world.palyra(&["daemon", "status"]).expect(0).out.contains("palyrad.log"));
    let old = world.palyra(&["daemon", "logs"]).expect(0).err;
    assert!(old.contains(&format!("process {} logs where it was started", daemon.id())), "{old}");
}

#[test]
fn a_password_is_no_option_of_a_daemon() {
    let world = World::new();
    for command in ["start", "restart", "run"] {
        let url = "postgres://anna:geheim@127.0.0.1:1/x";
        let refused = world.palyra(&["daemon", command, "--", "--storage-url", url]).expect(2);
        assert!(refused.err.contains("`palyra config set storage.url -`"), "{refused:?}");
        assert!(!refused.err.contains("geheim"), "{refused:?}");
    }
    assert!(!world.data_dir().join("log").exists(), "nothing was started");
}
