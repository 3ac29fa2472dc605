//! What only grows is cut back, by one node at a time.

use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::LeaseName;
use palyra_storage::retention::{Keep, Rule, Step, Sweeper, Swept, ground_rules};
use palyra_storage::{EngineKind, Sql, params, sql};

use crate::world::{INSERT, World, count, on_every_engine};

on_every_engine!(
    every_table_is_bounded_or_has_a_rule,
    a_round_removes_in_steps_what_may_go,
    one_node_sweeps_at_a_time,
    a_rule_that_fails_keeps_nothing_else_from_being_swept,
    blobs_are_collected_in_steps,
    a_blob_store_that_fails_is_told_as_such,
    a_sweeper_that_lost_its_lease_stops,
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
        // One row per person or device.
        "principals",
        // One row per instance, and one per channel that it reads.
        "connectors",
        "inbound_cursors",
        "connector_status",
        "connector_resume",
        // One row per conversation that has a rule of its own.
        "router_rules",
        // A thousand per connector.
        "connector_events",
        // One row per agent, and what belongs to a run until it ends.
        "agents",
        "run_signals",
        "budget_reservations",
        // It goes with its run.
        "tape",
        // One row per master key that ever was, and ten per secret.
        "vault_keys",
        "secrets",
    ];
    // Their rules are brought by `palyra-identity`, `palyra-connector-core` and `palyra-gateway`.
    let elsewhere = [
        "login_codes",
        "api_tokens",
        "console_logins",
        "outbox",
        "outbox_lanes",
        "inbound_events",
        "sessions",
        "runs",
        "budgets",
        "surfaces",
        "session_summaries",
        "auxiliary_tasks",
        "system_events",
    ];
    let rules = ground_rules(world.db.engine());
    let tables: Vec<String> =
        world.db.read(|tx| tx.query(&TABLES, params![], |row| row.get(0))).await.unwrap();
    assert!(tables.len() > bounded.len());
    for table in tables.iter().map(String::as_str) {
        let ruled = rules.iter().any(|rule| rule.table == table);
        let collected = table == "blobs" || table == "blob_trash";
        assert!(
            ruled || collected || bounded.contains(&table) || elsewhere.contains(&table),
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

const FAILING: Rule = Rule {
    table: "nowhere",
    keep: Keep { age: Duration::from_days(1), count: 0 },
    step: |tx, _| {
        const REMOVE: Sql = sql!("DELETE FROM nowhere");
        tx.execute(&REMOVE, params![])
    },
};

fn blobs(world: &World, objects: impl ObjectStore) -> BlobStore {
    BlobStore::new(world.db.clone(), world.clock(), Arc::new(objects))
}

async fn a_rule_that_fails_keeps_nothing_else_from_being_swept(world: World) {
    crate::world::insert(&world.db, "a", 1).await.unwrap();
    let blobs = blobs(&world, InMemory::new());
    blobs.put(Bytes::from_static(b"loose")).await.unwrap();
    world.clock.advance(Duration::from_hours(25));
    let sweeper = sweeper(&world, vec![FAILING, KEEP_LARGE]).with_blobs(blobs.clone());
    let failed = sweeper.round().await.unwrap_err();
    assert_eq!(failed.code(), ErrorCode::StorageInternal, "{failed:?}");
    assert!(failed.to_string().contains("nowhere"), "{failed}");
    assert_eq!(count(&world.db).await, 0, "the rule after it was enforced");
    assert_eq!(blobs.totals().await.unwrap(), (0, 0), "blobs were collected");
    let leases = world.leases(&world.db);
    assert_eq!(leases.holder(&LeaseName::new("retention")).await.unwrap(), None);
}

async fn blobs_are_collected_in_steps(world: World) {
    let blobs = blobs(&world, InMemory::new());
    let mut puts = tokio::task::JoinSet::new();
    for n in 0..510 {
        let blobs = blobs.clone();
        puts.spawn(async move { blobs.put(Bytes::from(format!("blob {n}"))).await.unwrap() });
    }
    puts.join_all().await;
    world.clock.advance(Duration::from_hours(25));
    let swept = sweeper(&world, vec![]).with_blobs(blobs).round().await.unwrap();
    assert_eq!(swept, [("blobs", 510)]);
}

async fn a_blob_store_that_fails_is_told_as_such(world: World) {
    let folder = world.folder.path().join("objects");
    std::fs::create_dir(&folder).unwrap();
    let blobs = blobs(&world, LocalFileSystem::new_with_prefix(&folder).unwrap());
    let id = blobs.put(Bytes::from_static(b"stuck")).await.unwrap();
    // What is a directory cannot be deleted as an object, whoever tries.
    let shelf = folder.join(&id.as_str()[..2]);
    let object = std::fs::read_dir(shelf).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&object).unwrap();
    std::fs::create_dir_all(object.join("in the way")).unwrap();
    world.clock.advance(Duration::from_hours(25));
    let failed = sweeper(&world, vec![]).with_blobs(blobs).round().await.unwrap_err();
    assert_eq!(failed.code(), ErrorCode::BlobUnavailable, "{failed:?}");
}

async fn a_sweeper_that_lost_its_lease_stops(world: World) {
    const LOSE: Rule = Rule {
        table: "leases",
        keep: Keep { age: Duration::from_days(1), count: 0 },
        step: |tx, _| {
            const TAKE: Sql = sql!("UPDATE leases SET token = token + 1000");
            tx.execute(&TAKE, params![])
        },
    };
    crate::world::insert(&world.db, "a", 1).await.unwrap();
    let failed = sweeper(&world, vec![LOSE, KEEP_LARGE]).round().await.unwrap_err();
    assert_eq!(failed.code(), ErrorCode::StorageStaleLease, "{failed:?}");
    assert_eq!(count(&world.db).await, 1, "another node is at it");
}
