//! The same where two programs can be at work at once. They need a server, so they are no part of
//! `make check`.

use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};

use super::*;

async fn open(folder: &std::path::Path) -> (TestDatabase, Database) {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::Icu).unwrap();
    let mut options = OpenOptions::in_directory(folder.join("data"));
    options.config.url = database.url().into();
    (database, Database::open(options).await.unwrap())
}

#[tokio::test]
async fn a_key_that_was_overtaken_is_no_wrong_one() {
    let folder = tempfile::tempdir().unwrap();
    let (_postgres, db) = open(folder.path()).await;
    is_overtaken_between_two_looks(db, folder.path()).await;
}

#[tokio::test]
async fn a_refused_rotation_clears_its_own_key_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (_postgres, db) = open(folder.path()).await;
    a_refused_rotation_clears_only_its_own_key(db, folder.path()).await;
}

#[tokio::test]
async fn a_key_that_a_secret_needs_is_not_of_the_past() {
    let folder = tempfile::tempdir().unwrap();
    let (_postgres, db) = open(folder.path()).await;
    a_key_that_a_secret_needs_is_none_of_the_past(db, folder.path()).await;
}
