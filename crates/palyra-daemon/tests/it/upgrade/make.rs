//! Makes a data directory for `tests/fixtures`: what a daemon leaves behind that people have used.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_storage::blob::BlobStore;
use palyra_storage::events::NewEvent;
use palyra_storage::{Database, JournalStore, StorageConfig, SystemClock};
use palyra_testkit::fs::{private_dir, private_tempdir};
use palyra_testkit::process::{Builder, Process};
use serde_json::{Value, json};

use super::{
    BLOB, CARD, ECHO, Known, LATE, SAID, SURFACES, WISH, at_schema, fixtures, question, with_key,
};
use crate::daemon::{Answer, Daemon, LIMIT};

const CONFIG: &str = "# Others watch this machine.\n[http]\nopen_metrics = true\n";
/// What belongs to a daemon that runs, and to opening its database.
const NOT_KEPT: [&str; 4] = ["palyra.lock", "palyra.sock", "palyra.db-wal", "palyra.db-shm"];

/// `cargo test -p palyra-daemon --test it -- --ignored write_the_data_directory`, with
/// `PALYRA_FIXTURE_DAEMON` for a `palyrad` of before.
#[test]
#[ignore = "writes into the repository"]
fn write_the_data_directory() {
    let program = std::env::var("PALYRA_FIXTURE_DAEMON")
        .unwrap_or_else(|_| env!("CARGO_BIN_EXE_palyrad").to_owned());
    let folder = private_tempdir().unwrap();
    let data = folder.path();
    let help = Command::new(&program).arg("--help").output().unwrap().stdout;
    let builder = Process::builder(program)
        .ready_line("palyrad is ready")
        .env_remove("PALYRA_FIXTURE_DAEMON");
    let builder = with_key(builder, data);
    let schema = match String::from_utf8_lossy(&help).contains("--http-bind") {
        true => lived(builder, data),
        false => started(builder, data),
    };
    tokio::runtime::Runtime::new().unwrap().block_on(keep_content(data, schema));
    let kept = fixtures().join(format!("schema-{schema}"));
    let _ = std::fs::remove_dir_all(&kept);
    copy(data, &kept);
    NOT_KEPT.iter().for_each(|name| drop(std::fs::remove_file(kept.join(name))));
    println!("{}", kept.display());
}

fn schema_of(daemon: &Process) -> i64 {
    let ready = daemon.wait_ready(LIMIT).unwrap();
    let (_, schema) = ready.split_once("schema ").unwrap();
    schema.split(',').next().unwrap().parse().unwrap()
}

/// The first daemon did nothing but start and stop.
fn started(builder: Builder, data: &Path) -> i64 {
    std::fs::write(data.join("palyra.toml"), "[storage]\nreaders = 2\n").unwrap();
    let mut daemon = builder.spawn().unwrap();
    let schema = schema_of(&daemon);
    daemon.terminate(LIMIT).unwrap();
    schema
}

fn lived(builder: Builder, data: &Path) -> i64 {
    std::fs::write(data.join("palyra.toml"), CONFIG).unwrap();
    let ports = ["--http-bind", "127.0.0.1:0", "--grpc-bind", "127.0.0.1:0"];
    let mut daemon = Daemon::of(builder.args(ports));
    let schema = schema_of(&daemon.process);
    let known = serde_json::to_string_pretty(&live(&daemon, schema)).unwrap();
    let agents = daemon.local("GET", "/admin/v1/agents", "").status == 200;
    if schema >= 6 {
        talk(&daemon, schema, agents);
    }
    if agents {
        wish(&daemon);
    }
    if schema >= SURFACES {
        show(&daemon);
    }
    daemon.process.terminate(LIMIT).unwrap();
    std::fs::write(data.join("known.json"), known + "\n").unwrap();
    schema
}

