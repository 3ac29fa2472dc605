//! The raw reference: a bare database with the same tables, settings and indexes, in which the rows of a
//! command are written in one commit: the conversation has another name, and the key stands for what was
//! told. Nothing is read, claimed or compared.

use futures_util::future::{join, try_join_all};
use rusqlite::Connection;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use crate::place::{Engine, Place};

const NOW: i64 = 1_800_000_000_000;
const SESSION: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const DIGEST: [u8; 32] = [7; 32];

// In the words of SQLite; Postgres says `$` for `?`.
const BEGIN: &str = "INSERT INTO sessions (id, key, agent, surface, title, next_run, next_history,
        created_at, changed_at)
    VALUES (?1, ?1, 'default', 'api', '', 1, 1, ?2, ?2)";
const CLAIM: &str = "INSERT INTO idempotency_keys (principal, operation, key, request, made,
        created_at)
    VALUES ('operator:owner', 'acp', ?1, ?2, ?3, ?4)";
const RENAME: &str = "UPDATE sessions SET title = ?2, version = version + 1 WHERE id = ?1";

/// A database that is worked on.
pub(crate) trait Raw {
    fn rename(&mut self, runtime: &Runtime, n: usize);
}

/// A bare database in which each command is told `result`.
pub(crate) fn beside(runtime: &Runtime, engine: Engine, result: &str) -> Box<dyn Raw> {
    let place = Place::open(runtime, engine);
    runtime.block_on(place.db.close());
    let result = result.to_owned();
    match engine {
        Engine::Sqlite => Box::new(Sqlite::open(place, result)),
        Engine::Postgres => Box::new(runtime.block_on(Postgres::open(place, result))),
    }
}

struct Sqlite {
    connection: Connection,
    result: String,
    _place: Place,
}

impl Sqlite {
    fn open(place: Place, result: String) -> Self {
        let file = place.folder.path().join(palyra_storage::DATABASE_FILE);
        let connection = Connection::open(file).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON;
                 PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;",
            )
            .unwrap();
        connection.execute(BEGIN, (SESSION, NOW)).unwrap();
        Self { connection, result, _place: place }
    }
}

impl Raw for Sqlite {
    fn rename(&mut self, _: &Runtime, n: usize) {
        let unit = self.connection.transaction().unwrap();
        let claim = (format!("key-{n}"), DIGEST, &self.result, NOW);
        unit.prepare_cached(CLAIM).unwrap().execute(claim).unwrap();
        let rename = (SESSION, format!("name {n}"));
        unit.prepare_cached(RENAME).unwrap().execute(rename).unwrap();
        unit.commit().unwrap();
    }
}

/// The statements of a transaction are sent together, and committed once all of them are answered.
struct Postgres {
    client: Client,
    claim: Statement,
    rename: Statement,
    result: String,
    _place: Place,
}

impl Postgres {
    async fn open(place: Place, result: String) -> Self {
        let url = place.postgres.as_ref().unwrap().url();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.execute(&BEGIN.replace('?', "$"), &[&SESSION, &NOW]).await.unwrap();
        let claim = client.prepare(&CLAIM.replace('?', "$")).await.unwrap();
        let rename = client.prepare(&RENAME.replace('?', "$")).await.unwrap();
        Self { client, claim, rename, result, _place: place }
    }

    async fn write(&self, key: String, name: String) {
        let claim: [&(dyn ToSql + Sync); 4] = [&key, &DIGEST.as_slice(), &self.result, &NOW];
        let rename: [&(dyn ToSql + Sync); 2] = [&SESSION, &name];
        let both =
            [self.client.execute(&self.claim, &claim), self.client.execute(&self.rename, &rename)];
        let (begun, changed) = join(self.client.batch_execute("BEGIN"), try_join_all(both)).await;
        begun.unwrap();
        assert!(changed.unwrap().iter().all(|rows| *rows == 1));
        self.client.batch_execute("COMMIT").await.unwrap();
    }
}

impl Raw for Postgres {
    fn rename(&mut self, runtime: &Runtime, n: usize) {
        runtime.block_on(self.write(format!("key-{n}"), format!("name {n}")));
    }
}
