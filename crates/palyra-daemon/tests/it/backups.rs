//! Backups over the API, while others write.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use palyra_common::ids::Principal;
use palyra_storage::blob::BlobStore;
use palyra_storage::{Database, OpenOptions, StorageConfig, SystemClock};
use palyra_testkit::fs::{private_dir, private_tempdir};
use palyra_testkit::process::Process;
use palyra_vault::{Redactor, Use, Vault, VaultConfig};
use serde_json::json;

use crate::daemon::{Daemon, LIMIT, palyrad, refused};

const WRITERS: usize = 64;

/// What a writer was told is stored.
#[derive(Clone, Default)]
struct Told {
    /// Secrets of tokens.
    tokens: Vec<String>,
    /// Names of secrets; each holds its own name as its value.
    secrets: Vec<String>,
}

/// Over HTTP/1.0 the body is what follows the head, until the end.
pub(crate) fn backup(daemon: &Daemon) -> Vec<u8> {
    let mut stream = UnixStream::connect(&daemon.running.socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(b"POST /admin/v1/backups HTTP/1.0\r\nHost: palyra\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    assert!(head.starts_with("HTTP/1.0 200") && head.contains("application/gzip"), "{head}");
    answer.split_off(end + 4)
}

/// A backup that nobody reads on is under way for as long.
#[test]
fn one_backup_is_made_at_a_time() {
    let daemon = Daemon::start();
    // More than waits on the way to somebody who does not read.
    for number in 0..64 {
        let value = json!({ "value": "x".repeat(60_000) }).to_string();
        let stored = daemon.local("PUT", &format!("/admin/v1/secrets/global/s{number}"), &value);
        assert_eq!(stored.status, 200, "{stored:?}");
    }
    let mut first = UnixStream::connect(&daemon.running.socket).unwrap();
    first.set_read_timeout(Some(LIMIT)).unwrap();
    first.write_all(b"POST /admin/v1/backups HTTP/1.0\r\nHost: palyra\r\n\r\n").unwrap();
    let mut begin = [0; 12];
    first.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.0 200");
    let second = daemon.local("POST", "/admin/v1/backups", "");
    assert_eq!((second.status, second.code().as_str()), (429, "http/busy"));
    assert!(second.body.contains("another backup is being made"), "{second:?}");
}

/// A data directory with a blob whose object is there and cannot be opened.
fn with_a_blob_that_cannot_be_read(data: &Path) {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let db = Database::open(OpenOptions::in_directory(data)).await.unwrap();
        let (clock, config) = (Arc::new(SystemClock), StorageConfig::default());
        let blobs = BlobStore::open(db.clone(), clock, &config, data).unwrap();
        blobs.put("content".into()).await.unwrap();
        db.close().await;
    });
    let mut place = data.join("blobs");
    while place.is_dir() {
        place = std::fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
    }
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(&place, &place).unwrap();
}

