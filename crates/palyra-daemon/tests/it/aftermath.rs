//! What a restore brings back, and what becomes of it.

use std::path::{Path, PathBuf};

use palyra_storage::OpenOptions;
use palyra_storage::backup::{self, Progress};
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};
use palyra_testkit::process::Stream;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::backups::backup;
use crate::daemon::{Daemon, LIMIT, palyrad};
use crate::restore::restore;

const ECHO: &str = "/admin/v1/channels/echo:default";
const GENERAL: &str = "/admin/v1/channels/echo:default/messages?conversation=general";

/// What there was when a backup was made.
struct Then {
    cookie: String,
    bearer: String,
    link: String,
    file: PathBuf,
}

/// A node that has gone on since its backup: a token was revoked and somebody disabled, a message
/// went out and another was answered.
fn a_node(folder: &Path) -> Then {
    let daemon = Daemon::of(palyrad().data_dir(folder.join("old")));
    let login = daemon.tcp("POST", &daemon.login_path(), &[], "");
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap();
    let code = daemon.local("POST", "/admin/v1/login-codes", "").json();
    let (_, link) = code["link"].as_str().unwrap().split_once(&daemon.http.to_string()).unwrap();
    let (id, secret) = daemon.token(&["status:read"]);
    let anna = json!({ "principal": "operator:anna", "role": "operator" });
    assert_eq!(daemon.ask("POST", "/admin/v1/principals", &anna).status, 201);
    daemon.ask("POST", &format!("{ECHO}/queue/pause"), &json!({ "reason": "a test" }));
    let narrow = json!({ "queue": { "max_waiting": 1 } });
    assert_eq!(daemon.ask("PUT", ECHO, &narrow).status, 200);
    send(&daemon, "m1");
    // There is no room for an answer, so the run of it cannot end.
    let asked = json!({ "conversation": "general", "text": "are you there?", "message": "q1" });
    let kept = daemon.ask("POST", &format!("{ECHO}/test"), &asked);
    assert_eq!((kept.status, &kept.json()["routed"]), (202, &json!(true)), "{kept:?}");
    let file = folder.join("palyra.backup");
    std::fs::write(&file, backup(&daemon)).unwrap();
    assert_eq!(daemon.local("DELETE", &format!("/admin/v1/tokens/{id}"), "").status, 200);
    let disabled = daemon.ask("DELETE", "/admin/v1/principals/operator:anna", &Value::Null);
    assert_eq!(disabled.status, 200, "{disabled:?}");
    resume(&daemon);
    until_delivered(&daemon, "m1");
    daemon.until(GENERAL, |said| said["items"].to_string().contains("You said: are you there?"));
    Then {
        cookie: format!("Cookie: {cookie}"),
        bearer: format!("Authorization: Bearer {secret}"),
        link: link.to_owned(),
        file,
    }
}

fn send(daemon: &Daemon, envelope: &str) {
    let message = json!({ "conversation": "general", "text": "hello", "envelope": envelope });
    assert_eq!(daemon.ask("POST", &format!("{ECHO}/messages"), &message).status, 202);
}

fn resume(daemon: &Daemon) {
    assert_eq!(daemon.ask("POST", &format!("{ECHO}/queue/resume"), &Value::Null).status, 200);
}

fn until_delivered(daemon: &Daemon, envelope: &str) {
    let path = format!("{ECHO}/outbox/{envelope}");
    daemon.until(&path, |state| state["parts"][0]["state"] == "delivered");
}

fn found() -> Value {
    json!({
        "logins_ended": 1,
        "login_codes_ended": 1,
        "tokens_valid": 1,
        "principals_enabled": 2,
        "messages_in_doubt": 1,
        "messages_held": 0,
        "messages_set_aside": 0,
        "runs_paused": 1,
        "approvals_open": 0,
    })
}

