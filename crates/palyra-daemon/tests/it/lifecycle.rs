//! Started, refused, stopped, killed.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use palyra_common::time::Clock;
use palyra_storage::blob::{BlobStore, S3Credentials};
use palyra_storage::{Database, JournalStore, OpenOptions, StorageConfig, SystemClock};
use palyra_testkit::clock::FakeClock;
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, StopMode};
use palyra_testkit::process::{Stream, Termination};
use palyra_testkit::s3::S3Server;

use crate::daemon::{LIMIT, palyrad, refused};

/// What the audit trail, which is whole, says about starts and stops.
pub(crate) fn journal(data_dir: &Path) -> Vec<String> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let db = Database::open(OpenOptions::in_directory(data_dir)).await.unwrap();
        let journal = JournalStore::new(db.clone());
        assert_eq!(journal.verify().await.unwrap().fault, None);
        let entries = journal.page_after(0, 100).await.unwrap();
        db.close().await;
        let actions = entries.into_iter().map(|entry| entry.event.action);
        actions.filter(|action| action.starts_with("daemon.")).collect()
    })
}

#[test]
fn it_starts_without_any_configuration_and_stops_when_asked() {
    let mut daemon = palyrad().temporary_data_dir().unwrap().spawn().unwrap();
    let ready = daemon.wait_ready(LIMIT).unwrap();
    assert!(ready.contains("sqlite, schema"), "{ready}");
    let data_dir = daemon.data_dir().unwrap().to_owned();
    let ended = daemon.terminate(LIMIT).unwrap();
    assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
    assert_eq!(journal(&data_dir), ["daemon.started", "daemon.stopped"]);
}

#[test]
fn it_starts_again_after_a_kill() {
    let mut daemon = palyrad().temporary_data_dir().unwrap().spawn().unwrap();
    for _ in 0..3 {
        daemon.wait_ready(LIMIT).unwrap();
        daemon.kill_dash_nine().unwrap();
        daemon.restart().unwrap();
    }
    daemon.wait_ready(LIMIT).unwrap();
    daemon.kill_dash_nine().unwrap();
    assert_eq!(journal(daemon.data_dir().unwrap()), ["daemon.started"; 4]);
}

#[test]
fn a_second_one_in_the_same_directory_is_refused() {
    let first = palyrad().temporary_data_dir().unwrap().spawn().unwrap();
    first.wait_ready(LIMIT).unwrap();
    let folder = first.data_dir().unwrap();
    for delete in [&[][..], &["palyra.lock"]] {
        for file in delete {
            std::fs::remove_file(folder.join(file)).unwrap();
        }
        let (code, told) = refused(palyrad().data_dir(folder));
        assert_eq!(code, Some(6));
        assert!(told.contains("storage/locked") && told.contains("what to do:"), "{told}");
    }
}

/// The first has it back with the next that it writes, and it renews its leases.
#[test]
fn a_lock_that_was_deleted_comes_back_and_keeps_others_out() {
    let first = palyrad().temporary_data_dir().unwrap().spawn().unwrap();
    first.wait_ready(LIMIT).unwrap();
    let folder = first.data_dir().unwrap();
    for file in ["palyra.lock", "palyra.sock"] {
        std::fs::remove_file(folder.join(file)).unwrap();
    }
    first.wait_for_line("it is back", LIMIT).unwrap();
    let (code, told) = refused(palyrad().data_dir(folder));
    assert_eq!(code, Some(6));
    assert!(told.contains("storage/locked"), "{told}");
}

#[test]
fn two_share_a_postgres() {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let node = || {
        palyrad().temporary_data_dir().unwrap().env("PALYRA_STORAGE_URL", database.url()).spawn()
    };
    let (first, second) = (node().unwrap(), node().unwrap());
    assert!(first.wait_ready(LIMIT).unwrap().contains("postgres"));
    assert!(second.wait_ready(LIMIT).unwrap().contains("postgres"));
    let started = database.psql("SELECT count(*) FROM journal WHERE action = 'daemon.started'");
    assert_eq!(started.unwrap(), "2");
}

