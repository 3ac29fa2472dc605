//! Where a value comes from, and what a change of it does.

use std::process::{Command, Output};

use palyra_testkit::fs::private_tempdir;
use palyra_testkit::process::Stream;

use crate::daemon::{Daemon, LIMIT, palyrad, refused};

fn run(data_dir: &std::path::Path, args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palyrad"));
    command.args(args).arg("--data-dir").arg(data_dir).envs(env.iter().copied());
    command.output().unwrap()
}

fn option(view: &serde_json::Value, key: &str) -> (serde_json::Value, String) {
    let options = view["options"].as_array().unwrap();
    let found = options.iter().find(|option| option["key"] == key).unwrap();
    (found["value"].clone(), found["origin"].as_str().unwrap().to_owned())
}

#[test]
fn each_layer_comes_before_the_one_below() {
    let folder = private_tempdir().unwrap();
    let show = |env: &[(&str, &str)], flags: &[&str]| {
        let args: Vec<&str> = flags.iter().chain(&["config", "show"]).copied().collect();
        let shown = run(folder.path(), &args, env);
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        option(&serde_json::from_slice(&shown.stdout).unwrap(), "log.level")
    };
    assert_eq!(show(&[], &[]), ("info".into(), "default".into()));
    std::fs::write(folder.path().join("palyra.toml"), "[log]\nlevel = \"warn\"\n").unwrap();
    assert_eq!(show(&[], &[]), ("warn".into(), "file".into()));
    let env = [("PALYRA_LOG_LEVEL", "debug")];
    assert_eq!(show(&env, &[]), ("debug".into(), "environment".into()));
    assert_eq!(show(&env, &["--log-level", "error"]), ("error".into(), "command_line".into()));
    assert_eq!(show(&[("PALYRA_LOG_LEVEL", " ")], &[]), ("warn".into(), "file".into()));
}

