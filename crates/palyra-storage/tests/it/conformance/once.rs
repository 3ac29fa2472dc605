//! A request with a key is carried out once.

use palyra_common::error::ErrorCode;
use palyra_common::ids::Principal;
use palyra_common::time::Duration;
use palyra_storage::once::{Claim, KEPT, Key, Once};
use palyra_storage::{Database, StorageError, Tx};

use crate::conformance::retention::sweep_after;
use crate::world::{START, World, count, on_every_engine};

on_every_engine!(
    a_key_is_for_one_request_of_one_principal,
    what_came_of_it_may_be_known_later,
    what_was_undone_was_not_carried_out,
    a_key_is_forgotten_after_a_day,
);

fn once(operation: &'static str, key: &str, request: &str) -> Once {
    Once::new(operation, Key::parse(key).unwrap(), request.as_bytes())
}

async fn claim(db: &Database, once: Once, by: &str, made: &'static str) -> Claim {
    let by: Principal = by.parse().unwrap();
    db.write(move |tx| once.claim(tx, &by, made, START)).await.unwrap()
}

async fn a_key_is_for_one_request_of_one_principal(world: World) {
    let db = &world.db;
    let first = once("make", "k", "{}");
    let again = || Claim::Again { made: "1".into() };
    assert_eq!(claim(db, first.clone(), "operator:anna", "1").await, Claim::First);
    assert_eq!(claim(db, first.clone(), "operator:anna", "2").await, again());
    assert_eq!(claim(db, once("make", "k", "[]"), "operator:anna", "2").await, Claim::Taken);
    assert_eq!(claim(db, first.clone(), "operator:ben", "2").await, Claim::First);
    assert_eq!(claim(db, once("end", "k", "{}"), "operator:anna", "2").await, Claim::First);
    assert_eq!(claim(db, once("make", "K", "{}"), "operator:anna", "2").await, Claim::First);
    assert_eq!(claim(db, first, "operator:anna", "3").await, again());
}

async fn what_came_of_it_may_be_known_later(world: World) {
    let (first, other) = (once("make", "k", "{}"), once("make", "j", "{}"));
    claim(&world.db, other.clone(), "operator:anna", "other").await;
    let (claiming, by) = (first.clone(), "operator:anna".parse::<Principal>().unwrap());
    let claimed = move |tx: &mut Tx<'_>| {
        assert_eq!(claiming.claim(tx, &by, "", START)?, Claim::First);
        claiming.note(tx, &by, "17")
    };
    world.db.write(claimed).await.unwrap();
    let again = Claim::Again { made: "17".into() };
    assert_eq!(claim(&world.db, first, "operator:anna", "").await, again);
    let untouched = Claim::Again { made: "other".into() };
    assert_eq!(claim(&world.db, other, "operator:anna", "").await, untouched);
}

async fn what_was_undone_was_not_carried_out(world: World) {
    let once = once("make", "k", "{}");
    let failing = once.clone();
    let fails = move |tx: &mut Tx<'_>| -> Result<(), StorageError> {
        assert_eq!(failing.claim(tx, &Principal::owner(), "1", START)?, Claim::First);
        Err(StorageError::ShuttingDown)
    };
    let failed = world.db.write(fails).await.unwrap_err();
    assert_eq!(failed.code(), ErrorCode::StorageShuttingDown);
    assert_eq!(claim(&world.db, once, "operator:owner", "2").await, Claim::First);
    assert_eq!(count(&world.db).await, 0);
}

async fn a_key_is_forgotten_after_a_day(world: World) {
    let kept = once("make", "k", "{}");
    claim(&world.db, kept.clone(), "operator:anna", "1").await;
    let swept = |swept: Vec<(&'static str, u64)>| {
        swept.into_iter().find(|(table, _)| *table == "idempotency_keys").unwrap().1
    };
    assert_eq!(swept(sweep_after(&world, KEPT).await), 0);
    assert_eq!(swept(sweep_after(&world, Duration::from_millis(1)).await), 1);
    assert_eq!(claim(&world.db, kept, "operator:anna", "2").await, Claim::First);
}
