//! The vault behind the API.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use palyra_testkit::fs::{private_dir, private_tempdir};

use crate::daemon::{Daemon, LIMIT, palyrad};

const CANARY: &str = "canary-4f1d9b7e-do-not-print";

#[test]
fn a_secret_is_stored_listed_and_deleted_without_ever_being_shown() {
    let daemon = Daemon::start();
    let value = serde_json::json!({ "value": CANARY }).to_string();
    let stored = daemon.local("PUT", "/admin/v1/secrets/global/discord-token", &value);
    assert_eq!(stored.json()["version"], 1, "{stored:?}");
    let stored = daemon.local("PUT", "/admin/v1/secrets/global/discord-token", &value);
    assert_eq!(stored.json()["version"], 2);
    let listed = daemon.local("GET", "/admin/v1/secrets", "");
    let names = listed.json()["items"].clone();
    assert_eq!(names[0]["name"], "discord-token");
    assert_eq!(names[0]["versions"].as_array().unwrap().len(), 2);

    let wrong = daemon.local("PUT", "/admin/v1/secrets/nowhere/x", &value);
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "common/invalid_input"));
    let large = serde_json::json!({ "value": CANARY.repeat(4_000) }).to_string();
    let large = daemon.local("PUT", "/admin/v1/secrets/global/x", &large);
    assert_eq!((large.status, large.code().as_str()), (413, "vault/too_large"));
    let rotated = daemon.local("POST", "/admin/v1/secrets/rotate-master", "{}");
    assert_eq!(rotated.json()["rewrapped"], 2, "{rotated:?}");
    let gone = daemon.local("DELETE", "/admin/v1/secrets/global/discord-token", "");
    assert_eq!(gone.status, 204, "{gone:?}");
    let gone = daemon.local("DELETE", "/admin/v1/secrets/global/discord-token", "");
    assert_eq!((gone.status, gone.code().as_str()), (404, "common/not_found"));

    for answer in [&stored, &listed, &wrong, &large, &rotated, &gone] {
        assert!(!answer.body.contains(CANARY), "{answer:?}");
    }
}

/// Whoever could ask from elsewhere could try out guesses.
#[test]
fn texts_are_redacted_for_the_local_owner_only() {
    let daemon = Daemon::start();
    let value = serde_json::json!({ "value": CANARY }).to_string();
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/canary", &value).status, 200);
    let texts = serde_json::json!({ "texts": ["innocent", format!("it is {CANARY}.")] });
    let (texts, path) = (texts.to_string(), "/admin/v1/redact");
    let redacted = daemon.local("POST", path, &texts).json();
    let expected = serde_json::json!(["innocent", "it is [redacted:global/canary]."]);
    assert_eq!(redacted["texts"], expected);
    let (_, token) = daemon.token(&["secrets:read", "secrets:write"]);
    let headers = [&format!("Authorization: Bearer {token}"), "Content-Type: application/json"];
    let refused = daemon.tcp("POST", path, &headers, &texts);
    assert_eq!((refused.status, refused.code().as_str()), (403, "auth/local_only"), "{refused:?}");
}

/// In the log it is a person's own doing: a path with the secret in it, at the chattiest level.
#[test]
fn a_planted_secret_appears_nowhere() {
    let (mut daemon, folder) = Daemon::with_config("[log]\nlevel = \"trace\"\n");
    let value = serde_json::json!({ "value": CANARY }).to_string();
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/canary", &value).status, 200);
    let (_, token) = daemon.token(&["metrics:read"]);
    let bearer = format!("Authorization: Bearer {token}");
    let part = "/admin/v1/channels/echo:default/dead-letters/envelope";
    let answers = [
        daemon.tcp("GET", "/metrics", &[&bearer], ""),
        daemon.local("GET", &format!("/{CANARY}"), ""),
        daemon.local(CANARY, "/admin/v1/status", ""),
        daemon.local("GET", &format!("/admin/v1/runs/{CANARY}"), ""),
        daemon.local("GET", &format!("/admin/v1/events?order={CANARY}"), ""),
        daemon.local("POST", &format!("{part}/{CANARY}/replay"), ""),
        daemon.local("GET", "/admin/v1/events?limit=100", ""),
        daemon.local("GET", "/admin/v1/config", ""),
        daemon.local("GET", "/admin/v1/status", ""),
        daemon.local("GET", "/admin/v1/doctor", ""),
        daemon.local("GET", "/admin/v1/secrets", ""),
    ];
    for answer in &answers {
        assert!(!answer.body.contains(CANARY) && !answer.body.contains(&token), "{answer:?}");
    }
    // While it runs what was written last is in the log of the database, which a stop folds in.
    assert!(std::fs::metadata(folder.path().join("palyra.db-wal")).unwrap().len() > 0);
    assert_absent(folder.path(), &[CANARY, &token]);
    daemon.process.terminate(LIMIT).unwrap();
    for line in daemon.process.logs().lines() {
        assert!(!line.contains(CANARY) && !line.contains(&token), "{line}");
    }
    assert_absent(folder.path(), &[CANARY, &token]);
}

