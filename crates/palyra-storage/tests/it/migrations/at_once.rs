//! Nodes that start at once on one Postgres database migrate it one after the other.

use palyra_storage::{Database, OpenOptions, SCHEMA_VERSION};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};
use tokio::task::JoinSet;

use super::fixtures;

const NODES: usize = 8;

fn options(database: &TestDatabase, data: &tempfile::TempDir, node: usize) -> OpenOptions {
    let mut options = OpenOptions::in_directory(data.path().join(format!("node-{node}")));
    options.config.url = database.url().into();
    (options.config.connections, options.config.readers) = (1, 1);
    options
}

async fn open_at_once(database: &TestDatabase, data: &tempfile::TempDir) -> Vec<Database> {
    let mut nodes = JoinSet::new();
    for node in 0..NODES {
        nodes.spawn(Database::open(options(database, data, node)));
    }
    let opened: Result<Vec<_>, _> = nodes.join_all().await.into_iter().collect();
    opened.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_at_once_end_in_one_schema() {
    let server = PostgresServer::shared().unwrap();
    let create = || server.create_database(DatabaseLocale::C).unwrap();
    let (alone, data) = (create(), tempfile::tempdir().unwrap());
    let one = Database::open(options(&alone, &data, 0)).await.unwrap();
    let expected = (one.schema().await.unwrap(), fixtures::definitions(&one).await);
    assert_eq!(expected.0.version, SCHEMA_VERSION);

    let (empty, old) = (create(), create());
    old.psql(&fixtures::postgres_dump(1)).unwrap();
    for database in [&empty, &old] {
        let data = tempfile::tempdir().unwrap();
        for node in open_at_once(database, &data).await {
            let found = (node.schema().await.unwrap(), fixtures::definitions(&node).await);
            assert_eq!(found, expected);
            node.close().await;
        }
    }
    fixtures::check(&Database::open(options(&old, &data, 0)).await.unwrap()).await;
}
