//! What has ended is kept for a while, and then no longer.

use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Duration;
use palyra_identity::{NewToken, rules};
use palyra_storage::lease::Leases;
use palyra_storage::retention::{Sweeper, Swept};
use palyra_storage::{Database, Sql, params};

use crate::world::{START, World, new_token, on_every_engine};

on_every_engine!(what_has_ended_goes_after_its_time, what_is_in_force_stays,);

/// Changes rows behind the back of everybody.
pub(crate) async fn change(db: &Database, sql: Sql) {
    db.write(move |tx| tx.execute(&sql, params![])).await.unwrap();
}

/// Sweeps once at a time and says what went.
pub(crate) async fn sweep_at(world: &World, after: Duration) -> Swept {
    world.clock.set(START + after);
    let ttl = Duration::from_secs(10);
    let leases = Leases::new(world.db.clone(), world.clock.clone(), ttl);
    let every = Duration::from_mins(10);
    let sweeper = Sweeper::new(world.db.clone(), leases, world.clock.clone(), rules(), every);
    let swept = sweeper.round().await.unwrap();
    assert_eq!(swept.len(), 3);
    swept.into_iter().filter(|(_, rows)| *rows > 0).collect()
}

async fn what_has_ended_goes_after_its_time(world: World) {
    let by = world.identity.local_owner();
    let login = world.login().await.login;
    world.login().await;
    let revoked = world.token(&by, &[Scope::StatusRead]).await.token;
    let end = Some(START + Duration::from_days(10));
    let ending = NewToken { expires_at: end, ..new_token(&[Scope::StatusRead]) };
    world.identity.create_token(&by, ending, &world.origin).await.unwrap();
    world.identity.end_login(&by, login.id, &world.origin).await.unwrap();
    world.identity.revoke_token(&by, revoked.id, &world.origin).await.unwrap();
    let (minute, day) = (Duration::from_mins(1), Duration::from_days(1));
    let after = |days: u64, more: Duration| {
        Duration::from_millis(day.as_millis() * days + more.as_millis())
    };
    assert_eq!(sweep_at(&world, after(1, minute)).await, []);
    assert_eq!(sweep_at(&world, after(1, Duration::from_mins(2))).await, [("login_codes", 2)]);
    assert_eq!(sweep_at(&world, after(30, Duration::ZERO)).await, []);
    assert_eq!(sweep_at(&world, after(30, minute)).await, [], "the first one stays");
    assert_eq!(sweep_at(&world, after(60, Duration::ZERO)).await, []);
    assert_eq!(sweep_at(&world, after(60, minute)).await, [("console_logins", 1)]);
    assert!(world.identity.owner_has_logged_in().await.unwrap(), "which is known for ever");
    assert_eq!(sweep_at(&world, after(400, Duration::ZERO)).await, []);
    assert_eq!(sweep_at(&world, after(400, minute)).await, [("api_tokens", 1)]);
    assert_eq!(sweep_at(&world, after(410, minute)).await, [("api_tokens", 1)]);
}

async fn what_is_in_force_stays(world: World) {
    let token = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    assert_eq!(sweep_at(&world, Duration::from_days(4_000)).await, []);
    world.access(&token).await.unwrap();
}
