//! The services that run for as long as a node does.

use std::time::Duration;

use palyra_storage::lease::{LeaseKeeper, LeaseName, Leases, NodeState};
use palyra_storage::retention::{Sweeper, ground_rules};
use palyra_storage::{SCHEMA_VERSION, Sql, params, sql};
use tokio::sync::oneshot;

use crate::world::{World, on_every_engine};

const LIMIT: Duration = Duration::from_secs(30);

on_every_engine!(
    a_keeper_renews_what_its_node_holds,
    a_keeper_tells_a_node_that_is_too_old,
    a_sweeper_works_at_once_and_stops_when_asked,
);

fn short_leases(world: &World) -> Leases {
    let ttl = palyra_common::time::Duration::from_millis(1_500);
    Leases::new(world.db.clone(), world.clock(), ttl)
}

async fn a_keeper_renews_what_its_node_holds(world: World) {
    let leases = short_leases(&world);
    let name = LeaseName::new("connector:echo");
    leases.try_take(&name).await.unwrap().unwrap();
    let first = leases.holder(&name).await.unwrap().unwrap().expires_at;
    let (keeper, mut handle) = LeaseKeeper::new(world.db.clone(), leases.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(keeper.run(async { drop(stopped.await) }));
    let renewed = async {
        loop {
            world.clock.advance(palyra_common::time::Duration::from_millis(10));
            if leases.holder(&name).await.unwrap().unwrap().expires_at > first {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, renewed).await.expect("the lease was never renewed");
    // A renewal that took too long to be waited for may have been written all the same.
    let healthy = async {
        while handle.state() != NodeState::Healthy {
            handle.changed().await.expect("the keeper goes on");
        }
    };
    tokio::time::timeout(LIMIT, healthy).await.expect("it never was healthy");
    stop.send(()).unwrap();
    tokio::time::timeout(LIMIT, running).await.expect("the keeper did not stop").unwrap();
}

async fn a_keeper_tells_a_node_that_is_too_old(world: World) {
    const SET: Sql = sql!("UPDATE schema_state SET oldest_binary = $1");
    let (keeper, mut handle) = LeaseKeeper::new(world.db.clone(), short_leases(&world));
    let (_stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(keeper.run(async { drop(stopped.await) }));
    let oldest_binary = SCHEMA_VERSION + 1;
    world.db.write(move |tx| tx.execute(&SET, params![oldest_binary])).await.unwrap();
    let told =
        async { while handle.changed().await != Some(NodeState::TooOld { oldest_binary }) {} };
    tokio::time::timeout(LIMIT, told).await.expect("never told");

    world.db.close().await;
    let told = tokio::time::timeout(LIMIT, handle.changed()).await.expect("never told");
    assert!(matches!(told, Some(NodeState::Failing { .. })), "{told:?}");
    running.abort();
    let _ = running.await;
    assert_eq!(handle.changed().await, None, "a keeper that has ended says so");
}

async fn a_sweeper_works_at_once_and_stops_when_asked(world: World) {
    let emit = |tx: &mut palyra_storage::Tx<'_>| {
        tx.emit(palyra_storage::events::NewEvent {
            at: crate::world::START,
            kind: "old".into(),
            subject: "x".into(),
            body: serde_json::Value::Null,
        });
        Ok(())
    };
    world.db.write(emit).await.unwrap();
    world.clock.advance(palyra_common::time::Duration::from_days(31));
    let (db, leases, clock) = (world.db.clone(), world.leases(&world.db), world.clock());
    let hour = palyra_common::time::Duration::from_hours(1);
    let sweeper = Sweeper::new(db, leases, clock, ground_rules(world.db.engine()), hour);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(sweeper.run(async { drop(stopped.await) }));
    let swept = async {
        while palyra_storage::events::page_after(&world.db, 0, 1).await.unwrap().pruned_through == 0
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, swept).await.expect("nothing was swept");
    stop.send(()).unwrap();
    tokio::time::timeout(LIMIT, running).await.expect("the sweeper did not stop").unwrap();
}