/// A message that holds the value: the path of a file that cannot be read.
#[test]
fn what_is_logged_is_logged_without_values() {
    let folder = private_tempdir().unwrap();
    let data = folder.path().join(CANARY);
    private_dir(&data).unwrap();
    let daemon = Daemon::of(palyrad().data_dir(&data));
    let value = serde_json::json!({ "value": CANARY }).to_string();
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/canary", &value).status, 200);
    let before = daemon.process.logs().lines().count();
    std::fs::write(data.join("palyra.toml"), "[nonsense").unwrap();
    let id = rustix::process::Pid::from_raw(daemon.process.id().cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::HUP).unwrap();
    daemon.process.wait_for_line("[redacted:global/canary]", LIMIT).unwrap();
    let logs = daemon.process.logs();
    assert!(logs.lines().skip(before).all(|line| !line.contains(CANARY)), "{logs}");
}

#[test]
fn a_list_of_secrets_has_pages() {
    let daemon = Daemon::start();
    let names = ["agent:a/x", "global/a", "global/b", "skill:s/a"];
    for name in names {
        let path = format!("/admin/v1/secrets/{name}");
        assert_eq!(daemon.local("PUT", &path, r#"{"value": "geheim"}"#).status, 200);
        assert_eq!(daemon.local("PUT", &path, r#"{"value": "anders"}"#).status, 200);
    }
    let mut path = "/admin/v1/secrets?limit=3".to_owned();
    let mut pages = Vec::new();
    loop {
        let page = daemon.local("GET", &path, "").json();
        let items = page["items"].as_array().unwrap().iter().map(|item| {
            assert_eq!(item["versions"].as_array().unwrap().len(), 2, "{item}");
            format!("{}/{}", item["scope"].as_str().unwrap(), item["name"].as_str().unwrap())
        });
        pages.push(items.collect::<Vec<_>>());
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/admin/v1/secrets?limit=3&after={next}");
    }
    assert_eq!(pages, [&names[..3], &names[3..]]);
    for (query, code) in [
        ("limit=0", "http/malformed"),
        ("limit=201", "http/malformed"),
        ("after=nothing", "common/invalid_input"),
        ("before=global/a", "http/malformed"),
    ] {
        let refused = daemon.local("GET", &format!("/admin/v1/secrets?{query}"), "");
        assert_eq!((refused.status, refused.code().as_str()), (400, code), "{query}");
    }
}

/// No file below `folder` holds one of `texts`.
pub(crate) fn assert_absent(folder: &Path, texts: &[&str]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_absent(&path, texts);
        } else if path.is_file() {
            // A running daemon may take one away in between.
            let Ok(bytes) = std::fs::read(&path) else { continue };
            for text in texts {
                let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
                assert!(!found, "{} is in {}", text, path.display());
            }
        }
    }
}

#[test]
fn a_lost_key_stops_secrets_and_nothing_else() {
    let (mut daemon, folder) = Daemon::with_config("");
    let value = serde_json::json!({ "value": CANARY }).to_string();
    let key = private_tempdir().unwrap();
    let file = key.path().join("master.key");
    daemon.process.restart_with(|builder| builder.env("PALYRA_VAULT_KEY_FILE", &file)).unwrap();
    daemon.process.wait_ready(LIMIT).unwrap();
    let mut daemon = again(daemon);
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/x", &value).status, 200);
    let right = std::fs::read(&file).unwrap();

    std::fs::remove_file(&file).unwrap();
    daemon.process.restart().unwrap();
    daemon.process.wait_ready(LIMIT).unwrap();
    daemon = again(daemon);
    let lost = daemon.local("PUT", "/admin/v1/secrets/global/y", &value);
    assert_eq!((lost.status, lost.code().as_str()), (409, "vault/no_key"));
    let texts = serde_json::json!({ "texts": [CANARY] }).to_string();
    let unknown = daemon.local("POST", "/admin/v1/redact", &texts);
    assert_eq!((unknown.status, unknown.code().as_str()), (409, "vault/no_key"), "{unknown:?}");
    let status = daemon.local("GET", "/admin/v1/status", "").json();
    assert_eq!(status["vault"]["problem"]["code"], "vault/no_key");
    assert!(status["vault"]["problem_seen_at"].is_number(), "{status}");
    assert_eq!(status["ready"], true, "the rest works");

    std::fs::write(&file, &right).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let status = daemon.local("GET", "/admin/v1/status", "").json();
    assert!(status["vault"].get("problem").is_none(), "it was looked at again: {status}");
    assert!(status["vault"]["key_id"].is_string(), "{status}");
    let redacted = daemon.local("POST", "/admin/v1/redact", &texts);
    assert_eq!((redacted.status, redacted.body.contains(CANARY)), (200, false), "{redacted:?}");
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/y", &value).status, 200);
    drop(folder);
}

/// It is in memory then, and gone with the next stop, unless somebody is told in time.
#[test]
fn a_key_that_is_lost_while_the_daemon_runs_is_told_and_replaced() {
    let key = private_tempdir().unwrap();
    let file = key.path().join("master.key");
    let config = format!("[vault]\nkey_file = \"{}\"\n", file.display());
    let (mut daemon, _folder) = Daemon::with_config(&config);
    let value = serde_json::json!({ "value": CANARY }).to_string();
    let put = |daemon: &Daemon, name: &str| {
        daemon.local("PUT", &format!("/admin/v1/secrets/global/{name}"), &value)
    };
    assert_eq!(put(&daemon, "x").status, 200);
    assert_eq!(vault_check(&daemon)["state"], "ok");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let check = vault_check(&daemon);
    assert_eq!(check["state"], "failed", "{check}");
    assert!(check["seen"].as_str().unwrap().contains("(vault/key_exposed)"), "{check}");
    assert_eq!(put(&daemon, "y").code(), "vault/key_exposed");

    std::fs::remove_file(&file).unwrap();
    let check = vault_check(&daemon);
    assert_eq!(check["state"], "failed", "{check}");
    let seen = check["seen"].as_str().unwrap();
    assert!(seen.contains("does not exist") && seen.contains(file.to_str().unwrap()), "{check}");
    assert!(check["advice"].as_str().unwrap().contains("do not stop it"), "{check}");
    let lost = put(&daemon, "y");
    assert_eq!((lost.status, lost.code().as_str()), (409, "vault/key_only_in_memory"));
    let status = daemon.local("GET", "/admin/v1/status", "").json();
    assert_eq!(status["vault"]["problem"]["code"], "vault/key_only_in_memory", "{status}");
    assert_eq!(status["ready"], true, "the rest works");

    let rotated = daemon.local("POST", "/admin/v1/secrets/rotate-master", "{}");
    assert_eq!(rotated.json()["rewrapped"], 1, "{rotated:?}");
    assert_eq!(put(&daemon, "y").status, 200);
    assert_eq!(vault_check(&daemon)["state"], "ok");
    daemon.process.restart().unwrap();
    daemon.process.wait_ready(LIMIT).unwrap();
    let daemon = again(daemon);
    assert_eq!(vault_check(&daemon)["state"], "ok");
    let texts = serde_json::json!({ "texts": [CANARY] }).to_string();
    let redacted = daemon.local("POST", "/admin/v1/redact", &texts);
    assert!(!redacted.body.contains(CANARY), "it can be read: {redacted:?}");
}

/// The key file is lost after a rotation, which has kept a copy beside it.
#[test]
fn a_copy_of_the_key_that_is_used_instead_of_the_key_file_is_told_everywhere() {
    let key = private_tempdir().unwrap();
    let file = key.path().join("master.key");
    let config = format!("[vault]\nkey_file = \"{}\"\n", file.display());
    let (mut daemon, _folder) = Daemon::with_config(&config);
    let value = serde_json::json!({ "value": CANARY }).to_string();
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/x", &value).status, 200);
    let rotated = daemon.local("POST", "/admin/v1/secrets/rotate-master", "{}").json();
    let kept = format!("{}.{}", file.display(), rotated["key_id"].as_str().unwrap());
    std::fs::remove_file(&file).unwrap();
    daemon.process.restart().unwrap();
    daemon.process.wait_ready(LIMIT).unwrap();
    let daemon = again(daemon);

    let told =
        format!("the file {kept} instead of the key file {}, which does not exist", file.display());
    let status = daemon.local("GET", "/admin/v1/status", "").json();
    assert!(status["vault"]["key_source"].as_str().unwrap().contains(&told), "{status}");
    assert_eq!(status["vault"]["key_id"], rotated["key_id"], "secrets can be used: {status}");
    let check = vault_check(&daemon);
    assert_eq!(check["state"], "warning", "{check}");
    assert!(check["seen"].as_str().unwrap().contains(&told), "{check}");
    let advice = format!("Copy {kept} to {}, with mode 0600.", file.display());
    assert_eq!(check["advice"], advice.as_str(), "{check}");
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/x", &value).status, 200);
    let logs = daemon.process.logs();
    assert_eq!(logs.matches(&told).count(), 1, "{logs}");

    std::fs::copy(kept, &file).unwrap();
    assert_eq!(vault_check(&daemon)["state"], "ok");
    let status = daemon.local("GET", "/admin/v1/status", "").json();
    let usual = format!("the key file {}", file.display());
    assert_eq!(status["vault"]["key_source"], usual.as_str());
}

/// As one that is mounted by itself or may not be changed: it stays as it is, whatever the rotation
/// says.
#[test]
fn a_key_file_that_cannot_be_replaced_is_told_by_the_rotation_and_everywhere() {
    let key = private_tempdir().unwrap();
    let file = key.path().join("master.key");
    let config = format!("[vault]\nkey_file = \"{}\"\n", file.display());
    let (daemon, _folder) = Daemon::with_config(&config);
    let value = serde_json::json!({ "value": CANARY }).to_string();
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/x", &value).status, 200);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let rotated = daemon.local("POST", "/admin/v1/secrets/rotate-master", "{}").json();
    let kept = format!("{}.{}", file.display(), rotated["key_id"].as_str().unwrap());
    assert_eq!(rotated["key_file"], kept.as_str(), "{rotated}");
    let told = format!("instead of the key file {}, which could not be replaced", file.display());
    let advice = format!("Write what {kept} holds into {}", file.display());
    assert!(rotated["next_step"].as_str().unwrap().starts_with(&advice), "{rotated}");
    for _ in 0..3 {
        let check = vault_check(&daemon);
        assert_eq!(check["state"], "warning", "{check}");
        assert!(check["seen"].as_str().unwrap().contains(&told), "{check}");
        assert!(check["advice"].as_str().unwrap().starts_with(&advice), "{check}");
    }
    let status = daemon.local("GET", "/admin/v1/status", "").json();
    assert!(status["vault"]["key_source"].as_str().unwrap().contains(&told), "{status}");
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/x", &value).status, 200);
    let logs = daemon.process.logs();
    assert_eq!(logs.matches(&told).count(), 1, "{logs}");
    assert!(!logs.contains("waits beside"), "{logs}");

    std::fs::remove_dir(&file).unwrap();
    assert_eq!(vault_check(&daemon)["state"], "ok", "it takes its place as soon as it can");
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(kept).unwrap());
}

fn vault_check(daemon: &Daemon) -> serde_json::Value {
    let doctor = daemon.local("GET", "/admin/v1/doctor", "").json();
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "vault").unwrap().clone()
}

