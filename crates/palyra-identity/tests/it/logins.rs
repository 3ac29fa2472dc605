//! A login lasts as long as it is used, and not for ever.

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_identity::{LoginOptions, Refusal, csrf_token};
use palyra_storage::{Sql, params, sql};

use crate::world::{START, World, on_every_engine, refused};

on_every_engine!(
    an_idle_login_ends,
    a_login_in_use_ends_at_last,
    use_is_written_once_a_minute,
    an_ended_login_is_over,
    a_restart_keeps_logins,
    each_login_has_its_own_csrf_token,
    logins_are_listed_page_by_page,
);

async fn an_idle_login_ends(world: World) {
    let new = world.login().await;
    let cookie = new.cookie_secret.expose();
    world.clock.advance(Duration::from_millis(12 * 3_600_000 - 1));
    world.identity.authenticate_login(cookie).await.unwrap();
    world.clock.advance(Duration::from_hours(12));
    assert_eq!(refused(world.identity.authenticate_login(cookie).await), ErrorCode::AuthExpired);
    assert_eq!(world.identity.refusals().of(Refusal::Expired), 1);
}

async fn a_login_in_use_ends_at_last(world: World) {
    let new = world.login().await;
    let cookie = new.cookie_secret.expose();
    for _ in 0..59 {
        world.clock.advance(Duration::from_millis(12 * 3_600_000 - 1));
        world.identity.authenticate_login(cookie).await.unwrap();
    }
    world.clock.set(START + Duration::from_days(30));
    assert_eq!(refused(world.identity.authenticate_login(cookie).await), ErrorCode::AuthExpired);
}

async fn use_is_written_once_a_minute(world: World) {
    let new = world.login().await;
    let seen = async || {
        const SEEN: Sql = sql!("SELECT last_seen_at FROM console_logins");
        let read =
            |tx: &mut palyra_storage::Tx<'_>| tx.query_one(&SEEN, params![], |row| row.get(0));
        let seen: palyra_common::time::Timestamp = world.db.read(read).await.unwrap();
        seen.since(START).as_millis()
    };
    for (at, written) in [(1_000, 0), (59_500, 0), (60_000, 60_000), (119_000, 60_000)] {
        world.clock.set(START + Duration::from_millis(at));
        world.identity.authenticate_login(new.cookie_secret.expose()).await.unwrap();
        assert_eq!(seen().await, written, "at {at} ms");
    }
}

async fn an_ended_login_is_over(world: World) {
    let (new, other) = (world.login().await, world.login().await);
    let cookie = new.cookie_secret.expose();
    let access = world.identity.authenticate_login(cookie).await.unwrap();
    let ended = world.identity.end_login(&access, new.login.id, &world.origin).await;
    assert!(ended.unwrap());
    assert_eq!(refused(world.identity.authenticate_login(cookie).await), ErrorCode::AuthRevoked);
    let by = world.identity.local_owner();
    assert!(!world.identity.end_login(&by, new.login.id, &world.origin).await.unwrap());
    world.identity.authenticate_login(other.cookie_secret.expose()).await.unwrap();
    let unknown = palyra_storage::new_id();
    let missing = world.identity.end_login(&by, unknown, &world.origin).await;
    assert_eq!(refused(missing), ErrorCode::CommonNotFound);
    let journal = world.journal().await;
    assert_eq!(journal.iter().filter(|line| line.contains("login.ended")).count(), 1);
}

async fn a_restart_keeps_logins(mut world: World) {
    let new = world.login().await;
    let token = world
        .token(
            &world.identity.local_owner(),
            &[palyra_common::runtime_contracts::Scope::StatusRead],
        )
        .await;
    world.restart().await;
    world.identity.authenticate_login(new.cookie_secret.expose()).await.unwrap();
    world.access(&token).await.unwrap();
}

async fn each_login_has_its_own_csrf_token(world: World) {
    let (one, other) = (world.login().await, world.login().await);
    let cookie = one.cookie_secret.expose();
    world.identity.verify_csrf(cookie, one.csrf_token.expose()).unwrap();
    world.identity.verify_csrf(cookie, csrf_token(cookie).expose()).unwrap();
    for wrong in [other.csrf_token.expose(), "", cookie] {
        assert_eq!(refused(world.identity.verify_csrf(cookie, wrong)), ErrorCode::AuthCsrf);
    }
    assert_eq!(world.identity.refusals().of(Refusal::Csrf), 3);
}

async fn logins_are_listed_page_by_page(world: World) {
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(world.login().await.login);
    }
    let by = world.identity.local_owner();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = world.identity.list_logins(&by, after, 2).await.unwrap();
        assert!(page.logins.len() <= 2);
        seen.extend(page.logins);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    made.sort_by_key(|login| std::cmp::Reverse(login.id));
    assert_eq!(seen, made);
}

#[test]
fn lifetimes_that_cannot_work_are_refused() {
    LoginOptions::default().check().unwrap();
    let (short, long) = (Duration::from_mins(4), Duration::from_days(31));
    for (idle, absolute) in [(short, long), (long, Duration::from_days(30))] {
        let code = refused(LoginOptions { idle, absolute }.check());
        assert_eq!(code, ErrorCode::CommonInvalidInput);
    }
}
