//! Every operation of the HTTP API, asked what its description allows and what it does not.

use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_testkit::process::Process;
use serde_json::Value;

use crate::access::{cookie, csrf};
use crate::daemon::Daemon;

/// What `scripts/bootstrap test` installs.
const PACKAGES: &str = include_str!("../../../../scripts/schemathesis.txt");

/// Further than a bounded run gets on a slow machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// What is valid by the description may be refused by these: option names and their types are not
/// part of it, a new master key must suit the source of the old one, each kind of channel has settings
/// of its own, a name or a message is not all blanks, and which fields an event of telemetry has depends on
/// its kind. A handoff is read as far as it can be, whatever it says; a token of one is JSON.
///
/// What is followed as it happens may have no end that a question could wait for, so it is asked what it has
/// to refuse; where a run is found that can be followed, one event is read. Its schema is that of the whole
/// body, and not of each event.
const SETTINGS: &str = r#"
[[operations]]
include-name = "PATCH /admin/v1/config"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /admin/v1/secrets/rotate-master"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /admin/v1/channels"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "PUT /admin/v1/channels/{id}"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /admin/v1/agents"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "PUT /admin/v1/agents/{id}"
checks.positive_data_acceptance.enabled = false

# The default one stays.
[[operations]]
include-name = "DELETE /admin/v1/agents/{id}"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /admin/v1/sessions/{id}/messages"
checks.positive_data_acceptance.enabled = false

# The name of an agent is one that there is, and what is asked can be had.
[[operations]]
include-name = "POST /v1/chat/completions"
checks.positive_data_acceptance.enabled = false
max-stream-events = 1
checks.response_schema_conformance.enabled = false

[[operations]]
include-name = "POST /console/v1/telemetry"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "GET /console/v1/handoff"
checks.positive_data_acceptance.enabled = false
checks.negative_data_rejection.enabled = false

[[operations]]
include-name = "GET /"
checks.negative_data_rejection.enabled = false

[[operations]]
include-name = "GET /admin/v1/runs/{id}/events"
generation.mode = "negative"
max-stream-events = 1
checks.response_schema_conformance.enabled = false

[[operations]]
include-name = "GET /console/v1/events"
generation.mode = "negative"
max-stream-events = 1
checks.response_schema_conformance.enabled = false
"#;

fn schemathesis() -> PathBuf {
    let program = match std::env::var_os("PALYRA_TEST_SCHEMATHESIS") {
        Some(program) => PathBuf::from(program),
        None => {
            let version = PACKAGES.lines().find_map(|line| line.strip_prefix("schemathesis=="));
            let folder = format!("palyra/schemathesis-{}", version.unwrap());
            cache().join(folder).join("bin/schemathesis")
        }
    };
    assert!(
        program.exists(),
        "{} is missing: run scripts/bootstrap test, or set PALYRA_TEST_SCHEMATHESIS to the program",
        program.display()
    );
    program
}

fn cache() -> PathBuf {
    let named = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    named
        .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from)
}

/// What the daemon says of itself.
pub(crate) fn description() -> String {
    let palyrad = env!("CARGO_BIN_EXE_palyrad");
    let said = std::process::Command::new(palyrad).arg("openapi").output().unwrap();
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).unwrap()
}

fn operations(description: &str) -> usize {
    let api: Value = serde_json::from_str(description).unwrap();
    api["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum()
}

/// Which requests are made, and how often.
struct Run<'a> {
    /// What lets them in: whole lines.
    headers: &'a [String],
    /// How the audit trail names it.
    credential: &'a str,
    /// What would close the door behind it.
    without: Option<&'a str>,
    phases: &'a str,
    examples: &'a str,
}

