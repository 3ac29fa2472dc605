//! One holder at a time, and whoever lost a lease cannot write under it.

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::lease::{Lease, LeaseName, Leases, end_if_over};
use palyra_storage::{Database, StorageError, params};
use tokio::task::JoinSet;

use crate::world::{INSERT, World, count, on_every_engine};

on_every_engine!(
    a_lease_has_one_holder,
    an_expired_lease_can_be_taken_and_the_old_token_is_refused,
    a_renewed_lease_stays,
    a_lease_that_was_ended_is_not_renewed,
    a_released_lease_is_free_at_once,
    tokens_only_grow,
    of_many_takers_one_wins,
    a_lease_is_taken_with_the_work_or_not_at_all,
    a_lease_that_nobody_knows_of_is_given_back,
    a_token_never_goes_back_even_over_a_release,
);

fn name() -> LeaseName {
    LeaseName::new("connector:echo")
}

async fn write_under(db: &Database, lease: &Lease, id: &'static str) -> Result<(), StorageError> {
    let lease = lease.clone();
    db.write(move |tx| {
        lease.fence(tx)?;
        tx.execute(&INSERT, params![id, lease.token()]).map(drop)
    })
    .await
}

/// Moves the lease's expiry into the past, by whichever clock it is kept.
async fn expire(world: &World) {
    const EXPIRE: palyra_storage::Sql =
        palyra_storage::sql!("UPDATE leases SET expires_at = 1 WHERE name = $1");
    let expire = |tx: &mut palyra_storage::Tx<'_>| tx.execute(&EXPIRE, params![name().as_str()]);
    assert_eq!(world.db.write(expire).await.unwrap(), 1);
}

async fn a_lease_has_one_holder(world: World) {
    let leases = world.leases(&world.db);
    let lease = leases.try_take(&name()).await.unwrap().unwrap();
    assert_eq!(leases.try_take(&name()).await.unwrap(), None);
    let holder = leases.holder(&name()).await.unwrap().unwrap();
    assert_eq!((holder.owner, holder.token), (world.db.incarnation(), lease.token()));
    if let Some(other) = world.second_node().await {
        assert_eq!(world.leases(&other).try_take(&name()).await.unwrap(), None);
    }
    write_under(&world.db, &lease, "a").await.unwrap();
    assert_eq!(count(&world.db).await, 1);
}

async fn an_expired_lease_can_be_taken_and_the_old_token_is_refused(world: World) {
    let leases = world.leases(&world.db);
    let old = leases.try_take(&name()).await.unwrap().unwrap();
    expire(&world).await;
    // Nobody has taken it: the holder may still write, expiry only says when to try.
    write_under(&world.db, &old, "a").await.unwrap();
    let new = leases.try_take(&name()).await.unwrap().unwrap();
    assert!(new.token() > old.token());
    let refused = write_under(&world.db, &old, "b").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageStaleLease);
    write_under(&world.db, &new, "c").await.unwrap();
    assert_eq!(count(&world.db).await, 2);
    // The old holder's goodbye must not end the new one's lease.
    leases.release(old).await.unwrap();
    write_under(&world.db, &new, "d").await.unwrap();
}

async fn a_renewed_lease_stays(world: World) {
    let leases = world.leases(&world.db);
    let first = leases.try_take(&name()).await.unwrap().unwrap();
    let second = leases.try_take(&LeaseName::new("retention")).await.unwrap().unwrap();
    expire(&world).await;
    world.clock.advance(Duration::from_secs(9));
    let mut held = leases.renew().await.unwrap();
    held.sort_by_key(Lease::token);
    assert_eq!(held, [first.clone(), second.clone()]);
    world.clock.advance(Duration::from_secs(9));
    assert_eq!(leases.try_take(&name()).await.unwrap(), None);

    expire(&world).await;
    let taken = leases.try_take(&name()).await.unwrap().unwrap();
    let held = leases.renew().await.unwrap();
    assert!(!held.contains(&first), "a lost lease is not reported as held");
    assert!(held.contains(&taken));
}

async fn a_lease_that_was_ended_is_not_renewed(world: World) {
    let leases = world.leases(&world.db);
    let lease = leases.try_take(&name()).await.unwrap().unwrap();
    let (token, now) = (lease.token(), world.clock().now());
    let is_over = async || world.db.write(move |tx| end_if_over(tx, token, now)).await.unwrap();
    assert!(!is_over().await);
    assert_eq!(leases.renew().await.unwrap(), std::slice::from_ref(&lease));
    expire(&world).await;
    assert!(is_over().await);
    assert_eq!(leases.renew().await.unwrap(), []);
    assert!(!leases.holds(&lease));
    let stale = write_under(&world.db, &lease, "a").await.unwrap_err();
    assert_eq!(stale.code(), ErrorCode::StorageStaleLease);
    assert!(leases.try_take(&name()).await.unwrap().unwrap().token() > token);
}

