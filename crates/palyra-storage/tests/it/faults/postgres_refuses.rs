//! A Postgres that does not let us in: told at once, with what to do.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use palyra_storage::{Database, OpenOptions, StorageError};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};

/// Far less than is retried for, far more than an answer takes.
const AT_ONCE: Duration = Duration::from_secs(60);

async fn refused(url: String) -> StorageError {
    let folder = tempfile::tempdir().unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.url = url.into();
    options.config.retry_for = palyra_common::time::Duration::from_mins(10);
    let opened = tokio::time::timeout(AT_ONCE, Database::open(options)).await;
    opened.expect("it is tried again and again").unwrap_err()
}

fn url(user: &str, database: &str, server: &PostgresServer) -> String {
    let (host, port) = (server.socket_dir().display(), server.port());
    format!("postgres://{user}@/{database}?host={host}&port={port}")
}

async fn check(url: String, code: &str, says: &str) {
    let refused = refused(url).await;
    let told = refused.envelope();
    assert_eq!((told.code(), told.retryable()), (code, false), "{refused:?}");
    assert!(told.message().contains(says), "{}", told.message());
    assert!(!told.message().contains("geheim"), "{}", told.message());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_or_database_that_postgres_does_not_have() {
    let server = PostgresServer::shared().unwrap();
    check(url("nobody_at_all", "postgres", server), "storage/forbidden", "(28000)").await;
    let gone = server.create_database(DatabaseLocale::C).unwrap().url();
    check(gone, "storage/forbidden", "(3D000)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_user_without_rights_is_told_what_to_grant() {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let weak = format!("{}_weak", database.name());
    database.psql(&format!("CREATE ROLE {weak} LOGIN")).unwrap();
    let refused = refused(url(&weak, database.name(), server)).await;
    database.psql(&format!("DROP ROLE {weak}")).unwrap();
    assert_eq!(refused.code().as_str(), "storage/forbidden", "{refused:?}");
    assert!(refused.envelope().message().contains("(42501"), "{}", refused.envelope());
    assert!(refused.envelope().recovery_hint().contains("GRANT"));
}

/// Greets with a request for a password.
fn ask_for_a_password(folder: &Path) {
    let door = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
    std::thread::spawn(move || {
        for guest in door.incoming() {
            let mut guest = guest.unwrap();
            let mut greeting = [0; 8];
            let _ = guest.read_exact(&mut greeting);
            let _ = guest.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3]);
            let _ = guest.read_to_end(&mut Vec::new());
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_postgres_asks_for_and_nobody_gave() {
    let folder = tempfile::tempdir().unwrap();
    ask_for_a_password(folder.path());
    let url = format!("postgres://anna@/x?host={}&port=5432", folder.path().display());
    check(url, "storage/forbidden", "password missing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_address_that_cannot_work() {
    let tls = "postgres://anna:geheim@127.0.0.1/x?sslmode=require";
    check(tls.into(), "storage/invalid_value", "sslmode").await;
    check("postgres://".into(), "storage/invalid_value", "host").await;
    check("postgres:///x".into(), "storage/invalid_value", "host").await;
}
