//! What a preflight sees of the profile of several nodes before a start.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use palyra_storage::SCHEMA_VERSION;
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};
use palyra_testkit::process::{Builder, Stream};
use palyra_testkit::s3::S3Server;
use serde_json::Value;

use crate::daemon::{Daemon, LIMIT, palyrad, refused};

/// Nothing listens there.
const DEAD: &str = "postgres://anna:geheim@127.0.0.1:1/x";

/// What a preflight told.
struct Found {
    passed: bool,
    text: String,
    checks: Vec<Value>,
}

impl Found {
    /// By one of several nodes, with these options of `[storage]`.
    fn by(node: Builder, url: &str, blobs: &str) -> Self {
        let files = private_tempdir().unwrap();
        let found = Self::with_files(node, url, blobs, files.path().to_str().unwrap());
        assert!(files.path().read_dir().unwrap().next().is_none(), "nothing is left");
        found
    }

    /// The same, with files of agents in this folder.
    fn with_files(node: Builder, url: &str, blobs: &str, files: &str) -> Self {
        let node = node
            .env("PALYRA_AGENTS_WORKSPACES", files)
            .env("PALYRA_DEPLOYMENT_PROFILE", "worker-enabled")
            .env("PALYRA_STORAGE_URL", url)
            .env("PALYRA_STORAGE_BLOBS", blobs);
        let mut process = node.args(["preflight", "--json"]).spawn().unwrap();
        let passed = process.wait(LIMIT).unwrap().success();
        let text = process.lines(Stream::Stdout).unwrap().join("\n");
        let told: Value = serde_json::from_str(&text).unwrap();
        let checks = told["checks"].as_array().unwrap().clone();
        Self { passed, text, checks }
    }

    /// What the check of this name saw, which has this state.
    #[track_caller]
    fn expect(&self, name: &str, state: &str) -> &str {
        let found = self.checks.iter().find(|check| check["name"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name} in {}", self.text));
        assert_eq!(found["state"], state, "{found}");
        if state == "failed" {
            assert!(found["advice"].is_string(), "{found}");
        }
        found["seen"].as_str().unwrap()
    }
}

fn node() -> Builder {
    palyrad().temporary_data_dir().unwrap()
}

#[test]
fn a_server_that_is_away_fails() {
    let blobs = private_tempdir().unwrap();
    let found = Found::by(node(), DEAD, blobs.path().to_str().unwrap());
    assert!(!found.passed && !found.text.contains("geheim"), "{}", found.text);
    for name in ["postgres_version", "database"] {
        let seen = found.expect(name, "failed");
        assert!(seen.contains("127.0.0.1:1") && seen.contains("cannot be reached"), "{seen}");
    }
    for name in ["postgres_latency", "lease_round_trip"] {
        found.expect(name, "skipped");
    }
    found.expect("blob_round_trip", "ok");
}

#[test]
fn a_folder_of_blobs_that_cannot_be_written_fails() {
    let blobs = private_tempdir().unwrap();
    std::fs::set_permissions(blobs.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let folder = blobs.path().to_str().unwrap();
    let found = Found::by(node().unprivileged().unwrap(), DEAD, folder);
    let seen = found.expect("blob_place", "failed");
    assert!(seen.contains(folder) && seen.contains("cannot be written"), "{seen}");
    found.expect("blob_round_trip", "skipped");
}

/// It may be a share that is not mounted.
#[test]
fn a_folder_of_blobs_that_is_not_there_is_told_and_not_made() {
    let above = private_tempdir().unwrap();
    let folder = above.path().join("blobs");
    let found = Found::by(node(), DEAD, folder.to_str().unwrap());
    assert!(found.expect("blob_place", "warning").contains("is not there"));
    found.expect("blob_round_trip", "skipped");
    assert!(!folder.exists());
    let file = above.path().join("file");
    std::fs::write(&file, "").unwrap();
    let found = Found::by(node(), DEAD, file.join("blobs").to_str().unwrap());
    found.expect("blob_place", "failed");
}

#[test]
fn a_folder_of_files_is_tried() {
    let blobs = private_tempdir().unwrap();
    let above = private_tempdir().unwrap();
    let found = |node: Builder, files: &std::path::Path| {
        Found::with_files(node, DEAD, blobs.path().to_str().unwrap(), files.to_str().unwrap())
    };
    assert!(found(node(), above.path()).expect("workspaces", "ok").contains("read and deleted"));
    let folder = above.path().join("files");
    let told = found(node(), &folder);
    assert!(told.expect("workspaces", "warning").contains("is not there"));
    assert!(!folder.exists(), "it may be a share that is not mounted");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let told = found(node().unprivileged().unwrap(), &folder);
    assert!(told.expect("workspaces", "failed").contains("cannot be kept"));
    let none = Found::with_files(node(), DEAD, blobs.path().to_str().unwrap(), "");
    assert!(none.expect("workspaces", "failed").contains("is empty"));
    assert!(none.expect("config", "failed").contains("agents.workspaces is empty"));
}

#[test]
fn a_bucket_is_tried() {
    let server = S3Server::start().unwrap();
    let node = |key: &'static str| {
        node()
            .env("PALYRA_STORAGE_BLOBS_ENDPOINT", server.endpoint())
            .env("AWS_ACCESS_KEY_ID", key)
            .env("AWS_SECRET_ACCESS_KEY", "geheim")
    };
    let own = format!("s3://{}/blobs", S3Server::BUCKET);
    let found = Found::by(node(S3Server::KEY_ID), DEAD, &own);
    assert!(found.expect("blob_place", "ok").contains(&own));
    found.expect("blob_round_trip", "ok");
    assert!(!server.requests().is_empty() && server.keys().is_empty(), "nothing is left");
    for (key, bucket) in [(S3Server::KEY_ID, "s3://another/blobs"), ("WRONG", own.as_str())] {
        let found = Found::by(node(key), DEAD, bucket);
        found.expect("blob_round_trip", "failed");
        assert!(!found.text.contains("geheim"), "{}", found.text);
    }
}

#[test]
fn a_postgres_is_asked_and_not_migrated() {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let blobs = private_tempdir().unwrap();
    let folder = blobs.path().to_str().unwrap();
    let found = Found::by(node(), &database.url(), folder);
    assert!(found.passed, "{}", found.text);
    let version = database.psql("SHOW server_version").unwrap();
    assert_eq!(found.expect("postgres_version", "ok"), format!("Postgres {version}"));
    let latency = found.checks.iter().find(|check| check["name"] == "postgres_latency").unwrap();
    assert!(latency["seen"].as_str().unwrap().contains(" ms "), "{latency}");
    found.expect("database", "skipped");
    found.expect("lease_round_trip", "skipped");
    found.expect("blob_round_trip", "ok");
    let untouched = database.psql("SELECT to_regclass('schema_state') IS NULL").unwrap();
    assert_eq!(untouched, "t");
    assert!(std::fs::read_dir(folder).unwrap().next().is_none(), "nothing is left");

    drop(Daemon::of(node().env("PALYRA_STORAGE_URL", database.url())));
    let found = Found::by(node(), &database.url(), folder);
    assert!(found.passed, "{}", found.text);
    assert!(found.expect("database", "ok").contains(&format!("schema {SCHEMA_VERSION}")));
    found.expect("lease_round_trip", "ok");
    let lease = "FROM leases WHERE name LIKE 'preflight:%'";
    let (taken, held) = (format!("SELECT count(*) {lease}"), " AND expires_at > 0");
    assert_eq!(database.psql(&taken).unwrap(), "1");
    assert_eq!(database.psql(&format!("{taken}{held}")).unwrap(), "0");

    database.psql("UPDATE schema_state SET version = version - 1").unwrap();
    let found = Found::by(node(), &database.url(), folder);
    assert!(found.expect("database", "ok").contains(&format!("schema {}", SCHEMA_VERSION - 1)));
    found.expect("lease_round_trip", "skipped");
    let version = database.psql("SELECT version FROM schema_state").unwrap();
    assert_eq!(version, (SCHEMA_VERSION - 1).to_string(), "nothing is migrated");

    let newer = "UPDATE schema_state SET version = 9000, oldest_binary = 9000";
    database.psql(newer).unwrap();
    let found = Found::by(node(), &database.url(), folder);
    assert!(!found.passed && found.expect("database", "failed").contains("9000"));
}

/// A replica answers, and takes nothing.
#[test]
fn a_postgres_that_takes_no_lease_fails() {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let blobs = private_tempdir().unwrap();
    drop(Daemon::of(node().env("PALYRA_STORAGE_URL", database.url())));
    let only = format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name());
    database.psql(&only).unwrap();
    let found = Found::by(node(), &database.url(), blobs.path().to_str().unwrap());
    assert!(!found.passed, "{}", found.text);
    found.expect("postgres_version", "ok");
    assert!(found.expect("lease_round_trip", "failed").contains("cannot be written"));
}