async fn a_released_lease_is_free_at_once(world: World) {
    let leases = world.leases(&world.db);
    let first = leases.try_take(&name()).await.unwrap().unwrap();
    leases.release(first.clone()).await.unwrap();
    let refused = write_under(&world.db, &first, "a").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageStaleLease);
    let second = leases.try_take(&name()).await.unwrap().unwrap();
    assert!(second.token() > first.token());
}

async fn tokens_only_grow(world: World) {
    let mut last = 0;
    let mut db = world.db.clone();
    for round in 0..4 {
        let leases = world.leases(&db);
        for n in 0..5 {
            let lease =
                leases.try_take(&LeaseName::new(format!("{round}-{n}"))).await.unwrap().unwrap();
            assert!(lease.token() > last, "round {round}");
            last = lease.token();
            leases.release(lease).await.unwrap();
        }
        db.close().await;
        db = Database::open(world.options.clone()).await.unwrap();
    }
}

async fn of_many_takers_one_wins(world: World) {
    let mut nodes: Vec<Leases> = vec![world.leases(&world.db)];
    if let Some(other) = world.second_node().await {
        nodes.push(world.leases(&other));
    }
    for round in 0..10 {
        let name = LeaseName::new(format!("round-{round}"));
        let mut takers = JoinSet::new();
        for n in 0..16 {
            let (leases, name) = (nodes[n % nodes.len()].clone(), name.clone());
            takers.spawn(async move { leases.try_take(&name).await.unwrap() });
        }
        let winners = takers.join_all().await.into_iter().flatten().count();
        assert_eq!(winners, 1, "round {round}");
    }
}

async fn a_lease_is_taken_with_the_work_or_not_at_all(world: World) {
    let leases = world.leases(&world.db);
    let (taker, now) = (leases.clone(), crate::world::START);
    let refused: Result<(), StorageError> = world
        .db
        .write(move |tx| {
            tx.execute(&INSERT, params!["a", 1i64])?;
            assert!(taker.try_take_in(tx, &name(), now)?.is_some());
            tx.execute(&INSERT, params!["a", 1i64]).map(drop)
        })
        .await;
    assert!(refused.is_err());
    assert_eq!(leases.holder(&name()).await.unwrap(), None);
}

/// Its taker stopped waiting, or giving it back failed: renewed for ever, its work would never be
/// done again.
async fn a_lease_that_nobody_knows_of_is_given_back(world: World) {
    let leases = world.leases(&world.db);
    let known = leases.try_take(&LeaseName::new("known")).await.unwrap().unwrap();
    let (taker, now) = (leases.clone(), crate::world::START);
    let taken = world.db.write(move |tx| taker.try_take_in(tx, &name(), now)).await.unwrap();
    assert!(taken.is_some());
    for _ in 0..3 {
        assert_eq!(leases.renew().await.unwrap(), std::slice::from_ref(&known));
    }
    assert_eq!(leases.holder(&name()).await.unwrap(), None);
    assert!(leases.try_take(&name()).await.unwrap().is_some());

    let (taker, other) = (leases.clone(), LeaseName::new("kept"));
    let taken = world.db.write(move |tx| taker.try_take_in(tx, &other, now)).await.unwrap();
    leases.keep(&taken.unwrap());
    for _ in 0..3 {
        assert_eq!(leases.renew().await.unwrap().len(), 3);
    }
}

/// A taker that paused between its two statements comes with a token from before the pause.
async fn a_token_never_goes_back_even_over_a_release(world: World) {
    const REWIND: palyra_storage::Sql = palyra_storage::sql!(
        sqlite: "UPDATE counters SET value = 0 WHERE name = 'fencing' RETURNING value",
        postgres: "SELECT setval('fencing_tokens', 1, false)",
    );
    let leases = world.leases(&world.db);
    for _ in 0..3 {
        let lease = leases.try_take(&name()).await.unwrap().unwrap();
        leases.release(lease).await.unwrap();
    }
    world.db.write(|tx| tx.query_one(&REWIND, params![], |row| row.get::<i64>(0))).await.unwrap();
    assert_eq!(leases.try_take(&name()).await.unwrap(), None);
    assert_eq!(leases.try_take(&name()).await.unwrap(), None);
    assert_eq!(leases.try_take(&name()).await.unwrap(), None);
    assert_eq!(leases.try_take(&name()).await.unwrap().unwrap().token(), 4);
}
