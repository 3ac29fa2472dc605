//! Postgres: against tokio-postgres used directly, with as many connections.

use std::cell::Cell;

use palyra_storage::{Database, OpenOptions};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Statement};

use crate::queue::{self, BATCH, CALLERS, Ids, PAYLOAD};
use palyra_testkit::figures::{Goal, in_turns, rate, report};

const TURNS: usize = 5;
const CONNECTIONS: usize = 8;
const EACH: usize = 40;
const ROWS: usize = CALLERS * EACH;

pub(crate) fn run(runtime: &Runtime) {
    let server = PostgresServer::start().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = OpenOptions::in_directory(folder.path());
    options.config.url = database.url().into();
    options.config.connections = CONNECTIONS as u32;
    let db = runtime.block_on(async {
        let db = Database::open(options).await.unwrap();
        queue::create(&db).await;
        db
    });
    commits(runtime, &db, &database.url());
    claims(runtime, &db, &database.url());
    runtime.block_on(db.close());
    growth(runtime, &server);
}

/// Both queues are as a server keeps them that has had the time to look after its tables.
fn growth(runtime: &Runtime, server: &PostgresServer) {
    let queue = |rows: usize| {
        let database = server.create_database(DatabaseLocale::C).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        options.config.url = database.url().into();
        let db = runtime.block_on(async {
            let db = Database::open(options).await.unwrap();
            queue::create(&db).await;
            queue::fill(&db, 0, rows).await;
            db
        });
        database.psql("VACUUM ANALYZE queue; CHECKPOINT").unwrap();
        (db, database, folder)
    };
    let (short, long) = (queue(queue::SHORT), queue(queue::LONG));
    queue::growth(runtime, "storage.claim.growth.postgres", &short.0, &long.0);
    runtime.block_on(async {
        short.0.close().await;
        long.0.close().await;
    });
}

fn commits(runtime: &Runtime, db: &Database, url: &str) {
    let ids = Ids::default();
    let measured = in_turns(
        TURNS,
        || {
            let insert = |_| queue::insert(db.clone(), ids.clone());
            rate(ROWS, || runtime.block_on(queue::concurrently(EACH, insert)))
        },
        || {
            let clients = runtime.block_on(connect(url, CONNECTIONS));
            rate(ROWS, || runtime.block_on(insert_plainly(clients, &ids)))
        },
    );
    report("storage.commit.postgres", "commits/s", measured, Some(Goal::AtLeast(0.7)));
}

async fn connect(url: &str, count: usize) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..count {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        clients.push(client);
    }
    clients
}

/// What a careful program without us would do: a transaction per unit, statements prepared.
async fn insert_plainly(clients: Vec<Client>, ids: &Ids) {
    let tasks = clients.into_iter().map(|mut client| {
        let ids = ids.clone();
        tokio::spawn(async move {
            let insert = client.prepare(queue::INSERT).await.unwrap();
            for _ in 0..ROWS / CONNECTIONS {
                let id = ids.next();
                let transaction = client.transaction().await.unwrap();
                transaction.execute(&insert, &[&id, &PAYLOAD.as_slice()]).await.unwrap();
                transaction.commit().await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

fn claims(runtime: &Runtime, db: &Database, url: &str) {
    const BATCHES: usize = 30;
    const COUNT: usize = BATCHES * BATCH;
    let next = Cell::new(0i64);
    let first = || next.replace(next.get() + COUNT as i64);
    let mut plain = runtime.block_on(Plain::connect(url));
    let measured = in_turns(
        TURNS,
        || {
            runtime.block_on(queue::fill(db, first(), COUNT));
            rate(COUNT, || {
                for _ in 0..BATCHES {
                    assert_eq!(runtime.block_on(queue::claim_and_settle(db)), BATCH);
                }
            })
        },
        || {
            runtime.block_on(queue::fill(db, first(), COUNT));
            rate(COUNT, || {
                for _ in 0..BATCHES {
                    runtime.block_on(plain.claim_and_settle());
                }
            })
        },
    );
    report("storage.claim.postgres", "rows/s", measured, Some(Goal::AtLeast(0.6)));
}

/// A client with its two statements.
struct Plain {
    client: Client,
    claim: Statement,
    settle: Statement,
}

impl Plain {
    async fn connect(url: &str) -> Self {
        let client = connect(url, 1).await.remove(0);
        let claim = "UPDATE queue SET state = 1 WHERE id IN (
            SELECT id FROM queue WHERE state = 0 AND due <= $1 ORDER BY due, id LIMIT $2
            FOR UPDATE SKIP LOCKED) RETURNING id";
        let claim = client.prepare(claim).await.unwrap();
        let settle = client.prepare("DELETE FROM queue WHERE id = $1").await.unwrap();
        Self { client, claim, settle }
    }

    async fn claim_and_settle(&mut self) {
        let transaction = self.client.transaction().await.unwrap();
        let rows = transaction.query(&self.claim, &[&i64::MAX, &(BATCH as i64)]).await.unwrap();
        transaction.commit().await.unwrap();
        let transaction = self.client.transaction().await.unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        let settled = ids.iter().map(async |id| transaction.execute(&self.settle, &[id]).await);
        futures_util::future::try_join_all(settled).await.unwrap();
        transaction.commit().await.unwrap();
    }
}