/// All that the daemon says of itself, tried with a daemon of its own.
fn fuzz(daemon: &Daemon, folder: &Path, run: &Run<'_>) {
    let settings = folder.join("schemathesis.toml");
    std::fs::write(&settings, SETTINGS).unwrap();
    let (api, description) = (folder.join("openapi.json"), description());
    std::fs::write(&api, &description).unwrap();
    // The same questions each time, so that a failure is of the change that is tested; other ones
    // with another seed.
    let seed = std::env::var("PALYRA_TEST_SEED").unwrap_or_else(|_| "1".into());
    let mut process = Process::builder(schemathesis())
        .current_dir(folder)
        .arg("--config-file")
        .arg(&settings)
        .arg("run")
        .arg(&api)
        .args(["--url", &format!("http://{}", daemon.http)])
        .args(run.headers.iter().flat_map(|line| ["--header", line]))
        .args(run.without.iter().flat_map(|path| ["--exclude-path", path]))
        .args(["--phases", run.phases, "--max-examples", run.examples])
        .args(["--seed", &seed])
        .args(["--workers", "1", "--request-timeout", "30", "--continue-on-failure", "--no-color"])
        // Nothing on the way to this machine itself.
        .env("NO_PROXY", "127.0.0.1")
        .spawn()
        .unwrap();
    let ended = process.wait(PATIENCE).unwrap();
    assert!(ended.success(), "{}\n{}", process.logs(), daemon.process.logs());
    let tested = operations(&description) - usize::from(run.without.is_some());
    let tested = format!("Tested: {tested}");
    assert!(process.logs().contains(&tested), "{tested}: {}", process.logs());
    let panicked = daemon.process.logs().contains("panicked");
    assert!(!panicked, "{}", daemon.process.logs());
    assert_eq!(daemon.local("GET", "/readyz", "").status, 200);
    // Otherwise most of the questions were answered with that alone.
    let headers: Vec<&str> = run.headers.iter().map(String::as_str).collect();
    assert_eq!(daemon.tcp("GET", "/admin/v1/whoami", &headers, "").status, 200);
    let made = daemon.local("GET", "/admin/v1/events?action=login_code.created", "").json();
    let mut by = made["items"].as_array().unwrap().iter().map(|made| &made["detail"]["credential"]);
    let let_in = by.any(|by| by.as_str().is_some_and(|by| by.starts_with(run.credential)));
    assert!(let_in, "no change was let in: {made}");
    let verified = daemon.local("POST", "/admin/v1/events/verify", "").json();
    assert_eq!(verified["fault"], Value::Null, "{verified}");
}

const ANY_RATE: &str = "[http]\nrequests_per_second = 0\n";

#[test]
fn the_api_is_as_it_is_described() {
    let (daemon, folder) = Daemon::with_config(ANY_RATE);
    let scopes = daemon.local("GET", "/admin/v1/whoami", "").json()["scopes"].clone();
    let scopes: Vec<&str> = scopes.as_array().unwrap().iter().filter_map(|s| s.as_str()).collect();
    let (_, secret) = daemon.token(&scopes);
    let run = Run {
        headers: &[format!("Authorization: Bearer {secret}")],
        credential: "token:",
        without: None,
        phases: "coverage,fuzzing,stateful",
        examples: "25",
    };
    fuzz(&daemon, folder.path(), &run);
}

/// The same handlers through the door of a browser, of which less is asked: what differs is who lets
/// them in.
#[test]
fn a_browser_meets_the_same_api() {
    let (daemon, folder) = Daemon::with_config(ANY_RATE);
    let cookie = cookie(&daemon.tcp("POST", &daemon.login_path(), &[], ""));
    let csrf = csrf(&daemon, &cookie);
    let run = Run {
        headers: &[cookie, csrf, format!("Origin: http://{}", daemon.http)],
        credential: "login:",
        without: Some("/console/v1/logout"),
        phases: "coverage,fuzzing",
        examples: "4",
    };
    fuzz(&daemon, folder.path(), &run);
    let headers: Vec<&str> = run.headers.iter().map(String::as_str).collect();
    assert_eq!(daemon.tcp("POST", "/console/v1/logout", &headers, "").status, 204);
}