/// A blob on S3 that has been there for two days and that nobody holds.
fn forgotten_blob(data_dir: &Path, config: &StorageConfig) {
    let long_ago = SystemClock.now() - palyra_common::time::Duration::from_days(2);
    let clock = Arc::new(FakeClock::new(long_ago));
    let key = |name: &str| match name {
        "AWS_ACCESS_KEY_ID" => Some(S3Server::KEY_ID.to_owned()),
        "AWS_SECRET_ACCESS_KEY" => Some("geheim".to_owned()),
        _ => None,
    };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let db = Database::open(OpenOptions::in_directory(data_dir)).await.unwrap();
        let credentials = || S3Credentials::from_variables(key);
        let blobs = BlobStore::open_as(db.clone(), clock, config, data_dir, credentials).unwrap();
        blobs.put("forgotten".into()).await.unwrap();
        db.close().await;
    });
}

#[test]
fn its_blobs_are_on_s3_with_the_credentials_of_the_environment() {
    let server = S3Server::start().unwrap();
    let folder = private_tempdir().unwrap();
    let config = StorageConfig {
        blobs: format!("s3://{}/blobs", S3Server::BUCKET),
        blobs_endpoint: server.endpoint(),
        ..StorageConfig::default()
    };
    forgotten_blob(folder.path(), &config);
    assert_eq!(server.keys().len(), 1);
    let StorageConfig { blobs, blobs_endpoint, .. } = config;
    let text = format!("[storage]\nblobs = {blobs:?}\nblobs_endpoint = {blobs_endpoint:?}\n");
    std::fs::write(folder.path().join("palyra.toml"), text).unwrap();

    let nameless = || palyrad().data_dir(folder.path()).env_remove("AWS_ACCESS_KEY_ID");
    let (code, told) = refused(nameless().env("AWS_SECRET_ACCESS_KEY", "geheim"));
    assert_eq!(code, Some(2));
    assert!(told.contains("set AWS_ACCESS_KEY_ID") && !told.contains("geheim"), "{told}");

    let named = palyrad()
        .data_dir(folder.path())
        .env("AWS_ACCESS_KEY_ID", S3Server::KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", "geheim")
        // Neither a proxy nor missing root certificates matter on this machine.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env("SSL_CERT_FILE", "/nonexistent")
        .env("SSL_CERT_DIR", "/nonexistent")
        .spawn()
        .unwrap();
    named.wait_ready(LIMIT).unwrap();
    // It sweeps at once.
    let deadline = Instant::now() + LIMIT;
    while !server.keys().is_empty() {
        assert!(Instant::now() < deadline, "{:?}", server.requests());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_wrong_configuration_is_refused_with_a_reason() {
    let folder = private_tempdir().unwrap();
    let file = folder.path().join("palyra.toml");
    for (text, reason) in [
        ("[storage]\nqueu = 1\n", "storage.queu is not an option; did you mean storage.queue?"),
        ("[storage\n", "palyra.toml: line 1, column"),
        ("[storage]\nlease_ttl = \"soon\"\n", "line 2, column 13"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, told) = refused(palyrad().data_dir(folder.path()));
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(reason) && told.contains("code: config/"), "{told}");
    }
    for text in [
        "[storage]\nurl = \"mysql://anna:geheim@db/x\"\n",
        "[storage]\nblobs = \"s3://anna:geheim@bucket\"\n",
        "[storage]\nblobs = \"s3://palyra\"\nblobs_endpoint = \"http://geheim.example.org\"\n",
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, told) = refused(palyrad().data_dir(folder.path()));
        assert_eq!(code, Some(2));
        assert!(told.contains("config/invalid") && !told.contains("geheim"), "{told}");
    }
}

#[test]
fn a_log_level_that_is_none_is_refused_by_name() {
    for (log, named) in [("info,palyra=loud", "palyra=loud"), ("verbose", "verbose")] {
        let (code, told) =
            refused(palyrad().temporary_data_dir().unwrap().args(["--log-level", log]));
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(named) && told.contains("config/invalid"), "{told}");
    }
    let fine =
        palyrad().temporary_data_dir().unwrap().args(["--log-level", "warn,palyra_storage=DEBUG"]);
    fine.spawn().unwrap().wait_ready(LIMIT).unwrap();
}

