//! The tables and statements that all benches share, raw and ours.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use palyra_storage::{Database, Sql, claim_sql, params, sql};
use palyra_testkit::figures::{Goal, in_turns, millis, report};
use tokio::runtime::Runtime;

pub(crate) const CALLERS: usize = 64;
pub(crate) const PAYLOAD: &[u8; 512] = &[b'x'; 512];

pub(crate) const CREATE_ROWS: Sql = sql!(
    sqlite: "CREATE TABLE rows (id INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT",
    postgres: "CREATE TABLE rows (id BIGINT PRIMARY KEY, payload BYTEA NOT NULL)",
);
pub(crate) const INSERT: &str = "INSERT INTO rows (id, payload) VALUES ($1, $2)";
pub(crate) const INSERT_SQL: Sql = sql!("INSERT INTO rows (id, payload) VALUES ($1, $2)");
pub(crate) const CREATE_SUMS: Sql = sql!(
    sqlite: "CREATE TABLE sums (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT",
    postgres: "CREATE TABLE sums (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
);
pub(crate) const SUM_INSERT: Sql =
    sql!("INSERT INTO sums (id, n) VALUES ($1, 0) ON CONFLICT (id) DO NOTHING");
pub(crate) const SUM_READ: Sql = sql!("SELECT n FROM sums WHERE id = $1");
pub(crate) const SUM_SET: Sql = sql!("UPDATE sums SET n = $2 WHERE id = $1");

pub(crate) const CREATE_QUEUE: Sql = sql!(
    sqlite: "CREATE TABLE queue (id INTEGER PRIMARY KEY, due INTEGER NOT NULL,
        state INTEGER NOT NULL, payload BLOB NOT NULL) STRICT",
    postgres: "CREATE TABLE queue (id BIGINT PRIMARY KEY, due BIGINT NOT NULL,
        state BIGINT NOT NULL, payload BYTEA NOT NULL)",
);
pub(crate) const CREATE_DUE: Sql =
    sql!("CREATE INDEX queue_due ON queue (due, id) WHERE state = 0");
pub(crate) const ENQUEUE: Sql =
    sql!("INSERT INTO queue (id, due, state, payload) VALUES ($1, $2, 0, $3)");
pub(crate) const CLAIM: Sql = claim_sql!(
    "UPDATE queue SET state = 1 WHERE id IN (
        SELECT id FROM queue WHERE state = 0 AND due <= $1 ORDER BY due, id LIMIT $2",
    ") RETURNING id"
);
pub(crate) const SETTLE: Sql = sql!("DELETE FROM queue WHERE id = $1");
pub(crate) const BATCH: usize = 64;

pub(crate) async fn create(db: &Database) {
    db.write(|tx| {
        for table in [&CREATE_ROWS, &CREATE_SUMS, &CREATE_QUEUE, &CREATE_DUE] {
            tx.execute(table, params![])?;
        }
        Ok(())
    })
    .await
    .unwrap();
}

/// Fills the queue up to `count` rows, ids from `first`.
pub(crate) async fn fill(db: &Database, first: i64, count: usize) {
    for start in (0..count as i64).step_by(5_000) {
        let ids = first + start..first + (start + 5_000).min(count as i64);
        db.write(move |tx| {
            let row = |id: i64| [id.into(), id.into(), PAYLOAD.as_slice().into()];
            tx.execute_many(&ENQUEUE, ids.clone().map(row)).map(drop)
        })
        .await
        .unwrap();
    }
}

/// Claims a batch, then settles it: two commits.
pub(crate) async fn claim_and_settle(db: &Database) -> usize {
    let claimed: Vec<i64> = db
        .write(|tx| tx.query(&CLAIM, params![i64::MAX, BATCH as i64], |row| row.get(0)))
        .await
        .unwrap();
    let count = claimed.len();
    db.write(move |tx| tx.execute_many(&SETTLE, claimed.iter().map(|id| [(*id).into()])))
        .await
        .unwrap();
    count
}

/// How long the queues are before which the same work is done.
pub(crate) const SHORT: usize = 2_000;
pub(crate) const LONG: usize = 200_000;

/// The same work in front of a short and of a long queue, in turns.
pub(crate) fn growth(runtime: &Runtime, figure: &str, short: &Database, long: &Database) {
    let next = Ids::starting_at(1_000_000);
    let cost = |db: &Database| {
        let begun = Instant::now();
        assert_eq!(runtime.block_on(claim_and_settle(db)), BATCH);
        let cost = millis(begun.elapsed());
        // What was taken is put back, so that both queues keep their length.
        runtime.block_on(fill(db, next.take(BATCH), BATCH));
        cost
    };
    let measured = in_turns(101, || cost(long), || cost(short));
    report(figure, "ms/batch", measured, Some(Goal::AtMost(1.2)));
}

/// Ids in the order in which callers come, as the raw reference has them: neighbours in the file.
#[derive(Clone, Default)]
pub(crate) struct Ids(Arc<AtomicI64>);

impl Ids {
    pub(crate) fn starting_at(first: i64) -> Self {
        Self(Arc::new(AtomicI64::new(first)))
    }

    pub(crate) fn next(&self) -> i64 {
        self.take(1)
    }

    /// The first of `count` ids.
    pub(crate) fn take(&self, count: usize) -> i64 {
        self.0.fetch_add(count as i64, Ordering::Relaxed)
    }
}

/// Runs `unit` from [`CALLERS`] callers at once, `each` times.
pub(crate) async fn concurrently<F>(each: usize, unit: impl Fn(i64) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let callers = (0..CALLERS as i64).map(|caller| {
        let units: Vec<F> = (0..each).map(|_| unit(caller)).collect();
        tokio::spawn(async move {
            for unit in units {
                unit.await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
}

/// One row.
pub(crate) async fn insert(db: Database, ids: Ids) {
    let id = ids.next();
    db.write(move |tx| tx.execute(&INSERT_SQL, params![id, PAYLOAD.as_slice()])).await.unwrap();
}

/// Three statements with a read between them.
pub(crate) async fn script(db: Database, ids: Ids, caller: i64) {
    let id = ids.next();
    db.write(move |tx| {
        tx.execute(&INSERT_SQL, params![id, PAYLOAD.as_slice()])?;
        let sum: i64 = tx.query_one(&SUM_READ, params![caller], |row| row.get(0))?;
        tx.execute(&SUM_SET, params![caller, sum + 1])
    })
    .await
    .unwrap();
}
