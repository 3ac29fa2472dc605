//! The configuration, with and without a daemon.

use std::os::unix::fs::PermissionsExt;

use palyra_testkit::fs::private_dir;
use palyra_testkit::process::{Process, Stream};

use crate::world::{LIMIT, World, palyrad, ran};

#[test]
fn an_option_is_set_got_explained_and_unset_without_a_daemon() {
    changes(&World::new());
}

#[test]
fn an_option_is_set_got_explained_and_unset_with_a_daemon() {
    let world = World::new();
    let _daemon = world.palyrad();
    changes(&world);
}

fn changes(world: &World) {
    let get = || world.palyra(&["config", "get", "log.level"]).expect(0).out;
    assert_eq!(get(), "info\n");
    let changed = world.palyra(&["config", "set", "log.level", "warn", "--json"]).expect(0).json();
    assert!(changed["file"].as_str().unwrap().ends_with("palyra.toml"), "{changed}");
    assert_eq!(get(), "warn\n");
    let told = world.palyra(&["config", "explain", "log.level"]).expect(0).out;
    assert!(told.contains("palyra.toml") && told.contains("PALYRA_LOG_LEVEL"), "{told}");
    let shown = world.palyra(&["config", "show", "--changed", "--json"]).expect(0).json();
    let keys: Vec<_> = shown["options"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert!(keys.contains(&&"log.level".into()), "{keys:?}");
    world.palyra(&["config", "unset", "log.level"]).expect(0);
    assert_eq!(get(), "info\n");
    let missing = world.palyra(&["config", "get", "log.levle", "--json"]).expect(5);
    assert_eq!(missing.error_code(), "common/not_found");
}

#[test]
fn a_name_that_is_no_option_is_told_with_the_one_that_it_was_to_be() {
    let world = World::new();
    let check = || {
        for (name, told) in [
            ("log.levle", "did you mean log.level?"),
            ("htpp.bind", "did you mean http.bind?"),
            ("htpp", "in section http there are http.bind, "),
            ("http", "in section http there are http.bind, "),
            ("frobnicate", "`palyra config show` lists all"),
        ] {
            for arguments in [&["config", "get", name][..], &["config", "explain", name]] {
                let said = world.palyra(arguments).expect(5).err;
                assert!(said.contains(told), "{arguments:?}: {said}");
            }
            let said = world.palyra(&["config", "set", name, "x"]).expect(5).err;
            assert!(said.contains(told), "{said}");
        }
    };
    check();
    let _daemon = world.palyrad();
    check();
    std::fs::write(world.home().join("bad.toml"), "[htpp]\nbind = \"127.0.0.1:1\"\n").unwrap();
    let told = world.palyra(&["config", "validate", "bad.toml"]).expect(2).err;
    assert!(told.contains("htpp is not a section; did you mean http?"), "{told}");
}

/// What the command line of the running daemon says does not make the file right.
#[test]
fn the_doctor_tells_what_the_options_of_the_daemon_hide() {
    let world = World::new();
    private_dir(world.data_dir()).unwrap();
    let file = world.data_dir().join("palyra.toml");
    std::fs::write(&file, "[http]\nbind = \"0.0.0.0:80\"\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let _daemon = world.palyrad();
    let refused = world.palyra(&["config", "validate", "--json"]).expect(2);
    let refused: serde_json::Value = serde_json::from_str(&refused.err).unwrap();
    let config = || {
        let report = world.palyra(&["doctor", "--json"]).expect(0).json();
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "config").unwrap().clone()
    };
    let seen = config()["seen"].as_str().unwrap().to_owned();
    assert_eq!(config()["state"], "warning", "{seen}");
    assert!(seen.contains(refused["error"]["message"].as_str().unwrap()), "{seen}: {refused}");
    assert!(seen.contains("only with the command line of this daemon"), "{seen}");
    std::fs::write(&file, "").unwrap();
    assert_eq!(config()["state"], "ok");
}

#[test]
fn a_password_is_no_argument() {
    let world = World::new();
    let url = "postgres://anna:geheim-8161@127.0.0.1:1/x";
    let by_query = "postgres://anna@127.0.0.1:1/x?password=geheim-8161";
    let check = || {
        for url in [url, by_query] {
            let refused = world.palyra(&["config", "set", "storage.url", url]).expect(2);
            assert!(refused.err.contains("config set storage.url -"), "{refused:?}");
            assert!(!format!("{refused:?}").contains("geheim"), "{refused:?}");
        }
        let line = format!("{url}\n");
        let set = world.palyra_reading(&["config", "set", "storage.url", "-"], line.as_bytes());
        let set = set.expect(0);
        assert!(!format!("{set:?}").contains("geheim"), "{set:?}");
        let file = world.data_dir().join("palyra.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(&format!("url = \"{url}\"\n")), "{text}");
        std::fs::remove_file(file).unwrap();
    };
    check();
    let _daemon = world.palyrad();
    check();
    let mut direct = std::process::Command::new(palyrad());
    direct.args(["config", "set", "storage.url", url]).arg("--data-dir").arg(world.data_dir());
    let told = ran(&mut direct).expect(2).err;
    assert!(told.contains("config set storage.url -") && !told.contains("geheim"), "{told}");
}

