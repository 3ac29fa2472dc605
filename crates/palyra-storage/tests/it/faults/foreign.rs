//! Databases of other programs are left alone.

use std::path::Path;

use palyra_storage::{DATABASE_FILE, Database, OpenOptions};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};
use rusqlite::Connection;

/// Makes a database with another program's tables, and says what its file holds.
fn make(folder: &Path, script: &str) -> Vec<u8> {
    let path = folder.join(DATABASE_FILE);
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch(script).unwrap();
    foreign.close().unwrap();
    std::fs::read(path).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sqlite_file_of_another_program_is_refused_and_not_touched() {
    for script in [
        "CREATE TABLE songs (title TEXT)",
        "PRAGMA journal_mode = WAL; CREATE TABLE songs (title TEXT)",
        "CREATE TABLE schema_state (name TEXT)",
        "PRAGMA application_id = 1234567",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let before = make(folder.path(), script);
        let refused = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap_err();
        assert_eq!(refused.code().as_str(), "storage/foreign", "{script}: {refused:?}");
        let told = refused.envelope().message().to_owned();
        assert!(told.contains(folder.path().to_str().unwrap()), "{told}");
        let after = std::fs::read(folder.path().join(DATABASE_FILE)).unwrap();
        assert!(before == after, "{script}: the file was changed");
    }
}

/// Its rows may be in the log alone, where a crash of that program left them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_of_another_program_is_not_touched_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(DATABASE_FILE);
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE songs (title TEXT)").unwrap();
    let log = folder.path().join(format!("{DATABASE_FILE}-wal"));
    let crashed = tempfile::tempdir().unwrap();
    for file in [&path, &log] {
        std::fs::copy(file, crashed.path().join(file.file_name().unwrap())).unwrap();
    }
    let before = std::fs::read(&log).unwrap();
    let refused = Database::open(OpenOptions::in_directory(crashed.path())).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "storage/foreign", "{refused:?}");
    let after = std::fs::read(crashed.path().join(log.file_name().unwrap())).unwrap();
    assert!(before == after, "the log was changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_file_says_whose_it_is() {
    let folder = tempfile::tempdir().unwrap();
    Database::open(OpenOptions::in_directory(folder.path())).await.unwrap().close().await;
    let file = Connection::open(folder.path().join(DATABASE_FILE)).unwrap();
    let id: i64 = file.query_row("PRAGMA application_id", [], |row| row.get(0)).unwrap();
    assert_ne!(id, 0);
}

async fn refused(database: &TestDatabase) -> palyra_storage::StorageError {
    let folder = tempfile::tempdir().unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.url = database.url().into();
    Database::open(options).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_another_program_on_postgres_are_told() {
    for script in ["CREATE TABLE schema_state (name TEXT)", "CREATE TABLE leases (a TEXT)"] {
        let server = PostgresServer::shared().unwrap();
        let database = server.create_database(DatabaseLocale::C).unwrap();
        database.psql(script).unwrap();
        let refused = refused(&database).await;
        assert_eq!(refused.code().as_str(), "storage/foreign", "{script}: {refused:?}");
    }
}