#[test]
fn a_data_directory_that_cannot_be_made_is_refused_with_a_reason() {
    let folder = private_tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (code, told) = refused(palyrad().data_dir(file.join("data")));
    assert_eq!(code, Some(1));
    assert!(told.contains("storage/unavailable") && told.contains("data directory"), "{told}");
}

/// A server that takes connections and never says a word.
#[test]
fn it_stops_while_it_waits_for_the_database() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://anna:geheim@{}/x", silent.local_addr().unwrap());
    let daemon = palyrad().temporary_data_dir().unwrap().env("PALYRA_STORAGE_URL", &url);
    let mut daemon = daemon.spawn().unwrap();
    let (connected, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || connected.send(silent.accept().unwrap()).unwrap());
    let _kept_open = wait.recv_timeout(LIMIT).unwrap();
    let ended = daemon.terminate(LIMIT).unwrap();
    assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
}

/// The database is away, so the first stop waits for it.
#[test]
fn a_second_signal_stops_it_at_once_on_postgres() {
    let mut server = PostgresServer::start().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let folder = private_tempdir().unwrap();
    let patient = format!("[storage]\nurl = \"{}\"\nretry_for = \"1h\"\n", database.url());
    std::fs::write(folder.path().join("palyra.toml"), patient).unwrap();
    let mut daemon = palyrad().data_dir(folder.path()).spawn().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    server.stop(StopMode::Immediate).unwrap();
    let first = Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status();
    assert!(first.unwrap().success());
    daemon.wait_for_line("stopping", LIMIT).unwrap();
    // What comes right behind the first signal counts as the same.
    let deadline = Instant::now() + LIMIT;
    let ended = loop {
        assert!(Instant::now() < deadline, "{}", daemon.logs());
        let again = Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status();
        assert!(again.unwrap().success());
        if let Ok(status) = daemon.wait(Duration::from_millis(200)) {
            break status;
        }
    };
    assert_eq!(ended.code(), Some(1), "{}", daemon.logs());
    assert!(daemon.logs().contains("because it was asked twice"), "{}", daemon.logs());
}

/// Nothing that is to be written at the end can be, and nobody asks a second time.
#[test]
fn a_stop_has_a_limit_on_postgres() {
    let mut server = PostgresServer::start().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let folder = private_tempdir().unwrap();
    let patient = format!(
        "[http]\ndrain_timeout = \"1ms\"\n[storage]\nurl = \"{}\"\nretry_for = \"1h\"\n",
        database.url()
    );
    std::fs::write(folder.path().join("palyra.toml"), patient).unwrap();
    let mut daemon = palyrad().data_dir(folder.path()).spawn().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    server.stop(StopMode::Immediate).unwrap();
    let asked = Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status();
    assert!(asked.unwrap().success());
    let ended = daemon.wait(2 * LIMIT).unwrap();
    assert_eq!(ended.code(), Some(1), "{}", daemon.logs());
    for told in ["daemon/stopped", "because that took longer than", "channels"] {
        assert!(daemon.logs().contains(told), "{told}: {}", daemon.logs());
    }

    server.start_again().unwrap();
    let after = palyrad().data_dir(folder.path()).spawn().unwrap();
    after.wait_ready(LIMIT).unwrap();
}

#[test]
fn failing_renewals_are_told_once_on_postgres() {
    let mut server = PostgresServer::start().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let folder = private_tempdir().unwrap();
    let quick = "retry_for = \"10ms\"\nlease_ttl = \"1s\"\n";
    let text = format!("[storage]\nurl = \"{}\"\n{quick}", database.url());
    std::fs::write(folder.path().join("palyra.toml"), text).unwrap();
    let daemon = palyrad().data_dir(folder.path()).spawn().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    server.stop(StopMode::Immediate).unwrap();
    daemon.wait_for_line("is losing its leases", LIMIT).unwrap();
    server.start_again().unwrap();
    daemon.wait_for_line("renews its leases again", LIMIT).unwrap();
    let lines = daemon.lines(Stream::Stderr).unwrap();
    let told = lines.iter().filter(|line| line.contains("is losing its leases")).count();
    assert_eq!(told, 1, "{lines:#?}");
    let details = lines.iter().any(|line| line.starts_with("DETAIL"));
    assert!(!details, "what the server adds is not logged: {lines:#?}");
}