/// Greets like a server of long ago, which does not know what it is told then.
fn ancient(listener: &TcpListener) -> std::io::Result<()> {
    const READY: &[u8] = b"Z\0\0\0\x05I";
    let message = |kind: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, body].concat()
    };
    let (mut stream, _) = listener.accept()?;
    let mut asked = [0; 4096];
    if stream.read(&mut asked)? == 0 {
        return Ok(());
    }
    let version = message(b'S', b"server_version\09.5.25\0");
    let greeting = [message(b'R', &[0; 4]), version, READY.to_vec()].concat();
    stream.write_all(&greeting)?;
    if stream.read(&mut asked)? > 0 && asked[0] == b'Q' {
        let refusal = message(b'E', b"SERROR\0C42704\0Munrecognized configuration parameter\0\0");
        stream.write_all(&[&refusal, READY].concat())?;
    }
    Ok(())
}

/// The address of such a server.
fn ancient_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://anna@{}/x?sslmode=disable", listener.local_addr().unwrap());
    std::thread::spawn(move || while ancient(&listener).is_ok() {});
    url
}

#[test]
fn a_start_on_a_server_that_is_too_old_is_refused_by_name() {
    let url = ancient_server();
    let (code, told) = refused(node().env("PALYRA_STORAGE_URL", &url));
    assert_eq!(code, Some(1), "{told}");
    let place = url.trim_start_matches("postgres://anna@").split('/').next().unwrap();
    for part in ["storage/server_too_old", "Postgres 9.5.25", "9.6 or newer", place] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_server_that_is_too_old_fails() {
    let url = ancient_server();
    let blobs = private_tempdir().unwrap();
    let found = Found::by(node(), &url, blobs.path().to_str().unwrap());
    assert!(!found.passed, "{}", found.text);
    let seen = found.expect("postgres_version", "failed");
    assert!(seen.contains("9.5.25") && seen.contains("9.6"), "{seen}");
}

/// Nobody waits for ever for a server that takes connections and never says a word.
#[test]
fn a_server_that_is_silent_fails_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://anna:geheim@{}/x", silent.local_addr().unwrap());
    let blobs = private_tempdir().unwrap();
    let found = Found::by(node(), &url, blobs.path().to_str().unwrap());
    assert!(!found.passed, "{}", found.text);
    assert!(found.expect("postgres_version", "failed").contains("no answer within"));
}