/// Whoever is told where the file is may be in another folder.
#[test]
fn a_file_is_named_by_its_whole_path() {
    let folder = private_tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::write(folder.join("own.toml"), "").unwrap();
    for (args, env, file) in [
        (&["--data-dir", "data"][..], None, "data/palyra.toml"),
        (&["--data-dir", "data", "--config", "own.toml"], None, "own.toml"),
        (&["--data-dir", "data"], Some(("PALYRA_CONFIG", "own.toml")), "own.toml"),
        (&[], Some(("PALYRA_DATA_DIR", "data")), "data/palyra.toml"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palyrad"));
        command.current_dir(&folder).args(args).envs(env).args(["config", "show"]);
        let shown = command.output().unwrap();
        let view: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(view["file"], folder.join(file).to_str().unwrap(), "{args:?} {env:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_the_name_that_was_used() {
    let folder = private_tempdir().unwrap();
    for (env, named) in [
        (("PALYRA_HTTP_BIND", "nowhere"), "PALYRA_HTTP_BIND: "),
        (("PALYRA_HTTP_MAX_BODY_BYTES", "many"), "PALYRA_HTTP_MAX_BODY_BYTES: "),
        (("PALYRA_HTTP_MAX_HEADERS", "abc"), "expected a whole number\n"),
        (("PALYRA_HTTP_OPEN_METRICS", "perhaps"), "PALYRA_HTTP_OPEN_METRICS: "),
        (("PALYRA_DEPLOYMENT_PROFILE", "cloud"), "PALYRA_DEPLOYMENT_PROFILE: "),
        (("PALYRA_HTTP_HOSTS", "http://a/b"), "http.hosts: "),
    ] {
        let told = run(folder.path(), &["config", "show"], &[env]);
        let text = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(2), "{text}");
        assert!(text.contains(named) && text.contains("config/invalid"), "{text}");
    }
}

#[test]
fn a_change_keeps_the_rest_of_the_file() {
    let folder = private_tempdir().unwrap();
    let file = folder.path().join("palyra.toml");
    std::fs::write(&file, "# mine\n[log] # here\nlevel = \"warn\"\n").unwrap();
    let set =
        run(folder.path(), &["config", "set", "http.hosts", "a.example, b.example:8443"], &[]);
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# mine\n[log] # here\nlevel = \"warn\"\n"), "{text}");
    assert!(text.contains("hosts = [\"a.example\", \"b.example:8443\"]"), "{text}");
    let refused = run(folder.path(), &["config", "set", "http.max_requests", "0"], &[]);
    assert_eq!(refused.status.code(), Some(2));
    let unknown = run(folder.path(), &["config", "set", "http.host", "x"], &[]);
    let told = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(told.contains("did you mean http.hosts?"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "a refused change changes nothing");
    assert!(run(folder.path(), &["config", "unset", "http.hosts"], &[]).status.success());
    assert!(!std::fs::read_to_string(&file).unwrap().contains("a.example"));
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_none() {
    let folder = private_tempdir().unwrap();
    let file = folder.path().join("palyra.toml");
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    let (code, told) = refused(palyrad().data_dir(folder.path()));
    assert_eq!(code, Some(2));
    assert!(told.contains("config/invalid") && told.contains("palyra.toml"), "{told}");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(refused(palyrad().data_dir(folder.path())).0, Some(2));
    let (code, _) = refused(palyrad().data_dir(folder.path()).args(["--config", "/dev/zero"]));
    assert_eq!(code, Some(2));
}

#[test]
fn a_hangup_puts_into_force_what_can_change_and_names_the_rest() {
    // That the level is in force is seen from the warning, which would not be told otherwise.
    let (daemon, folder) = Daemon::with_config("[log]\nlevel = \"error\"\n");
    let host = "Host: palyra.example";
    assert_eq!(daemon.tcp("GET", "/healthz", &[host], "").status, 421);
    let text = "[log]\nlevel = \"debug\"\n[http]\nhosts = [\"palyra.example\"]\nmax_requests = 5\n\
                [models.providers.sim]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                [models.entries.sage]\nprovider = \"sim\"\nmodel = \"sage\"\n";
    std::fs::write(folder.path().join("palyra.toml"), text).unwrap();
    let hangup = || {
        let sent = Command::new("kill").args(["-HUP", &daemon.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    hangup();
    let told = daemon.process.wait_for_line("these need a restart", LIMIT).unwrap();
    assert!(told.contains("http.max_requests") && !told.contains("http.hosts"), "{told}");
    assert!(!told.contains("models"), "a model with a new name is in force: {told}");
    let models = daemon.local("GET", "/admin/v1/models", "").json();
    assert!(models.to_string().contains("\"sage\""), "{models}");
    assert_eq!(daemon.tcp("GET", "/healthz", &[host], "").status, 200);

    std::fs::write(folder.path().join("palyra.toml"), "[log]\nlevel = 5\n").unwrap();
    hangup();
    daemon.process.wait_for_line("the configuration stays as it was", LIMIT).unwrap();
    assert_eq!(daemon.tcp("GET", "/healthz", &[host], "").status, 200);
}

#[test]
fn programs_read_the_log_line_by_line() {
    let (mut daemon, _folder) = Daemon::with_config("[log]\nformat = \"json\"\n");
    daemon.process.terminate(LIMIT).unwrap();
    let lines = daemon.process.lines(Stream::Stderr).unwrap();
    assert!(!lines.is_empty());
    for line in lines {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
    }
}

#[test]
fn a_change_over_the_api_is_written_applied_and_guarded() {
    let daemon = Daemon::start();
    let before = daemon.local("GET", "/admin/v1/config", "");
    let tag = before.header("etag").unwrap().to_owned();
    let change = r#"{"set": {"http.hosts": ["palyra.example"], "http.max_requests": 9}}"#;
    let changed = daemon.local("PATCH", "/admin/v1/config", change);
    assert_eq!(changed.status, 200, "{changed:?}");
    let changed = changed.json();
    assert_eq!(changed["applied"], serde_json::json!(["http.hosts"]));
    assert_eq!(changed["needs_restart"], serde_json::json!(["http.max_requests"]));
    assert_eq!(daemon.tcp("GET", "/healthz", &["Host: palyra.example"], "").status, 200);

    let (_, secret) = daemon.token(&["config:write"]);
    let headers = [
        &format!("Authorization: Bearer {secret}"),
        "Content-Type: application/json",
        &format!("If-Match: {tag}"),
    ];
    let stale = daemon.tcp("PATCH", "/admin/v1/config", &headers, r#"{"unset": ["log.level"]}"#);
    assert_eq!((stale.status, stale.code().as_str()), (409, "common/conflict"));
    let wrong = daemon.local("PATCH", "/admin/v1/config", r#"{"set": {"http.hsts": []}}"#);
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "config/unknown_key"));
    let events = daemon.local("GET", "/admin/v1/events?action=config.", "").json();
    assert_eq!(events["items"].as_array().unwrap().len(), 1, "{events}");
}

/// Nobody waits for ever for whoever holds the file, neither the command nor the daemon.
#[test]
fn a_file_that_somebody_else_is_changing_is_left_to_them() {
    let before = "[log]\nlevel = \"info\"\n";
    let (daemon, folder) = Daemon::with_config(before);
    let holder = std::fs::File::open(folder.path()).unwrap();
    holder.lock().unwrap();
    let set = || run(folder.path(), &["config", "set", "http.max_headers", "65"], &[]);
    let patch = || {
        let change = r#"{"set": {"http.max_requests": 9}}"#;
        daemon.local("PATCH", "/admin/v1/config", change)
    };
    std::thread::scope(|scope| {
        let command = scope.spawn(set);
        let answer = patch();
        assert_eq!((answer.status, answer.code().as_str()), (409, "common/conflict"), "{answer:?}");
        let command = command.join().unwrap();
        let told = String::from_utf8_lossy(&command.stderr).into_owned();
        assert_eq!(command.status.code(), Some(6), "{told}");
        for part in ["palyra.toml", "nothing was changed", "common/conflict", "what to do:"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    });
    let file = folder.path().join("palyra.toml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    drop(holder);
    assert_eq!(patch().status, 200);
    assert!(set().status.success());
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(after.contains("max_requests = 9") && after.contains("max_headers = 65"), "{after}");
}

/// What is read is the file as it is now, so that reading again is a way out of a conflict.
#[test]
fn a_change_follows_an_edit_by_hand() {
    let (daemon, folder) = Daemon::with_config("[log]\nlevel = \"info\"\n");
    let file = folder.path().join("palyra.toml");
    let (_, secret) = daemon.token(&["config:write", "config:read"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let tag = || {
        let seen = daemon.local("GET", "/admin/v1/config", "");
        format!("If-Match: {}", seen.header("etag").unwrap())
    };
    let change = |tag: &str| {
        let headers = [bearer.as_str(), "Content-Type: application/json", tag];
        let body = r#"{"set": {"log.format": "json"}}"#;
        daemon.tcp("PATCH", "/admin/v1/config", &headers, body).status
    };
    let seen_before = tag();
    let by_hand = "# mine\n[log]\nlevel = \"warn\"\n[http]\nmax_requests = 5\n";
    std::fs::write(&file, by_hand).unwrap();
    let view = daemon.local("GET", "/admin/v1/config", "").json();
    let values = |key: &str| {
        let options = view["options"].as_array().unwrap();
        let found = options.iter().find(|option| option["key"] == key).unwrap();
        (found["value"].clone(), found["next"].clone())
    };
    assert_eq!(values("log.level"), ("info".into(), "warn".into()));
    assert_eq!(values("http.max_requests"), (256.into(), 5.into()));
    assert_eq!(change(&seen_before), 409, "somebody has changed the file meanwhile");
    assert_eq!(change(&tag()), 200);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("format = \"json\""), "{text}");

    std::fs::write(&file, "[log]\nlevel = 5\n").unwrap();
    let view = daemon.local("GET", "/admin/v1/config", "");
    assert_eq!(view.status, 200, "what is in force can be seen beside a file that is unusable");
    assert_eq!(option(&view.json(), "log.level").0, "warn");
}

#[test]
fn the_doctor_tells_what_would_stop_the_next_start() {
    let (daemon, folder) = Daemon::with_config("[log]\nlevel = \"info\"\n");
    let config = || {
        let doctor = daemon.local("GET", "/admin/v1/doctor", "").json();
        let checks = doctor["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "config").cloned().unwrap_or_default()
    };
    assert_eq!(config()["state"], "ok");
    std::fs::write(folder.path().join("palyra.toml"), "[log]\nlevel = 5\n").unwrap();
    let (seen, told) = (config(), run(folder.path(), &["config", "validate"], &[]));
    assert_eq!(seen["state"], "failed", "{seen}");
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains(seen["seen"].as_str().unwrap()), "{seen} {told}");
}

#[test]
fn a_password_is_never_shown() {
    let folder = private_tempdir().unwrap();
    let url = "postgres://anna:geheim@db.example:5433/palyra?password=geheim2";
    let shown = run(folder.path(), &["config", "show"], &[("PALYRA_STORAGE_URL", url)]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("postgres://anna@db.example:5433/palyra"), "{text}");
    assert!(!text.contains("geheim"), "{text}");
    let stray = run(folder.path(), &[url], &[]);
    let told = String::from_utf8_lossy(&stray.stderr).into_owned();
    assert_eq!(stray.status.code(), Some(2));
    assert!(!told.contains("geheim@"), "{told}");
}

/// Everybody on the machine can read the arguments of a program.
#[test]
fn a_password_is_no_argument() {
    let folder = private_tempdir().unwrap();
    for url in ["postgres://anna:geheim@db/x", "postgres://db/x?password=geheim"] {
        for command in [&[][..], &["config", "show"], &["preflight"]] {
            let asked = [&["--storage-url", url], command].concat();
            let refused = run(folder.path(), &asked, &[]);
            let told = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(2), "{told}");
            assert!(told.contains("config/invalid") && !told.contains("geheim"), "{told}");
            assert!(told.contains("PALYRA_STORAGE_URL"), "{told}");
        }
    }
}

/// Closed before the answer: the file is written, so it is recorded and in force as well.
#[test]
fn a_change_whose_caller_goes_away_is_whole() {
    use std::io::Write;
    let daemon = Daemon::start();
    let ask_and_go = |n: usize| {
        let body = format!("{{\"set\": {{\"http.hosts\": [\"n{n}.example\"]}}}}");
        let mut stream = std::os::unix::net::UnixStream::connect(&daemon.running.socket).unwrap();
        let head = "PATCH /admin/v1/config HTTP/1.1\r\nHost: x\r\nContent-Type: application/json";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    };
    let file = daemon.data_dir().join("palyra.toml");
    let deadline = std::time::Instant::now() + LIMIT;
    loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        // Those who are gone before they were heard have asked for nothing.
        if text.is_empty() {
            (0..10).for_each(ask_and_go);
        }
        let view = daemon.local("GET", "/admin/v1/config", "").json();
        let (hosts, _) = option(&view, "http.hosts");
        let events = daemon.local("GET", "/admin/v1/events?action=config.changed", "").json();
        let recorded = events["items"].as_array().unwrap().len();
        let in_force = hosts[0].as_str().is_some_and(|host| text.contains(host));
        if in_force && recorded > 0 {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{text}: {hosts}, {recorded} recorded");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn what_needs_a_restart_is_not_in_force_before_it() {
    let daemon = Daemon::start();
    let change = r#"{"set": {"http.open_metrics": true}}"#;
    let changed = daemon.local("PATCH", "/admin/v1/config", change).json();
    assert_eq!(changed["needs_restart"], serde_json::json!(["http.open_metrics"]));
    assert_eq!(daemon.tcp("GET", "/metrics", &[], "").status, 401);
    let view = daemon.local("GET", "/admin/v1/config", "").json();
    let options = view["options"].as_array().unwrap();
    let shown = options.iter().find(|option| option["key"] == "http.open_metrics").unwrap();
    assert_eq!((&shown["value"], &shown["next"]), (&false.into(), &true.into()), "{shown}");
}

#[test]
fn of_the_command_for_the_key_only_the_program_is_shown() {
    let config = "[vault]\nkey_command = [\"/bin/echo\", \"Sup3rS3cretArgument\"]\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let shown = daemon.local("GET", "/admin/v1/config", "");
    assert!(shown.body.contains("/bin/echo") && !shown.body.contains("Sup3rS3cret"), "{shown:?}");
}

/// Nodes that share nothing are not several nodes of one installation.
#[test]
fn a_profile_of_several_nodes_needs_postgres_and_shared_blobs_and_workspaces() {
    let server = palyra_testkit::postgres::PostgresServer::shared().unwrap();
    let locale = palyra_testkit::postgres::DatabaseLocale::C;
    let database = server.create_database(locale).unwrap();
    let url = database.url();
    let folder = private_tempdir().unwrap();
    let start = || {
        let profile = ("PALYRA_DEPLOYMENT_PROFILE", "worker-enabled");
        palyrad().data_dir(folder.path()).env(profile.0, profile.1)
    };
    let (code, told) = refused(start());
    assert_eq!(code, Some(2), "{told}");
    for part in ["config/invalid", "worker-enabled", "storage.url is empty", "what to do:"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!folder.path().join("palyra.db").exists(), "nothing is made");
    let (code, told) = refused(start().args(["--storage-url", &url]));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("config/invalid") && told.contains("storage.blobs is empty"), "{told}");
    let blobs = folder.path().join("shared").display().to_string();
    std::fs::create_dir(&blobs).unwrap();
    let start = || start().args(["--storage-url", &url]).env("PALYRA_STORAGE_BLOBS", &blobs);
    let (code, told) = refused(start());
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("agents.workspaces is empty"), "{told}");
    let (code, told) = refused(start().env("PALYRA_AGENTS_WORKSPACES", "files"));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("agents.workspaces is an absolute path"), "{told}");
    let files = folder.path().join("files").display().to_string();
    Daemon::of(start().env("PALYRA_AGENTS_WORKSPACES", &files));
}