/// Everything that is in `from`, for its owner alone: a key that others may read is refused, and
/// Git does not keep who may.
pub(super) fn copy(from: &Path, to: &Path) {
    use std::os::unix::fs::PermissionsExt;
    private_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to: PathBuf = to.join(from.file_name().unwrap());
        if from.is_dir() {
            copy(&from, &to);
        } else if from.is_file() {
            std::fs::copy(&from, &to).unwrap();
            std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

fn sent(daemon: &Daemon, method: &str, path: &str, body: &Value) -> Value {
    let answer = daemon.ask(method, path, body);
    assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
    if answer.body.is_empty() { Value::Null } else { answer.json() }
}

/// An owner who has logged in, somebody else, tokens, links, and a secret whose key was changed.
fn live(daemon: &Daemon, schema: i64) -> Known {
    let link = daemon.login_path();
    // At first opening the link was enough.
    let followed = ["GET", "POST"].map(|method| daemon.tcp(method, &link, &[], ""));
    let let_in = |answer: &Answer| answer.header("set-cookie").is_some();
    assert!(followed.iter().any(let_in), "{followed:?}");
    let secret = format!("fixture-secret-of-schema-{schema}");
    for value in ["fixture-secret-of-before", &secret] {
        sent(daemon, "PUT", "/admin/v1/secrets/global/fixture", &json!({ "value": value }));
    }
    sent(daemon, "POST", "/admin/v1/secrets/rotate-master", &json!({}));
    let (_, bearer) = daemon.token(&["status:read", "tokens:read", "tokens:write"]);
    let headers = [
        &format!("Authorization: Bearer {bearer}"),
        "Content-Type: application/json",
        "Idempotency-Key: fixture",
    ];
    let new = json!({ "name": "made by a token", "scopes": ["status:read"] }).to_string();
    let made = daemon.tcp("POST", "/admin/v1/tokens", &headers, &new);
    assert_eq!(made.status, 201, "{made:?}");
    let revoked = daemon.token(&["status:read"]).0;
    sent(daemon, "DELETE", &format!("/admin/v1/tokens/{revoked}"), &Value::Null);
    sent(daemon, "POST", "/admin/v1/login-codes", &Value::Null);
    if schema >= 3 {
        let anna = json!({ "principal": "operator:anna", "role": "operator" });
        sent(daemon, "POST", "/admin/v1/principals", &anna);
    }
    Known { bearer, secret }
}

fn send(daemon: &Daemon, conversation: &str, envelope: &str) {
    let text = format!("the text of {envelope}");
    let message = json!({ "conversation": conversation, "text": text, "envelope": envelope });
    sent(daemon, "POST", &format!("{ECHO}/messages"), &message);
}

fn set(daemon: &Daemon, settings: &Value, queue: &Value) {
    let mut settings = settings.clone();
    settings["ledger"] = "ledger".into();
    sent(daemon, "PUT", ECHO, &json!({ "settings": settings, "queue": queue }));
}

/// Messages in every state that lasts.
fn talk(daemon: &Daemon, schema: i64, agents: bool) {
    let queue = json!({ "max_attempts": 1, "look_after": "1ms", "max_looks": 1 });
    set(daemon, &json!({}), &queue);
    let rule =
        json!({ "direct_messages": "allow", "conversation": "general", "deny_from": ["bob"] });
    sent(
        daemon,
        "POST",
        "/admin/v1/router/rules",
        &json!({ "channel": "echo:default", "rule": rule }),
    );
    let text = question(schema);
    let asked = json!({ "conversation": "general", "text": text, "message": "question" });
    let answer = sent(daemon, "POST", &format!("{ECHO}/test"), &asked);
    assert_eq!(answer["routed"], true, "{answer}");
    daemon.until(SAID, |said| said["items"].to_string().contains(&format!("You said: {text}")));
    send(daemon, "general", "delivered");
    daemon.until(ECHO, |channel| channel["waiting"] == 0);

    set(daemon, &json!({ "faults": { "request": "transient" } }), &queue);
    send(daemon, "general", "dead");
    send(daemon, "general", "discarded");
    daemon.until(ECHO, |channel| channel["dead"] == 2);
    sent(daemon, "POST", &format!("{ECHO}/dead-letters/discarded/0/discard"), &Value::Null);
    let silent = json!({ "deduplicate": false, "tells_history": false,
        "faults": { "request": "lose" } });
    set(daemon, &silent, &queue);
    send(daemon, "general", "unknown");
    daemon.until(ECHO, |channel| channel["unknown"] == 1);

    set(daemon, &json!({}), &json!({ "max_attempts": 3, "max_waiting": 1 }));
    sent(daemon, "POST", &format!("{ECHO}/queue/pause"), &json!({ "reason": "an upgrade" }));
    send(daemon, "general", "waiting-1");
    send(daemon, "elsewhere", "waiting-2");
    // There is no room for an answer: before there were agents nothing was decided about it, since
    // then their run waits for room.
    let late = json!({ "conversation": "general", "text": LATE, "message": "late" });
    let kept = sent(daemon, "POST", &format!("{ECHO}/test"), &late);
    assert_eq!(kept["routed"], agents, "{kept}");
    if agents {
        let runs = daemon.get("/admin/v1/runs");
        let id = runs["items"][0]["id"].as_str().unwrap();
        daemon.until(&format!("/admin/v1/runs/{id}/tape"), |tape| {
            tape["items"].to_string().contains("its channel is full")
        });
    }
}

/// A run that asks somebody, and nobody has answered.
fn wish(daemon: &Daemon) {
    let run = daemon.say(&daemon.begin(), WISH);
    daemon.until_run(&run, "waiting_for_approval");
}

/// Something that an agent shows, and an event of telemetry.
fn show(daemon: &Daemon) {
    let run = daemon.say(&daemon.begin(), CARD);
    daemon.until_run(&run, "completed");
    let opened = json!({ "kind": "ux.surface.opened", "surface": "cli", "section": "chat", "outcome": "ok" });
    sent(daemon, "POST", "/console/v1/telemetry", &opened);
}

/// What no request of a daemon makes yet: a blob that is held, an event, and a sealed segment of
/// the journal. Their tables are those of the first schema.
async fn keep_content(data: &Path, schema: i64) {
    let db = Database::open(at_schema(data, schema)).await.unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let now = clock.now();
    let blobs = BlobStore::open(db.clone(), clock, &StorageConfig::default(), data).unwrap();
    let id = blobs.put(BLOB.into()).await.unwrap();
    db.try_write(move |tx| BlobStore::hold(tx, &id, "fixture:1", now)).await.unwrap();
    let event = NewEvent {
        at: now,
        kind: "fixture.made".into(),
        subject: "fixture:1".into(),
        body: json!({ "schema": schema }),
    };
    let emit = move |tx: &mut palyra_storage::Tx<'_>| {
        tx.emit(event.clone());
        Ok(())
    };
    db.write(emit).await.unwrap();
    assert!(JournalStore::new(db.clone()).seal(now).await.unwrap());
    db.close().await;
}