#[test]
fn what_holds_no_password_is_an_argument_whatever_it_looks_like() {
    let world = World::new();
    let set = ["config", "set", "log.level", "palyra_vault::secret=debug"];
    let check = || {
        world.palyra(&set).expect(0);
        let text = std::fs::read_to_string(world.data_dir().join("palyra.toml")).unwrap();
        assert!(text.contains("level = \"palyra_vault::secret=debug\"\n"), "{text}");
        world.palyra(&["config", "unset", "log.level"]).expect(0);
    };
    check();
    let daemon = world.palyrad();
    check();
    drop(daemon);
    let mut direct = std::process::Command::new(palyrad());
    ran(direct.args(set).arg("--data-dir").arg(world.data_dir())).expect(0);
}

#[test]
fn a_value_that_cannot_be_used_is_refused_and_not_written() {
    let world = World::new();
    world.palyra(&["config", "set", "http.bind", "nowhere"]).expect(2);
    let _daemon = world.palyrad();
    world.palyra(&["config", "set", "http.bind", "nowhere"]).expect(2);
    assert!(!world.data_dir().join("palyra.toml").exists());
}

#[test]
fn a_file_is_checked_without_being_used() {
    let world = World::new();
    std::fs::write(world.home().join("good.toml"), "[log]\nlevel = \"warn\"\n").unwrap();
    std::fs::write(world.home().join("bad.toml"), "[log]\nlevle = \"warn\"\n").unwrap();
    world.palyra(&["config", "validate", "good.toml"]).expect(0);
    world.palyra(&["config", "validate"]).expect(0);
    let refused = world.palyra(&["config", "validate", "bad.toml", "--json"]).expect(2);
    assert!(refused.error_code().starts_with("config/"), "{refused:?}");
}

#[test]
fn what_is_no_option_is_removed_one_by_one() {
    let world = World::new();
    private_dir(world.data_dir()).unwrap();
    let file = world.data_dir().join("palyra.toml");
    std::fs::write(&file, "[log]\nlevle = 1\nlevel = \"warn\"\n[lgo]\nx = 1\n").unwrap();
    let left = world.palyra(&["config", "unset", "log.levle", "--json"]).expect(2);
    assert_eq!(left.error_code(), "config/unknown_key");
    assert!(left.err.contains("log.levle is removed; what is left"), "{left:?}");
    world.palyra(&["config", "unset", "lgo"]).expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[log]\nlevel = \"warn\"\n");
    world.palyra(&["config", "validate"]).expect(0);
}

#[test]
fn what_is_no_option_is_removed_under_a_daemon() {
    let world = World::new();
    let _daemon = world.palyrad();
    let file = world.data_dir().join("palyra.toml");
    std::fs::write(&file, "[log]\nlevle = 1\n").unwrap();
    world.palyra(&["config", "unset", "log.levle"]).expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[log]\n");
}

