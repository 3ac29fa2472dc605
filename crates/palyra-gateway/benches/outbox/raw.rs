//! The raw reference: a queue as plain as can be, that inserts, claims and settles in batches of 64.
//! On Postgres, where no two callers share a commit, each message is inserted by one of its own.

use std::path::Path;

use rusqlite::Connection;
use tokio_postgres::{Client, NoTls};

pub(crate) const BATCH: usize = 64;
const TEXT: [u8; 512] = [b'x'; 512];

pub(crate) struct Raw {
    connection: Connection,
    next: i64,
}

impl Raw {
    /// With the settings that the writer of a database has.
    pub(crate) fn open(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON;
                 PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;
                 CREATE TABLE queue (id INTEGER PRIMARY KEY, due INTEGER NOT NULL,
                     state INTEGER NOT NULL, payload BLOB NOT NULL) STRICT;
                 CREATE INDEX queue_due ON queue (due, id) WHERE state = 0",
            )
            .unwrap();
        Self { connection, next: 0 }
    }

    /// Inserts, claims and settles `count` rows: three commits for each `batch`.
    pub(crate) fn work(&mut self, count: usize, batch: usize) {
        for _ in 0..count / batch {
            let first = self.next;
            self.next += batch as i64;
            let unit = self.connection.transaction().unwrap();
            for id in first..self.next {
                let insert = "INSERT INTO queue (id, due, state, payload) VALUES (?1, ?1, 0, ?2)";
                unit.prepare_cached(insert).unwrap().execute((id, TEXT.as_slice())).unwrap();
            }
            unit.commit().unwrap();
            let unit = self.connection.transaction().unwrap();
            let claimed: Vec<i64> = {
                let claim = "UPDATE queue SET state = 1 WHERE id IN (
                    SELECT id FROM queue WHERE state = 0 ORDER BY due, id LIMIT ?1) RETURNING id";
                let mut claim = unit.prepare_cached(claim).unwrap();
                let rows = claim.query_map([batch as i64], |row| row.get(0)).unwrap();
                rows.map(Result::unwrap).collect()
            };
            unit.commit().unwrap();
            let unit = self.connection.transaction().unwrap();
            for id in claimed {
                let settle = "DELETE FROM queue WHERE id = ?1";
                unit.prepare_cached(settle).unwrap().execute([id]).unwrap();
            }
            unit.commit().unwrap();
        }
    }
}

/// The same on Postgres, on several connections at once.
pub(crate) struct RawPostgres {
    clients: Vec<Client>,
    next: i64,
}

impl RawPostgres {
    pub(crate) async fn open(url: &str, connections: u32) -> Self {
        let mut clients = Vec::new();
        for _ in 0..connections {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
            tokio::spawn(connection);
            clients.push(client);
        }
        let tables = "CREATE TABLE raw_queue (id BIGINT PRIMARY KEY, due BIGINT NOT NULL,
                state BIGINT NOT NULL, payload BYTEA NOT NULL);
            CREATE INDEX raw_queue_due ON raw_queue (due, id) WHERE state = 0";
        clients[0].batch_execute(tables).await.unwrap();
        Self { clients, next: 0 }
    }

    pub(crate) async fn work(&mut self, count: usize) {
        let each = count / self.clients.len() / BATCH;
        let first = self.next;
        self.next += count as i64;
        let batches = self.clients.iter_mut().enumerate().map(|(at, client)| {
            let first = first + (at * each * BATCH) as i64;
            async move {
                for batch in 0..each as i64 {
                    let from = first + batch * BATCH as i64;
                    one_batch(client, from..from + BATCH as i64).await;
                }
            }
        });
        futures_util::future::join_all(batches).await;
    }
}

async fn one_batch(client: &mut Client, ids: std::ops::Range<i64>) {
    let insert = "INSERT INTO raw_queue (id, due, state, payload) VALUES ($1, $1, 0, $2)";
    let insert = client.prepare(insert).await.unwrap();
    for id in ids {
        client.execute(&insert, &[&id, &TEXT.as_slice()]).await.unwrap();
    }
    let claim = "UPDATE raw_queue SET state = 1 WHERE id IN (
        SELECT id FROM raw_queue WHERE state = 0 ORDER BY due, id LIMIT $1
        FOR UPDATE SKIP LOCKED) RETURNING id";
    let claim = client.prepare(claim).await.unwrap();
    let unit = client.transaction().await.unwrap();
    let claimed = unit.query(&claim, &[&(BATCH as i64)]).await.unwrap();
    unit.commit().await.unwrap();
    let settle = client.prepare("DELETE FROM raw_queue WHERE id = $1").await.unwrap();
    let unit = client.transaction().await.unwrap();
    for row in claimed {
        unit.execute(&settle, &[&row.get::<_, i64>(0)]).await.unwrap();
    }
    unit.commit().await.unwrap();
}