/// A node on what was restored lets nobody in by an old login, and sends nothing by itself.
fn check(daemon: &Daemon, then: &Then) {
    let ask = |line: &str| daemon.tcp("GET", "/admin/v1/status", &[line], "");
    assert_eq!(ask(&then.cookie).code(), "auth/revoked");
    let used = daemon.tcp("POST", &then.link, &[], "");
    assert_eq!((used.status, used.header("set-cookie")), (401, None), "{used:?}");
    assert_eq!(ask(&then.bearer).status, 200, "programs go on");
    resume(daemon);
    send(daemon, "m2");
    until_delivered(daemon, "m2");
    let unknown = daemon.get(&format!("{ECHO}/unknown"));
    assert_eq!(unknown["items"][0]["envelope"], "m1", "{unknown}");
    let said = daemon.get(GENERAL);
    let said = said["items"].as_array().unwrap();
    let question = said.iter().find(|said| said["native"] == "q1").unwrap();
    assert_eq!((&question["state"], &question["reason"]), (&json!("routed"), &json!("direct")));
    assert!(!json!(said).to_string().contains("You said"), "answered again: {said:?}");
    let runs = daemon.get("/admin/v1/status")["runs"].clone();
    assert_eq!((&runs["paused"], &runs["running"]), (&json!(1), &json!(0)), "{runs}");
    let events = daemon.get("/admin/v1/events?action=backup.restored");
    let details: Vec<_> =
        events["items"].as_array().unwrap().iter().map(|event| &event["detail"]).collect();
    assert_eq!(details, [&found()]);
    let verified = daemon.local("POST", "/admin/v1/events/verify", "").json();
    assert_eq!(verified["fault"], Value::Null, "{verified}");
}

#[test]
fn what_a_restore_brings_back_is_ended_or_told() {
    let folder = private_tempdir().unwrap();
    let (then, new) = (a_node(folder.path()), folder.path().join("new"));
    let mut restoring = restore(&then.file, &new).spawn().unwrap();
    assert_eq!(restoring.wait(LIMIT).unwrap().code(), Some(0), "{}", restoring.logs());
    let told = restoring.lines(Stream::Stdout).unwrap().join("\n");
    for part in [
        "all logins were ended (1)",
        "`palyra dashboard`",
        "API tokens that are valid: 1",
        "`palyra auth tokens revoke ID`",
        "when the backup was made: 1",
        "`palyra channels unknown list CHANNEL`",
        "principals that are not disabled: 2",
        "`palyra auth principals list`",
        "had not ended when the backup was made: 1",
        "`palyra runs list`",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let mut daemon = Daemon::of(palyrad().data_dir(&new));
    check(&daemon, &then);
    // It is seen to once: what is new stays.
    let code = daemon.local("POST", "/admin/v1/login-codes", "").json();
    daemon.process.terminate(LIMIT).unwrap();
    let daemon = Daemon::of(palyrad().data_dir(&new));
    let (_, path) = code["link"].as_str().unwrap().split_once("/console").unwrap();
    assert_eq!(daemon.tcp("POST", &format!("/console{path}"), &[], "").status, 303);
}

#[test]
fn what_a_restore_to_postgres_brings_back_is_ended_or_told() {
    let folder = private_tempdir().unwrap();
    let (then, new) = (a_node(folder.path()), folder.path().join("new"));
    let database = PostgresServer::shared().unwrap().create_database(DatabaseLocale::C).unwrap();
    let url = database.url();
    let restoring = restore(&then.file, &new).args(["--json", "--storage-url", &url]);
    let mut restoring = restoring.spawn().unwrap();
    assert_eq!(restoring.wait(LIMIT).unwrap().code(), Some(0), "{}", restoring.logs());
    let told = restoring.lines(Stream::Stdout).unwrap().join("\n");
    let mut told: Value = serde_json::from_str(&told).unwrap();
    let lines = told["told"].as_array().unwrap().len();
    assert_eq!((lines, &told["blobs"]), (6, &0.into()), "{told}");
    assert!(told["warnings"].as_array().unwrap().is_empty(), "{told}");
    for name in ["kind", "told", "warnings", "rows", "blobs", "missing_blobs", "schema"] {
        told.as_object_mut().unwrap().remove(name).unwrap();
    }
    assert_eq!(told, found());
    check(&Daemon::of(palyrad().data_dir(&new).args(["--storage-url", &url])), &then);
}

/// A restore that was killed as soon as the rows were there.
#[test]
fn the_first_start_sees_to_it_where_the_restore_could_not() {
    let folder = private_tempdir().unwrap();
    let (then, new) = (a_node(folder.path()), folder.path().join("new"));
    let input = std::fs::File::open(&then.file).unwrap();
    let unwatched = watch::channel(Progress::default()).0;
    let restoring = backup::restore(input, OpenOptions::in_directory(&new), unwatched);
    tokio::runtime::Runtime::new().unwrap().block_on(restoring).unwrap();
    let daemon = Daemon::of(palyrad().data_dir(&new));
    daemon.process.wait_for_line("the database was restored from a backup", LIMIT).unwrap();
    check(&daemon, &then);
}
