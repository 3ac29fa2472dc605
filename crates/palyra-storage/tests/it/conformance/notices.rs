//! Whoever waits for a change is woken by its commit, and by nothing else.

use std::time::Duration;

use palyra_storage::{StorageError, Subscription, Topic, params};
use palyra_testkit::postgres::TestDatabase;

use crate::world::{INSERT, World, on_every_engine};

on_every_engine!(
    a_commit_wakes_those_who_wait,
    a_change_is_taken_once_without_waiting,
    an_undone_unit_wakes_nobody,
    another_node_is_woken,
    a_flood_of_notices_deafens_nobody,
);

const TOPIC: Topic = Topic::new("notes");
const OTHER: Topic = Topic::new("other");

async fn woken(subscription: &mut Subscription, within: Duration) -> bool {
    tokio::time::timeout(within, subscription.changed()).await.is_ok()
}

async fn a_commit_wakes_those_who_wait(world: World) {
    let (mut first, mut second, mut other) =
        (world.db.subscribe(TOPIC), world.db.subscribe(TOPIC), world.db.subscribe(OTHER));
    let write = |tx: &mut palyra_storage::Tx<'_>| {
        tx.notify(TOPIC);
        tx.execute(&INSERT, params!["a", 1i64])
    };
    world.db.write(write).await.unwrap();
    assert!(woken(&mut first, Duration::from_secs(10)).await);
    assert!(woken(&mut second, Duration::from_secs(10)).await);
    assert!(!woken(&mut first, Duration::from_millis(20)).await, "one change wakes once");
    assert!(!woken(&mut other, Duration::from_millis(20)).await);
}

async fn a_change_is_taken_once_without_waiting(world: World) {
    let (mut taking, mut waiting) = (world.db.subscribe(TOPIC), world.db.subscribe(TOPIC));
    assert!(!taking.take_change());
    let ring = |tx: &mut palyra_storage::Tx<'_>| {
        tx.notify(TOPIC);
        Ok(())
    };
    world.db.write(ring).await.unwrap();
    assert!(woken(&mut waiting, Duration::from_secs(10)).await);
    assert!(taking.take_change());
    assert!(!taking.take_change(), "one change is taken once");
}

async fn an_undone_unit_wakes_nobody(world: World) {
    let mut subscription = world.db.subscribe(TOPIC);
    let refused: Result<(), _> = world
        .db
        .write(|tx| {
            tx.notify(TOPIC);
            Err(StorageError::ShuttingDown)
        })
        .await;
    assert!(refused.is_err());
    let write = |tx: &mut palyra_storage::Tx<'_>| {
        let part: Result<(), StorageError> = tx.savepoint(|tx| {
            tx.notify(TOPIC);
            Err(StorageError::ShuttingDown)
        });
        assert!(part.is_err());
        Ok(())
    };
    world.db.write(write).await.unwrap();
    assert!(!woken(&mut subscription, Duration::from_millis(50)).await);
}

async fn another_node_is_woken(world: World) {
    let Some(other) = world.second_node().await else {
        return;
    };
    let mut subscription = other.subscribe(TOPIC);
    for round in 0..5 {
        let write = move |tx: &mut palyra_storage::Tx<'_>| {
            tx.notify(TOPIC);
            tx.execute(&INSERT, params![palyra_storage::text(round), 1i64])
        };
        world.db.write(write).await.unwrap();
        assert!(woken(&mut subscription, Duration::from_secs(10)).await, "round {round}");
    }
}

/// The server's processes for those who listen.
fn listeners(postgres: &TestDatabase) -> Vec<String> {
    let listening = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
                     AND query IN ('LISTEN palyra', 'SELECT pg_notify($1, $2)') ORDER BY pid";
    postgres.psql(listening).unwrap().lines().map(str::to_owned).collect()
}

/// Notices that arrive while a node tells its own must not keep it from reading on.
async fn a_flood_of_notices_deafens_nobody(world: World) {
    let (Some(other), Some(postgres)) = (world.second_node().await, &world.postgres) else {
        return;
    };
    let before = listeners(postgres);
    assert_eq!(before.len(), 2, "one for each node");
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (telling, stopped) = (world.db.clone(), stop.clone());
    let teller = tokio::spawn(async move {
        while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
            let tell = |tx: &mut palyra_storage::Tx<'_>| {
                tx.notify(TOPIC);
                tx.notify(OTHER);
                Ok(())
            };
            telling.write(tell).await.unwrap();
        }
    });
    for _ in 0..20 {
        let flood = "SELECT pg_notify('palyra', 'x t' || i) FROM generate_series(1, 2000) i";
        postgres.psql(flood).unwrap();
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    teller.await.unwrap();
    const LAST: Topic = Topic::new("last");
    for (from, to) in [(&world.db, &other), (&other, &world.db)] {
        let mut subscription = to.subscribe(LAST);
        let tell = |tx: &mut palyra_storage::Tx<'_>| {
            tx.notify(LAST);
            Ok(())
        };
        from.write(tell).await.unwrap();
        assert!(woken(&mut subscription, Duration::from_secs(20)).await, "a node is deaf");
    }
    assert_eq!(listeners(postgres), before, "a node was deaf until it connected anew");
}
