//! Data directories of earlier schemas, kept in `tests/fixtures`.

mod make;
mod postgres;
mod rows;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::{
    DATABASE_FILE, Database, MIGRATIONS, OpenOptions, SCHEMA_VERSION, Sql, StorageConfig,
    SystemClock, Tx, params, sql,
};
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::process::Builder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::make::copy;
use crate::daemon::{Daemon, LIMIT, palyrad};

const ECHO: &str = "/admin/v1/channels/echo:default";
const SAID: &str = "/admin/v1/channels/echo:default/messages?conversation=general";
const BLOB: &[u8] = b"what was attached";
/// What is said when there is no room for an answer.
const LATE: &str = "still there?";
/// What somebody is to say yes to.
const WISH: &str = "write notes.txt: buy milk";

/// What is to be shown.
const CARD: &str = "show a card about milk";

/// The first schema whose data directory was made with agents that answer.
const AGENTS: i64 = 9;
/// The first one with something that they show.
const SURFACES: i64 = 11;

/// What is asked first. To a greeting the offline model does not say what was said.
fn question(schema: i64) -> &'static str {
    if schema < AGENTS { "hello" } else { "what is new?" }
}

/// What a data directory does not tell by itself.
#[derive(Serialize, Deserialize)]
struct Known {
    bearer: String,
    secret: String,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Opens a data directory without migrating it any further.
fn at_schema(data: &Path, schema: i64) -> OpenOptions {
    let known = MIGRATIONS.iter().take_while(|step| step.version <= schema).count();
    OpenOptions { migrations: &MIGRATIONS[..known], ..OpenOptions::in_directory(data) }
}

/// The same on a server; empty: in the directory.
fn on(mut options: OpenOptions, url: &str) -> OpenOptions {
    options.config.url = url.to_owned().into();
    options
}

/// Beside the data, so that it comes with them.
fn with_key(builder: Builder, data: &Path) -> Builder {
    builder.data_dir(data).env("PALYRA_VAULT_KEY_FILE", data.join("vault.key"))
}

/// A copy of the data directory of each schema, with its number.
fn copies() -> impl Iterator<Item = (i64, tempfile::TempDir)> {
    (1..=SCHEMA_VERSION).map(|schema| {
        let kept = fixtures().join(format!("schema-{schema}"));
        assert!(kept.exists(), "schema {schema} has no data directory: see {:?}", fixtures());
        let folder = private_tempdir().unwrap();
        copy(&kept, folder.path());
        (schema, folder)
    })
}

#[tokio::test]
async fn migrations_lose_no_row_and_no_value() {
    for (schema, folder) in copies() {
        rows::check_that_nothing_is_lost(folder.path(), schema).await;
    }
}

#[tokio::test]
async fn migrations_lose_no_row_and_no_value_on_postgres() {
    for (schema, folder) in copies() {
        postgres::check_that_nothing_is_lost(folder.path(), schema).await;
    }
}

#[test]
fn the_data_directory_of_every_earlier_schema_opens_and_works() {
    for (schema, folder) in copies() {
        check_that_it_works(folder.path(), "", schema);
    }
}

#[test]
fn a_postgres_of_every_earlier_schema_opens_and_works() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (schema, folder) in copies() {
        let filled = runtime.block_on(postgres::filled(folder.path(), schema));
        // It is there that everything is from now on.
        std::fs::remove_file(folder.path().join(DATABASE_FILE)).unwrap();
        check_that_it_works(folder.path(), &filled.database.url(), schema);
    }
}