#[test]
fn what_is_not_set_is_not_found() {
    let world = World::new();
    let check = || {
        let missing = world.palyra(&["config", "unset", "log.level", "--json"]).expect(5);
        assert_eq!(missing.error_code(), "common/not_found");
        assert!(missing.err.contains("log.level is not set in "), "{missing:?}");
        world.palyra(&["config", "unset", "log.levle", "--json"]).expect(5);
        assert!(!world.data_dir().join("palyra.toml").exists());
    };
    check();
    let _daemon = world.palyrad();
    check();
}

#[test]
fn without_a_daemon_nothing_is_in_force_now() {
    let world = World::new();
    let set = ["config", "set", "log.level", "warn"];
    let told = world.palyra(&set).expect(0).out;
    assert!(told.contains("log.level: in force at the next start"), "{told}");
    let changed = world.palyra(&[&set[..], &["--json"]].concat()).expect(0).json();
    assert_eq!(changed["applied"], serde_json::json!([]));
    let _daemon = world.palyrad();
    assert!(world.palyra(&set).expect(0).out.contains("log.level: in force now"));
}

/// Whoever sets a value and looks is to see neither that it was lost nor that it is in force.
#[test]
fn a_value_that_waits_for_a_restart_is_shown() {
    let world = World::new();
    let _daemon = world.palyrad();
    let get = || world.palyra(&["config", "get", "storage.readers"]).expect(0);
    let set = |value| world.palyra(&["config", "set", "storage.readers", value]).expect(0).out;
    let before = get();
    assert_eq!(before.err, "");
    assert!(set("17").contains("storage.readers: in force after a restart"));
    let waits = get();
    assert_eq!(waits.out, before.out, "it is not in force yet");
    assert!(waits.err.contains("storage.readers is 17 from the next start on"), "{waits:?}");
    let told = world.palyra(&["config", "explain", "storage.readers"]).expect(0).out;
    let next = told.lines().find(|line| line.contains("next start on")).unwrap();
    assert!(next.contains("17"), "{told}");
    for show in [&["config", "show"][..], &["config", "show", "--changed"]] {
        let told = world.palyra(show).expect(0).out;
        assert!(told.lines().any(|line| line.ends_with("NEXT START")), "{told}");
        let row = told.lines().find(|line| line.starts_with("storage.readers")).unwrap();
        assert!(row.ends_with(" 17"), "{row:?}");
    }
    let told = set(before.out.trim_end());
    assert!(told.contains("storage.readers: in force now"), "{told}");
    assert_eq!(get().err, "");
    assert!(!world.palyra(&["config", "show"]).expect(0).out.contains("NEXT START"));
}

#[test]
fn an_option_without_a_value_is_said_to_have_none() {
    let world = World::new();
    let check = || {
        for key in ["storage.blobs", "models.providers.mine.api_key", "net.allow"] {
            let got = world.palyra(&["config", "get", key]).expect(0);
            assert_eq!(got.out, "", "{key}");
            assert!(got.err.contains(&format!("{key} is not set")), "{got:?}");
            let value = world.palyra(&["config", "get", key, "--json"]).expect(0);
            assert_eq!(value.err, "");
            assert!(value.json()["value"].is_string() || value.json()["value"].is_array());
        }
    };
    check();
    let _daemon = world.palyrad();
    check();
}

#[test]
fn a_file_that_is_no_toml_is_refused_with_the_place_of_the_mistake() {
    let world = World::new();
    private_dir(world.data_dir()).unwrap();
    let file = world.data_dir().join("palyra.toml");
    let check = || {
        std::fs::write(&file, "\n[log\nlevel = 5\n").unwrap();
        for change in
            [&["config", "set", "log.level", "warn"][..], &["config", "unset", "log.level"]]
        {
            let told = world.palyra(change).expect(2).err;
            assert!(told.contains("line 2, column 5: "), "{told}");
        }
    };
    check();
    std::fs::remove_file(&file).unwrap();
    let _daemon = world.palyrad();
    check();
    let refused = world.palyra(&["daemon", "restart"]).expect(2).err;
    assert!(refused.contains("nothing was stopped") && refused.contains("line 2"), "{refused}");
    assert_eq!(refused.matches("Correct what the message names").count(), 1, "{refused}");
}

