//! SQLite: against rusqlite used directly, with the same tables and settings.

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use palyra_storage::{Database, OpenOptions, params};
use rusqlite::Connection;
use tokio::runtime::Runtime;

use crate::queue::{self, BATCH, CALLERS, Ids, PAYLOAD};
use palyra_testkit::figures::{Goal, in_turns, median, millis, rate, report};

const TURNS: usize = 7;
const EACH: usize = 150;
const ROWS: usize = CALLERS * EACH;

pub(crate) fn run(runtime: &Runtime) {
    let folder = tempfile::tempdir().unwrap();
    let db = runtime.block_on(async {
        let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
        queue::create(&db).await;
        db.write(|tx| {
            for caller in 0..CALLERS as i64 {
                tx.execute(&queue::SUM_INSERT, params![caller])?;
            }
            Ok(())
        })
        .await
        .unwrap();
        db
    });
    let raw = Raw::open(&folder.path().join("raw.db"));
    group_commit(runtime, &db, &raw);
    idle(runtime, &db, &raw);
    claims(runtime, &db, &raw);
    growth(runtime);
    runtime.block_on(db.close());
}

fn group_commit(runtime: &Runtime, db: &Database, raw: &Raw) {
    let (ids, raw_ids) = (Ids::default(), Ids::default());
    let inserted = || {
        let insert = |_| queue::insert(db.clone(), ids.clone());
        rate(ROWS, || runtime.block_on(queue::concurrently(EACH, insert)))
    };
    let plain =
        in_turns(TURNS, inserted, || rate(ROWS, || raw.insert_in_groups(raw_ids.take(ROWS), ROWS)));
    report("storage.group_commit.sqlite", "rows/s", plain, Some(Goal::AtLeast(0.6)));

    let scripted = in_turns(
        TURNS,
        || {
            let script = |caller| queue::script(db.clone(), ids.clone(), caller);
            rate(ROWS, || runtime.block_on(queue::concurrently(EACH, script)))
        },
        || rate(ROWS, || raw.script_in_groups(raw_ids.take(ROWS), ROWS)),
    );
    report("storage.group_commit.scripted", "units/s", scripted, Some(Goal::AtLeast(0.5)));

    let singles = ROWS / 8;
    let gain = in_turns(TURNS, inserted, || {
        rate(singles, || raw.insert_one_by_one(raw_ids.take(singles), singles))
    });
    report("storage.group_gain.sqlite", "rows/s", gain, Some(Goal::AtLeast(10.0)));
}

/// Alone, a caller must not wait for a group to fill.
fn idle(runtime: &Runtime, db: &Database, raw: &Raw) {
    const COMMITS: usize = 300;
    let next = Cell::new(1_000_000_000i64);
    let one = |work: &mut dyn FnMut(i64)| {
        median((0..COMMITS).map(|_| {
            let id = next.replace(next.get() + 1);
            let begun = Instant::now();
            work(id);
            millis(begun.elapsed())
        }))
    };
    let measured = in_turns(
        TURNS,
        || {
            one(&mut |id| {
                let write = db.write(move |tx| {
                    tx.execute(&queue::INSERT_SQL, params![id, PAYLOAD.as_slice()])
                });
                runtime.block_on(write).map(drop).unwrap();
            })
        },
        || one(&mut |id| raw.insert_one_by_one(id, 1)),
    );
    report("storage.idle_commit_ms", "ms", measured, Some(Goal::AtMost(1.5)));
}

fn claims(runtime: &Runtime, db: &Database, raw: &Raw) {
    const BATCHES: usize = 30;
    const COUNT: usize = BATCHES * BATCH;
    let next = Cell::new(0i64);
    let first = |count: usize| next.replace(next.get() + count as i64);
    let ours = || {
        runtime.block_on(queue::fill(db, first(COUNT), COUNT));
        rate(COUNT, || {
            for _ in 0..BATCHES {
                assert_eq!(runtime.block_on(queue::claim_and_settle(db)), BATCH);
            }
        })
    };
    let measured = in_turns(TURNS, ours, || {
        raw.fill(first(COUNT), COUNT);
        rate(COUNT, || (0..BATCHES).for_each(|_| raw.claim_and_settle()))
    });
    report("storage.claim.sqlite", "rows/s", measured, Some(Goal::AtLeast(0.6)));
}

