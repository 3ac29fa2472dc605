//! A migration that is killed starts again and completes.

use std::sync::LazyLock;
use std::time::Duration;

use palyra_storage::{Database, Migration, OpenOptions, SCHEMA_VERSION, Sql, params, sql};
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::process::{Builder, is_reexecuted, reexec_test};
use palyra_testkit::seed::{Seed, rounds};

use super::fixtures::{self, Released};
use super::{NEXT, weight};
use crate::world::{World, on_every_engine};

/// The next schema, by a migration that never ends by itself: whenever it is killed, it is not
/// finished. The server is told to look whether its client still lives, as nothing else would
/// tell it during a statement.
static ENDLESS: LazyLock<Vec<Migration>> = LazyLock::new(|| {
    let mut steps = NEXT.clone();
    let last = steps.last_mut().unwrap();
    let never_ends = "
--! sqlite
CREATE TABLE endless AS
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;
--! postgres
SET LOCAL client_connection_check_interval = '20ms';
SELECT pg_sleep(3600);";
    last.text = Box::leak(format!("{}{never_ends}", last.text).into_boxed_str());
    steps
});
/// Tells the child to take that one.
const ENDLESS_VARIABLE: &str = "PALYRA_TEST_ENDLESS";
/// What the child logs when a step begins.
const UNDER_WAY: &str = "migrating the database";
const LIMIT: Duration = Duration::from_secs(60);

on_every_engine!(a_crash_at_any_point_is_made_good, a_crash_at_any_moment_is_made_good);

fn migrating(options: &OpenOptions) -> Builder {
    reexec_test("migrations::interrupted::migrate_in_a_child")
        .unwrap()
        .data_dir(&options.data_dir)
        .env("PALYRA_STORAGE_URL", options.config.url.expose())
}

/// The child: opens the database with the next schema.
#[test]
#[ignore = "started by another test"]
fn migrate_in_a_child() {
    if !is_reexecuted() {
        return;
    }
    let mut options = OpenOptions::in_directory(std::env::var_os("PALYRA_DATA_DIR").unwrap());
    options.config.url = std::env::var("PALYRA_STORAGE_URL").unwrap().into();
    let endless = std::env::var_os(ENDLESS_VARIABLE).is_some();
    options.migrations = if endless { &ENDLESS } else { &NEXT };
    crate::log::print();
    println!("opening");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { Database::open(options).await.unwrap().close().await });
    println!("migrated");
}

async fn complete(world: &World, rows: i64) {
    let options = OpenOptions { migrations: &NEXT, ..world.options.clone() };
    let db = Database::open(options).await.unwrap();
    assert_eq!(db.schema().await.unwrap().version, SCHEMA_VERSION + 1);
    assert_eq!(weight(&db).await, (rows, rows));
}

async fn a_crash_at_any_point_is_made_good(world: World) {
    fixtures::fill(&world.db).await;
    world.db.close().await;
    let mut points = vec!["migrate.inside_step", "migrate.after_step"];
    if world.postgres.is_none() {
        points.insert(0, "migrate.after_copy");
    }
    for point in points {
        let plan = CrashPlan::at(point);
        let mut child = migrating(&world.options).crash(&plan).spawn().unwrap();
        plan.expect_crash(&mut child, LIMIT).unwrap();
    }
    complete(&world, 3).await;
}

async fn a_crash_at_any_moment_is_made_good(world: World) {
    const MANY: Sql = sql!(
        "INSERT INTO events (seq, at, kind, subject, body)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         SELECT i, 0, 'k', 's', 'null' FROM n"
    );
    const DOWN: Sql = sql!("DROP INDEX events_by_weight");
    const UNDO: Sql = sql!("ALTER TABLE events DROP COLUMN weight");
    const OLD: Sql = sql!("UPDATE schema_state SET version = version - 1");
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    world.db.write(|tx| tx.execute(&MANY, params![])).await.unwrap();
    world.db.close().await;
    for round in 0..rounds(6, 40) {
        // Every other migration is one that cannot have ended, and is killed while it is under way; of
        // the rest the kill may hit any part, also what comes before and what follows the commit.
        let endless = round % 2 == 0;
        let child = migrating(&world.options);
        let child = if endless { child.env(ENDLESS_VARIABLE, "1") } else { child };
        let mut child = child.spawn().unwrap();
        child.wait_for_line(if endless { UNDER_WAY } else { "opening" }, LIMIT).unwrap();
        std::thread::sleep(rng.duration(Duration::ZERO..Duration::from_millis(150)));
        child.kill_dash_nine().unwrap();
        if endless {
            let db = Database::open(world.options.clone()).await.unwrap();
            let found = db.schema().await.unwrap().version;
            assert_eq!(found, SCHEMA_VERSION, "half of a step was kept");
            db.close().await;
        }
        let options = OpenOptions { migrations: &NEXT, ..world.options.clone() };
        let db = Database::open(options).await.unwrap();
        assert_eq!(weight(&db).await, (20_000, 20_000));
        // Back to the schema before, for the next round.
        db.write(|tx| {
            [&DOWN, &UNDO, &OLD]
                .into_iter()
                .try_for_each(|sql| tx.execute(sql, params![]).map(drop))
        })
        .await
        .unwrap();
        db.close().await;
    }
}

/// From the first schema to the next: each start comes one step or two further before it is killed,
/// once in the middle of a step and once after it.
async fn come_through_crashes(old: Released) {
    let newest = SCHEMA_VERSION + 1;
    let mut version = 1;
    let points = ["migrate.inside_step", "migrate.after_step"].into_iter().zip(1..).cycle();
    for (point, kept) in points {
        if version + 2 > newest {
            break;
        }
        let plan = CrashPlan::at(point).nth(2);
        let mut child = migrating(&old.options).crash(&plan).spawn().unwrap();
        plan.expect_crash(&mut child, LIMIT).unwrap();
        version += kept;
        // A program that knows no later step finds nothing to do, and nothing too new.
        let known = NEXT.iter().take_while(|step| step.version <= version).count();
        let options = OpenOptions { migrations: &NEXT[..known], ..old.options.clone() };
        let db = Database::open(options).await.unwrap();
        assert_eq!(db.schema().await.unwrap().version, version, "after {point}");
        db.close().await;
    }
    let options = OpenOptions { migrations: &NEXT, ..old.options.clone() };
    let db = Database::open(options).await.unwrap();
    fixtures::check(&db).await;
    assert_eq!(weight(&db).await, (3, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_on_the_way_from_the_first_sqlite_schema_are_made_good() {
    come_through_crashes(Released::sqlite(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_on_the_way_from_the_first_postgres_schema_are_made_good() {
    come_through_crashes(Released::postgres(1)).await;
}
