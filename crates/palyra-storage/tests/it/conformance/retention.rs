//! What only grows is cut back, by one node at a time.

use palyra_common::time::Duration;
use palyra_storage::lease::LeaseName;
use palyra_storage::retention::{Keep, Rule, Step, Sweeper, Swept, ground_rules};
use palyra_storage::{EngineKind, Sql, params, sql};

use crate::world::{INSERT, World, count, on_every_engine};

on_every_engine!(
    every_table_is_bounded_or_has_a_rule,
    a_round_removes_in_steps_what_may_go,
    one_node_sweeps_at_a_time,
);

/// Lets time pass, then sweeps once with the rules of the ground.
pub(super) async fn sweep_after(world: &World, passed: Duration) -> Swept {
    world.clock.advance(passed);
    sweeper(world, ground_rules(world.db.engine())).round().await.unwrap()
}

fn sweeper(world: &World, rules: Vec<Rule>) -> Sweeper {
    let leases = world.leases(&world.db);
    Sweeper::new(world.db.clone(), leases, world.clock(), rules, Duration::from_mins(10))
}

/// A table that grows with use and has no rule would fill the disk of whoever runs this for years.
async fn every_table_is_bounded_or_has_a_rule(world: World) {
    const TABLES: Sql = sql!(
        sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
        postgres: "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'
            ORDER BY tablename",
    );
    // One row per name that the program knows, per holder that another table bounds, per day.
    let bounded = [
        "schema_state",
        "counters",
        "journal_head",
        "journal_segments",
        "blob_references",
        "notes",
    ];
    let rules = ground_rules(world.db.engine());
    let tables: Vec<String> =
        world.db.read(|tx| tx.query(&TABLES, params![], |row| row.get(0))).await.unwrap();
    assert!(tables.len() > bounded.len());
    for table in tables.iter().map(String::as_str) {
        let ruled = rules.iter().any(|rule| rule.table == table);
        let collected = table == "blobs";
        assert!(
            ruled || collected || bounded.contains(&table),
            "{table} has no retention: give it a rule, or say here what bounds it"
        );
    }
    let marks = rules.iter().any(|rule| rule.table == "commit_marks");
    assert_eq!(marks, world.db.engine() == EngineKind::Postgres);
}

fn remove_small(
    tx: &mut palyra_storage::Tx<'_>,
    step: Step,
) -> Result<u64, palyra_storage::StorageError> {
    const REMOVE: Sql = sql!(
        "DELETE FROM notes WHERE id IN (SELECT id FROM notes WHERE n <= $1 ORDER BY n LIMIT $2)"
    );
    tx.execute(&REMOVE, params![step.count, step.limit])
}

const KEEP_LARGE: Rule = Rule {
    table: "notes",
    keep: Keep { age: Duration::from_days(1), count: 1_200 },
    step: remove_small,
};

async fn a_round_removes_in_steps_what_may_go(world: World) {
    world
        .db
        .write(|tx| {
            let sets = (1..=1_300i64).map(|n| [palyra_storage::text(n), n.into()]);
            tx.execute_many(&INSERT, sets)
        })
        .await
        .unwrap();
    let swept = sweeper(&world, vec![KEEP_LARGE]).round().await.unwrap();
    assert_eq!(swept, [("notes", 1_200)]);
    assert_eq!(count(&world.db).await, 100);
}

async fn one_node_sweeps_at_a_time(world: World) {
    crate::world::insert(&world.db, "a", 1).await.unwrap();
    let leases = world.leases(&world.db);
    let held = leases.try_take(&LeaseName::new("retention")).await.unwrap().unwrap();
    let sweeper = sweeper(&world, vec![KEEP_LARGE]);
    assert_eq!(sweeper.round().await.unwrap(), Swept::new());
    leases.release(held).await.unwrap();
    assert_eq!(sweeper.round().await.unwrap(), [("notes", 1)]);
    assert_eq!(leases.holder(&LeaseName::new("retention")).await.unwrap(), None);
}