fn growth(runtime: &Runtime) {
    let queue = |rows: usize| {
        let folder = tempfile::tempdir().unwrap();
        let db = runtime.block_on(async {
            let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
            queue::create(&db).await;
            queue::fill(&db, 0, rows).await;
            db
        });
        (db, folder)
    };
    let (short, long) = (queue(queue::SHORT), queue(queue::LONG));
    queue::growth(runtime, "storage.claim.growth", &short.0, &long.0);
    runtime.block_on(async {
        short.0.close().await;
        long.0.close().await;
    });
}

/// Those that the writer of a database has.
const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON;
    PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY";

struct Raw(Connection);

impl Raw {
    fn open(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(SETTINGS).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE rows (id INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT;
                 CREATE TABLE sums (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;
                 CREATE TABLE queue (id INTEGER PRIMARY KEY, due INTEGER NOT NULL,
                     state INTEGER NOT NULL, payload BLOB NOT NULL) STRICT;
                 CREATE INDEX queue_due ON queue (due, id) WHERE state = 0",
            )
            .unwrap();
        for id in 0..CALLERS as i64 {
            connection.execute("INSERT INTO sums VALUES (?1, 0)", [id]).unwrap();
        }
        Self(connection)
    }

    fn insert_in_groups(&self, first: i64, count: usize) {
        let mut insert = self.0.prepare(queue::INSERT).unwrap();
        for group in 0..count / CALLERS {
            self.0.execute_batch("BEGIN IMMEDIATE").unwrap();
            for n in 0..CALLERS {
                let id = first + (group * CALLERS + n) as i64;
                insert.execute((id, PAYLOAD.as_slice())).unwrap();
            }
            self.0.execute_batch("COMMIT").unwrap();
        }
    }

    fn script_in_groups(&self, first: i64, count: usize) {
        let mut insert = self.0.prepare(queue::INSERT).unwrap();
        let mut read = self.0.prepare("SELECT n FROM sums WHERE id = ?1").unwrap();
        let mut set = self.0.prepare("UPDATE sums SET n = ?2 WHERE id = ?1").unwrap();
        for group in 0..count / CALLERS {
            self.0.execute_batch("BEGIN IMMEDIATE").unwrap();
            for n in 0..CALLERS as i64 {
                let id = first + (group * CALLERS) as i64 + n;
                insert.execute((id, PAYLOAD.as_slice())).unwrap();
                let sum: i64 = read.query_row([n], |row| row.get(0)).unwrap();
                set.execute([n, sum + 1]).unwrap();
            }
            self.0.execute_batch("COMMIT").unwrap();
        }
    }

    fn insert_one_by_one(&self, first: i64, count: usize) {
        let mut insert = self.0.prepare_cached(queue::INSERT).unwrap();
        for n in 0..count as i64 {
            insert.execute((first + n, PAYLOAD.as_slice())).unwrap();
        }
    }

    fn fill(&self, first: i64, count: usize) {
        let mut insert = self.0.prepare("INSERT INTO queue VALUES (?1, ?1, 0, ?2)").unwrap();
        self.0.execute_batch("BEGIN IMMEDIATE").unwrap();
        for n in 0..count as i64 {
            insert.execute((first + n, PAYLOAD.as_slice())).unwrap();
        }
        self.0.execute_batch("COMMIT").unwrap();
    }

    fn claim_and_settle(&self) {
        let mut claim = self
            .0
            .prepare_cached(
                "UPDATE queue SET state = 1 WHERE id IN (
                    SELECT id FROM queue WHERE state = 0 AND due <= ?1 ORDER BY due, id LIMIT ?2)
                 RETURNING id",
            )
            .unwrap();
        let mut settle = self.0.prepare_cached("DELETE FROM queue WHERE id = ?1").unwrap();
        let ids: Vec<i64> = claim
            .query_map((i64::MAX, BATCH as i64), |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(ids.len(), BATCH);
        self.0.execute_batch("BEGIN IMMEDIATE").unwrap();
        for id in ids {
            settle.execute([id]).unwrap();
        }
        self.0.execute_batch("COMMIT").unwrap();
    }
}