#[test]
fn a_backup_that_fails_on_the_way_does_not_end_like_a_whole_one() {
    let folder = private_tempdir().unwrap();
    let data = folder.path().join("data");
    with_a_blob_that_cannot_be_read(&data);
    let daemon = Daemon::of(palyrad().data_dir(&data));
    let mut stream = UnixStream::connect(&daemon.running.socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let head = "POST /admin/v1/backups HTTP/1.1\r\nHost: palyra\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).to_lowercase();
    let (head, _) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("http/1.1 200") && head.contains("chunked"), "{head}");
    assert!(!answer.ends_with(b"0\r\n\r\n"), "it breaks off, which every client notices");
    let told = daemon.process.wait_for_line("a backup failed", LIMIT).unwrap();
    assert!(told.contains("symbolic links"), "it says why: {told}");
    let id = head.lines().find_map(|line| line.strip_prefix("palyra-backup-id: ")).unwrap();
    let became = |id: &str| daemon.local("GET", &format!("/admin/v1/backups/{id}"), "");
    let failed = became(id).json();
    assert_eq!(
        (&failed["ended"], &failed["error"]["code"]),
        (&true.into(), &"blob/unavailable".into())
    );
    let told = failed["error"]["message"].as_str().unwrap();
    assert!(told.contains("symbolic links"), "{failed}");
    let unknown = became("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "common/not_found"));

    let file = folder.path().join("palyra.backup");
    std::fs::write(&file, backup(&daemon)).unwrap();
    let palyrad = Process::builder(env!("CARGO_BIN_EXE_palyrad"));
    let (code, told) = refused(palyrad.arg("verify-backup").arg(&file));
    assert_eq!(code, Some(7), "{told}");
    assert!(told.contains("backup/invalid"), "{told}");
}

/// Writes a token and a secret, and notes them once they are answered.
fn write(daemon: &Daemon, bearer: &str, name: &str, told: &Mutex<Told>) {
    let kind = "Content-Type: application/json";
    let new = json!({ "name": name, "scopes": ["status:read"] }).to_string();
    let made = daemon.tcp("POST", "/admin/v1/tokens", &[bearer, kind], &new);
    assert_eq!(made.status, 201, "{made:?}");
    let value = json!({ "value": name }).to_string();
    let path = format!("/admin/v1/secrets/global/{name}");
    let stored = daemon.tcp("PUT", &path, &[bearer, kind], &value);
    assert_eq!(stored.status, 200, "{stored:?}");
    let mut told = told.lock().unwrap();
    told.tokens.push(made.json()["secret"].as_str().unwrap().to_owned());
    told.secrets.push(name.to_owned());
}

/// A backup made while all write, and what had been answered before it was asked for.
fn backup_under_load(daemon: &Daemon, bearer: &str) -> (Vec<u8>, Told) {
    let (told, done) = (Mutex::new(Told::default()), AtomicBool::new(false));
    let rounds: Vec<_> = (0..WRITERS).map(|_| AtomicUsize::new(0)).collect();
    let all_wrote = |more: usize, since: &[usize]| {
        let deadline = Instant::now() + LIMIT;
        while !rounds.iter().zip(since).all(|(now, then)| now.load(Ordering::SeqCst) >= then + more)
        {
            assert!(Instant::now() < deadline, "the writers stand still");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    std::thread::scope(|scope| {
        for (writer, rounds) in rounds.iter().enumerate() {
            let (told, done) = (&told, &done);
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let round = rounds.load(Ordering::SeqCst);
                    write(daemon, bearer, &format!("w{writer}-{round}"), told);
                    rounds.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        all_wrote(2, &[0; WRITERS]);
        let before = told.lock().unwrap().clone();
        let then: Vec<_> = rounds.iter().map(|round| round.load(Ordering::SeqCst)).collect();
        let file = backup(daemon);
        all_wrote(1, &then);
        done.store(true, Ordering::SeqCst);
        (file, before)
    })
}

/// Reads secrets with the key in `key_file`.
fn assert_readable(data_dir: &Path, key_file: &Path, names: &[String]) {
    let config = VaultConfig { key_file: key_file.to_owned(), ..VaultConfig::default() };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let db = Database::open(OpenOptions::in_directory(data_dir)).await.unwrap();
        let clock = Arc::new(SystemClock);
        let vault = Vault::open(db.clone(), clock, &config, data_dir, Redactor::new());
        let vault = vault.await.unwrap();
        let text = || "test".to_owned();
        let reading = Use { by: Principal::system(), purpose: text(), origin: text() };
        for name in names {
            let path = format!("global/{name}").parse().unwrap();
            assert_eq!(vault.get(&path, &reading).await.unwrap().expose(), name);
        }
        db.close().await;
    });
}

#[test]
fn a_backup_under_load_is_a_moment_to_go_on_from() {
    let folder = private_tempdir().unwrap();
    let key_file = folder.path().join("master.key");
    let data = folder.path().join("old");
    private_dir(&data).unwrap();
    std::fs::write(data.join("palyra.toml"), "[http]\nrequests_per_second = 0\n").unwrap();
    let node = |data: &Path| palyrad().data_dir(data).env("PALYRA_VAULT_KEY_FILE", &key_file);
    let daemon = Daemon::of(node(&data));
    let (_, secret) = daemon.token(&["tokens:write", "secrets:write", "status:read"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let (bytes, told) = backup_under_load(&daemon, &bearer);
    drop(daemon);

    let (file, new) = (folder.path().join("palyra.backup"), folder.path().join("new"));
    std::fs::write(&file, bytes).unwrap();
    let restoring = Process::builder(env!("CARGO_BIN_EXE_palyrad")).arg("restore").arg(&file);
    let mut restoring = restoring.arg("--data-dir").arg(&new).spawn().unwrap();
    assert_eq!(restoring.wait(LIMIT).unwrap().code(), Some(0), "{}", restoring.logs());

    let mut daemon = Daemon::of(node(&new));
    let verified = daemon.local("POST", "/admin/v1/events/verify", "").json();
    assert!(verified["entries"].as_u64().unwrap() > 2 * WRITERS as u64, "{verified}");
    assert_eq!(verified["fault"], serde_json::Value::Null, "{verified}");
    for token in told.tokens.iter().chain([&secret]) {
        let bearer = format!("Authorization: Bearer {token}");
        assert_eq!(daemon.tcp("GET", "/admin/v1/status", &[&bearer], "").status, 200);
    }
    daemon.process.terminate(LIMIT).unwrap();
    assert_readable(&new, &key_file, &told.secrets);
}