/// Starts the daemon of today on what one of this schema has left.
fn check_that_it_works(data: &Path, url: &str, schema: i64) {
    println!("schema {schema}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(renew(on(at_schema(data, schema), url), schema));
    let mut daemon = Daemon::of(with_key(palyrad(), data).env("PALYRA_STORAGE_URL", url));
    if schema == 1 {
        check_first_use(&daemon);
    } else {
        let known = std::fs::read_to_string(data.join("known.json")).unwrap();
        check_access(&daemon, &serde_json::from_str(&known).unwrap(), schema);
    }
    if schema >= 6 {
        check_what_was_said(&daemon, schema);
        check_what_waits(&daemon, data, schema);
    }
    if schema >= AGENTS {
        check_what_was_wished(&daemon, data);
    }
    if schema >= SURFACES {
        check_what_is_shown(&daemon);
    }
    let verified = daemon.local("POST", "/admin/v1/events/verify", "").json();
    assert!(verified["fault"].is_null() && verified["entries"].as_i64() > Some(2), "{verified}");
    daemon.process.terminate(LIMIT).unwrap();
    runtime.block_on(check_blob(on(OpenOptions::in_directory(data), url)));
}

/// What has ended is kept for some weeks and a question waits for a day; the fixtures grow older than
/// that.
async fn renew(options: OpenOptions, schema: i64) {
    const OUTBOX: Sql = sql!("UPDATE outbox SET changed_at = $1");
    const HISTORY: Sql = sql!("UPDATE outbox_history SET ended_at = $1");
    const INBOUND: Sql = sql!("UPDATE inbound_events SET received_at = $1");
    const SURFACES: Sql = sql!("UPDATE surfaces SET updated_at = $1");
    const EVENTS: Sql = sql!("UPDATE system_events SET at = $1");
    const RUNS: Sql = sql!("UPDATE runs SET changed_at = $1");
    const SESSIONS: Sql = sql!("UPDATE sessions SET changed_at = $1");
    const APPROVALS: Sql = sql!("UPDATE approvals SET expires_at = expires_at - requested_at + $1");
    let tables: &[Sql] = match schema {
        ..=3 => &[],
        4..=6 => &[OUTBOX, HISTORY, INBOUND],
        7 => &[OUTBOX, INBOUND],
        8..=10 => &[OUTBOX, INBOUND, APPROVALS],
        11.. => &[OUTBOX, INBOUND, APPROVALS, SURFACES, EVENTS, RUNS, SESSIONS],
    };
    let now = SystemClock.now().as_unix_millis();
    let db = Database::open(options).await.unwrap();
    let end = move |tx: &mut Tx<'_>| {
        tables.iter().try_for_each(|table| tx.execute(table, params![now]).map(drop))
    };
    db.write(end).await.unwrap();
    db.close().await;
}

fn count(list: &Value) -> usize {
    list["items"].as_array().unwrap().len()
}

/// The first daemon knew nobody, and no secret.
fn check_first_use(daemon: &Daemon) {
    assert_eq!(daemon.tcp("POST", &daemon.login_path(), &[], "").status, 303);
    let value = json!({ "value": "a secret of today" });
    assert_eq!(daemon.ask("PUT", "/admin/v1/secrets/global/x", &value).status, 200);
    let options = daemon.get("/admin/v1/config")["options"].take();
    let readers = |option: &&Value| option["key"] == "storage.readers";
    let readers = options.as_array().unwrap().iter().find(readers).unwrap();
    assert_eq!((&readers["value"], &readers["origin"]), (&json!(2), &json!("file")));
}

/// Who could come in before still can, and what was configured and kept secret is as it was.
fn check_access(daemon: &Daemon, known: &Known, schema: i64) {
    let bearer = format!("Authorization: Bearer {}", known.bearer);
    let who = daemon.tcp("GET", "/admin/v1/whoami", &[&bearer], "").json();
    let scopes = json!(["status:read", "tokens:read", "tokens:write"]);
    assert_eq!((&who["credential"], &who["scopes"]), (&json!("token"), &scopes), "{who}");
    let mut tokens = daemon.tcp("GET", "/admin/v1/tokens", &[&bearer], "").json()["items"].take();
    // One that is revoked goes when it is old.
    tokens.as_array_mut().unwrap().retain(|token| token["revoked_at"].is_null());
    assert_eq!(tokens.as_array().unwrap().len(), 2, "{tokens}");
    let forbidden = daemon.tcp("GET", "/admin/v1/secrets", &[&bearer], "");
    assert_eq!(forbidden.code(), "auth/forbidden");
    let people = daemon.get("/admin/v1/principals");
    assert_eq!(count(&people), if schema < 3 { 1 } else { 2 }, "{people}");
    let code = daemon.local("POST", "/admin/v1/login-codes", "").json();
    let (_, link) = code["link"].as_str().unwrap().split_once(&daemon.http.to_string()).unwrap();
    assert_eq!(daemon.tcp("POST", link, &[], "").status, 303, "the owner logs in once more");

    let secrets = daemon.get("/admin/v1/secrets");
    assert_eq!(secrets["items"][0]["versions"].as_array().unwrap().len(), 2, "{secrets}");
    let texts = json!({ "texts": [format!("it is {}.", known.secret)] });
    let redacted = daemon.ask("POST", "/admin/v1/redact", &texts).json();
    assert_eq!(redacted["texts"], json!(["it is [redacted:global/fixture]."]), "it is decrypted");
    assert_eq!(daemon.tcp("GET", "/metrics", &[], "").status, 200, "palyra.toml says so");
}

fn state(daemon: &Daemon, envelope: &str) -> Value {
    daemon.get(&format!("{ECHO}/outbox/{envelope}"))["parts"][0]["state"].clone()
}

