//! Every operation of the HTTP API, asked what its description allows and what it does not.

use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_testkit::process::Process;
use serde_json::Value;

use crate::daemon::Daemon;

/// What `scripts/bootstrap test` installs.
const PACKAGES: &str = include_str!("../../../../scripts/schemathesis.txt");

/// Further than a bounded run gets on a slow machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// What is valid by the description may be refused by these: option names and their types are not
/// part of it, a new master key must suit the source of the old one, each kind of channel has settings
/// of its own, and a name or a message is not all blanks. What is followed as it happens has no end that
/// a question could wait for.
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

[[operations]]
include-name = "POST /admin/v1/sessions/{id}/messages"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "GET /admin/v1/runs/{id}/events"
enabled = false

[[operations]]
include-name = "GET /console/v1/events"
enabled = false
"#;

/// Operations that are followed, and not asked here.
const FOLLOWED: usize = 2;

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
fn description() -> String {
    let palyrad = env!("CARGO_BIN_EXE_palyrad");
    let said = std::process::Command::new(palyrad).arg("openapi").output().unwrap();
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).unwrap()
}

fn operations(description: &str) -> usize {
    let api: Value = serde_json::from_str(description).unwrap();
    api["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum()
}

#[test]
fn the_api_is_as_it_is_described() {
    let program = schemathesis();
    let (daemon, folder) = Daemon::with_config("[http]\nrequests_per_second = 0\n");
    let scopes = daemon.local("GET", "/admin/v1/whoami", "").json()["scopes"].clone();
    let scopes: Vec<&str> = scopes.as_array().unwrap().iter().filter_map(|s| s.as_str()).collect();
    let (_, secret) = daemon.token(&scopes);
    let settings = folder.path().join("schemathesis.toml");
    std::fs::write(&settings, SETTINGS).unwrap();
    let (api, description) = (folder.path().join("openapi.json"), description());
    std::fs::write(&api, &description).unwrap();

    // The same questions each time, so that a failure is of the change that is tested; other ones
    // with another seed.
    let seed = std::env::var("PALYRA_TEST_SEED").unwrap_or_else(|_| "1".into());
    let mut run = Process::builder(program)
        .current_dir(folder.path())
        .arg("--config-file")
        .arg(&settings)
        .arg("run")
        .arg(&api)
        .args(["--url", &format!("http://{}", daemon.http)])
        .args(["--header", &format!("Authorization: Bearer {secret}")])
        .args(["--phases", "coverage,fuzzing,stateful", "--max-examples", "25"])
        .args(["--seed", &seed])
        .args(["--workers", "1", "--request-timeout", "30", "--continue-on-failure", "--no-color"])
        // Nothing on the way to this machine itself.
        .env("NO_PROXY", "127.0.0.1")
        .spawn()
        .unwrap();
    let ended = run.wait(PATIENCE).unwrap();
    assert!(ended.success(), "{}\n{}", run.logs(), daemon.process.logs());
    let tested = format!("Tested: {}", operations(&description) - FOLLOWED);
    assert!(run.logs().contains(&tested), "{tested}: {}", run.logs());
    let panicked = daemon.process.logs().contains("panicked");
    assert!(!panicked, "{}", daemon.process.logs());
    assert_eq!(daemon.local("GET", "/readyz", "").status, 200);
    // Otherwise most of the questions were answered with that alone.
    let bearer = format!("Authorization: Bearer {secret}");
    assert_eq!(daemon.tcp("GET", "/admin/v1/whoami", &[&bearer], "").status, 200);
    let verified = daemon.local("POST", "/admin/v1/events/verify", "").json();
    assert_eq!(verified["fault"], Value::Null, "{verified}");
}