/// A program that prints the key, until it is told to wait.
#[test]
fn a_source_of_the_key_that_hangs_is_told_and_holds_nothing_up() {
    let folder = private_tempdir().unwrap();
    let (script, waits) = (folder.path().join("key.sh"), folder.path().join("waits"));
    // It outlives a daemon that is killed, but not the folder.
    let (wait, key) = (waits.display(), "0f".repeat(32));
    let text = format!("while [ -e '{wait}' ]; do sleep 0.1; done\necho {key}\n");
    std::fs::write(&script, text).unwrap();
    let config = format!(
        "[vault]\nkey_source = \"command\"\nkey_command = [\"/bin/sh\", \"{}\"]\n",
        script.display()
    );
    let (mut daemon, _folder) = Daemon::with_config(&config);
    let value = serde_json::json!({ "value": CANARY }).to_string();
    // A key is in use then, and nothing needs it at the next start.
    assert_eq!(daemon.local("PUT", "/admin/v1/secrets/global/x", &value).status, 200);
    assert_eq!(daemon.local("DELETE", "/admin/v1/secrets/global/x", "").status, 204);
    std::fs::write(&waits, "").unwrap();
    daemon.process.restart().unwrap();
    daemon.process.wait_ready(LIMIT).unwrap();
    let daemon = again(daemon);
    let status = daemon.local("GET", "/admin/v1/status", "").json();
    let problem = &status["vault"]["problem"];
    assert_eq!(problem["code"], "vault/no_key", "{status}");
    let told = "the command /bin/sh did not answer within 2 s";
    assert_eq!(problem["message"], told, "{status}");
    assert!(status["vault"]["problem_seen_at"].is_number(), "{status}");
    assert_eq!(status["ready"], true, "the rest works");
}

fn again(daemon: Daemon) -> Daemon {
    let running = crate::daemon::running(daemon.data_dir());
    Daemon { http: running.http.parse().unwrap(), running, process: daemon.process }
}