#[test]
fn a_data_directory_that_is_made_for_the_file_is_private() {
    let world = World::new();
    world.palyra(&["config", "set", "log.level", "warn"]).expect(0);
    let mode = std::fs::metadata(world.data_dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_wrong_value_is_repaired_without_a_daemon() {
    let world = World::new();
    private_dir(world.data_dir()).unwrap();
    repairs(&world);
    world.palyra_reading(&["config", "set", "log.level", "-"], b"warn\n").expect(0);
    assert_eq!(world.palyra(&["config", "get", "log.level"]).expect(0).out, "warn\n");
    world.palyra_reading(&["config", "set", "log.level", "-"], b"").expect(2);
    world.palyra(&["config", "set", "log.levle", "warn"]).expect(5);
}

#[test]
fn a_wrong_value_is_repaired_under_a_daemon() {
    let world = World::new();
    let _daemon = world.palyrad();
    repairs(&world);
    assert_eq!(world.palyra(&["config", "get", "log.level"]).expect(0).out, "info\n");
}

fn repairs(world: &World) {
    let file = world.data_dir().join("palyra.toml");
    let broken = "[log]\nlevel = 5\n";
    for (change, after) in [
        (&["config", "set", "log.level", "warn"][..], "[log]\nlevel = \"warn\"\n"),
        (&["config", "unset", "log.level"], "[log]\n"),
    ] {
        std::fs::write(&file, broken).unwrap();
        world.palyra(&["config", "set", "http.max_headers", "64"]).expect(2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
        world.palyra(change).expect(0);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_no_mistake_in_the_configuration() {
    let world = World::new();
    std::fs::create_dir(world.data_dir()).unwrap();
    for folder in [world.home(), &world.data_dir()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let data_dir = world.data_dir();
    let arguments = ["--json", "--data-dir", data_dir.to_str().unwrap(), "config", "set"];
    let refused = Process::builder(env!("CARGO_BIN_EXE_palyra")).args(arguments);
    // The folder of the build may be closed to others.
    let program = world.home().join("palyrad");
    std::fs::copy(palyrad(), &program).unwrap();
    let refused = refused.args(["log.level", "warn"]).env("PALYRA_PALYRAD", program);
    let mut refused = refused.unprivileged().unwrap().spawn().unwrap();
    assert_eq!(refused.wait(LIMIT).unwrap().code(), Some(4), "{}", refused.logs());
    let told = refused.lines(Stream::Stderr).unwrap().join("\n");
    assert!(told.contains("storage/read_only") && told.contains("cannot be written"), "{told}");
}

#[test]
fn an_address_that_is_not_allowed_was_asked_wrongly() {
    let world = World::new();
    let set = ["config", "set", "http.bind", "0.0.0.0:80", "--json"];
    assert_eq!(world.palyra(&set).expect(2).error_code(), "daemon/address_refused");
}

#[test]
fn a_wrong_value_is_told_by_the_name_of_its_option() {
    let world = World::new();
    let check = || {
        for (key, value) in [("http.max_headers", "many"), ("http.bind", "nowhere")] {
            let told = world.palyra(&["config", "set", key, value]).expect(2).err;
            assert!(told.contains(key) && !told.contains("line "), "{told}");
        }
    };
    check();
    let _daemon = world.palyrad();
    check();
}

/// Each of them is an option, whichever crate knows its bounds; none may keep the daemon from being
/// reached or started.
#[test]
fn a_value_out_of_bounds_is_refused_where_it_is_set() {
    let world = World::new();
    let check = || {
        for (key, value) in [
            ("http.max_body_bytes", "131071"),
            ("storage.readers", "0"),
            ("storage.connections", "0"),
            ("storage.queue", "0"),
            ("storage.lease_ttl", "10ms"),
            ("storage.url", "mysql://db/x"),
            ("vault.key_file", "relative"),
        ] {
            let told = world.palyra(&["config", "set", key, value, "--json"]).expect(2);
            assert_eq!(told.error_code(), "config/invalid", "{key}");
            assert!(told.err.contains(key), "{told:?}");
        }
    };
    check();
    let _daemon = world.palyrad();
    check();
}

#[test]
fn one_address_for_both_interfaces_cannot_be_used() {
    let world = World::new();
    let text = "[http]\nbind = \"127.0.0.1:7142\"\n[grpc]\nbind = \"127.0.0.1:7142\"\n";
    std::fs::write(world.home().join("same.toml"), text).unwrap();
    let told = world.palyra(&["config", "validate", "same.toml"]).expect(2).err;
    assert!(told.contains("http.bind and grpc.bind are the same address"), "{told}");
    let free = text.replace("7142", "0");
    std::fs::write(world.home().join("free.toml"), free).unwrap();
    world.palyra(&["config", "validate", "free.toml"]).expect(0);
}

#[test]
fn a_mistyped_variable_is_told() {
    let world = World::new();
    let validate = |arguments: &[&str]| {
        ran(world.command(arguments).env("PALYRA_LOG_LEVLE", "warn")).expect(0)
    };
    let told = validate(&["config", "validate"]).err;
    assert!(told.contains("PALYRA_LOG_LEVLE looks like an option and is none"), "{told}");
    assert!(told.contains("did you mean PALYRA_LOG_LEVEL?"), "{told}");
    let warnings = validate(&["config", "validate", "--json"]).json()["warnings"].clone();
    assert_eq!(warnings.as_array().unwrap().len(), 1, "{warnings}");
    let mut plain = world.command(&["config", "validate"]);
    assert_eq!(ran(plain.env("PALYRA_LOG_LEVEL", "warn").env("PALYRA_TOKEN", "x")).err, "");
}

/// Each is told that the file is written.
#[test]
fn changes_at_the_same_time_are_all_in_the_file() {
    let world = World::new();
    let options = [
        ("log.level", "warn"),
        ("log.format", "json"),
        ("http.max_headers", "65"),
        ("http.max_requests", "255"),
        ("http.open_metrics", "true"),
        ("grpc.max_streams", "63"),
        ("storage.readers", "3"),
        ("storage.queue", "500"),
    ];
    std::thread::scope(|scope| {
        for (key, value) in options {
            scope.spawn(|| world.palyra(&["config", "set", key, value]).expect(0));
        }
    });
    for (key, value) in options {
        let got = world.palyra(&["config", "get", key]).expect(0).out;
        assert_eq!(got, format!("{value}\n"), "{key}");
    }
    let files = std::fs::read_dir(world.data_dir()).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["palyra.toml"]);
}

/// What a start would refuse is told where it is set, with what else is needed.
#[test]
fn a_profile_is_set_after_what_it_demands() {
    let world = World::new();
    let file = world.data_dir().join("palyra.toml");
    let profile = ["config", "set", "deployment.profile", "worker-enabled", "--json"];
    let url = ["config", "set", "storage.url", "postgres://anna@127.0.0.1:1/x"];
    let blobs = ["config", "set", "storage.blobs", "/srv/blobs"];
    let files = ["config", "set", "agents.workspaces", "/srv/files"];
    let check = || {
        let refused = world.palyra(&profile).expect(2);
        assert_eq!(refused.error_code(), "config/invalid");
        for part in ["storage.url is empty", "storage.blobs", "agents.workspaces", "first"] {
            assert!(refused.err.contains(part), "{part}: {refused:?}");
        }
        assert!(!file.exists());
        for set in [&url[..], &blobs, &files, &profile] {
            world.palyra(set).expect(0);
        }
        let before = std::fs::read_to_string(&file).unwrap();
        for needed in ["storage.blobs", "agents.workspaces"] {
            let refused = world.palyra(&["config", "unset", needed, "--json"]).expect(2);
            assert_eq!(refused.error_code(), "config/invalid");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
        // What was written by hand is repaired one by one.
        std::fs::write(&file, "[deployment]\nprofile = \"worker-enabled\"\n").unwrap();
        world.palyra(&["config", "validate"]).expect(2);
        world.palyra(&profile).expect(2);
        world.palyra(&url).expect(0);
        world.palyra(&blobs).expect(0);
        world.palyra(&files).expect(0);
        world.palyra(&["config", "validate"]).expect(0);
        std::fs::remove_file(&file).unwrap();
    };
    check();
    let _daemon = world.palyrad();
    check();
}