/// Connector, rule and messages are there, and nothing moves that was held.
fn check_what_was_said(daemon: &Daemon, schema: i64) {
    let channel = daemon.get(ECHO);
    let (settings, queue) = (&channel["settings"], &channel["queue"]);
    assert_eq!(
        (&settings["ledger"], &channel["version"]),
        (&json!("ledger"), &json!(6)),
        "{channel}"
    );
    assert_eq!(queue["pause_reason"], "an upgrade", "{channel}");
    let rules = daemon.get("/admin/v1/router/rules?channel=echo:default");
    let ours = |rule: &&Value| rule["rule"]["conversation"] == "general";
    let ours = rules["items"].as_array().unwrap().iter().find(ours).unwrap();
    assert_eq!(ours["rule"]["deny_from"], json!(["bob"]), "{rules}");
    for (envelope, expected) in [
        ("delivered", "delivered"),
        ("dead", "dead"),
        ("discarded", "cancelled"),
        ("unknown", "unknown"),
        ("waiting-1", "pending"),
        ("waiting-2", "pending"),
    ] {
        assert_eq!(state(daemon, envelope), expected, "{envelope}");
    }
    for (list, envelope) in [("dead-letters", "dead"), ("unknown", "unknown")] {
        let items = daemon.get(&format!("{ECHO}/{list}"));
        assert_eq!(count(&items), 1, "{items}");
        assert_eq!(items["items"][0]["envelope"], envelope);
        assert_eq!(items["items"][0]["operation"]["text"], format!("the text of {envelope}"));
    }
    let said = daemon.get(SAID)["items"].to_string();
    let asked = question(schema);
    for text in
        [&format!("\"{asked}"), &format!("You said: {asked}"), "\"the text of delivered", LATE]
    {
        assert!(said.contains(&format!("{text}\"")), "{text}: {said}");
    }
}

/// What waits goes out once, what waited for a decision is answered, and the dead rises.
fn check_what_waits(daemon: &Daemon, data: &Path, schema: i64) {
    let ledger = || std::fs::read_to_string(data.join("connectors/ledger")).unwrap();
    let before = ledger().lines().count();
    assert_eq!(daemon.ask("POST", &format!("{ECHO}/queue/resume"), &Value::Null).status, 200);
    let replay = format!("{ECHO}/dead-letters/dead/0/replay");
    assert_eq!(daemon.ask("POST", &replay, &Value::Null).status, 200);
    daemon.until(SAID, |said| said["items"].to_string().contains(&format!("You said: {LATE}")));
    daemon.until(ECHO, |channel| channel["waiting"] == 0 && channel["queue"]["sending"] == 0);
    let ledger = ledger();
    for text in [
        &format!("You said: {}", question(schema)),
        &format!("You said: {LATE}"),
        "the text of delivered",
        "the text of dead",
        "the text of waiting-1",
        "the text of waiting-2",
    ] {
        assert_eq!(ledger.matches(&format!("{text}\"")).count(), 1, "{text}: {ledger}");
    }
    assert_eq!(ledger.lines().count(), before + 4, "{ledger}");
}

/// A run that waited for a yes goes on with it.
fn check_what_was_wished(daemon: &Daemon, data: &Path) {
    let question = daemon.question();
    let run = question["asker"]["run"].as_str().unwrap();
    assert_eq!(daemon.decide(&question, "approve").status, 200);
    daemon.until_run(run, "completed");
    let written = std::fs::read_to_string(data.join("workspaces/default/notes.txt")).unwrap();
    assert_eq!(written, "buy milk");
}

/// Who comes back to a conversation sees what was shown in it, and what people did is still counted.
fn check_what_is_shown(daemon: &Daemon) {
    let sessions = daemon.get("/admin/v1/sessions")["items"].take();
    let shown = |session: &Value| {
        let id = session["id"].as_str().unwrap();
        daemon.get(&format!("/admin/v1/sessions/{id}/surfaces")).to_string().contains("milk")
    };
    assert!(sessions.as_array().unwrap().iter().any(shown), "{sessions}");
    let told = daemon.get("/admin/v1/telemetry");
    assert_eq!(told["items"][0]["kind"], "ux.surface.opened", "{told}");
}

async fn check_blob(options: OpenOptions) {
    let data = options.data_dir.clone();
    let db = Database::open(options).await.unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let blobs = BlobStore::open(db.clone(), clock, &StorageConfig::default(), &data).unwrap();
    assert_eq!(blobs.get(&BlobId::of(BLOB)).await.unwrap(), BLOB);
    db.close().await;
}
