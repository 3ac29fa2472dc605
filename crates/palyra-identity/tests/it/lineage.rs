//! What a credential made ends with it.

use std::sync::mpsc;
use std::time::Instant;

use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::Duration;
use palyra_identity::{Access, CreatedToken, NewLogin};
use palyra_storage::{Database, JournalStore, Sql, Tx, params, sql};
use serde_json::{Value, json};

use crate::world::{World, on_every_engine, refused};

on_every_engine!(
    a_revoked_token_ends_all_that_came_from_it,
    an_ended_login_ends_what_it_made,
    the_disabled_end_with_all_that_they_made,
    a_line_is_followed_through_what_had_ended_before,
    retention_keeps_a_line_together,
    another_node_notices_the_end_of_a_line,
    whoever_makes_while_the_maker_ends_makes_nothing_that_lasts,
    whoever_has_been_ended_ends_nobody,
    of_two_who_end_each_other_one_does,
    what_is_looked_at_again_is_what_is_stored,
);

const MAKER: [Scope; 3] = [Scope::StatusRead, Scope::TokensWrite, Scope::LoginsWrite];

async fn login_by(world: &World, by: &Access) -> NewLogin {
    let code = world.identity.handoff_code(by, &world.origin).await.unwrap();
    world.redeem(code.secret.expose()).await.unwrap()
}

async fn access_of(world: &World, login: &NewLogin) -> Access {
    world.identity.authenticate_login(login.cookie_secret.expose()).await.unwrap()
}

/// A line of four: a token, the token that it makes, a login of that one, and a token of the login.
async fn line(world: &World, by: &Access) -> (CreatedToken, CreatedToken, NewLogin, CreatedToken) {
    let first = world.token(by, &MAKER).await;
    let second = world.token(&world.access(&first).await.unwrap(), &MAKER).await;
    let login = login_by(world, &world.access(&second).await.unwrap()).await;
    let last = world.token(&access_of(world, &login).await, &MAKER).await;
    (first, second, login, last)
}

async fn is_over(world: &World, token: &CreatedToken) {
    assert_eq!(refused(world.access(token).await), ErrorCode::AuthRevoked);
}

async fn login_is_over(world: &World, login: &NewLogin) {
    let gone = world.identity.authenticate_login(login.cookie_secret.expose()).await;
    assert_eq!(refused(gone), ErrorCode::AuthRevoked);
}

/// The detail of the newest entry about `action`.
async fn told(world: &World, action: &str) -> Value {
    let entries = JournalStore::new(world.db.clone()).page_after(0, 1_000).await.unwrap();
    let entry = entries.into_iter().rev().find(|entry| entry.event.action == action).unwrap();
    serde_json::from_str(&entry.event.detail).unwrap()
}

async fn a_revoked_token_ends_all_that_came_from_it(world: World) {
    let by = world.identity.local_owner();
    let (first, second, login, last) = line(&world, &by).await;
    let beside = world.token(&by, &MAKER).await;
    let above = world.access(&first).await.unwrap();
    let code = world.identity.handoff_code(&above, &world.origin).await.unwrap();
    world.identity.revoke_token(&by, first.token.id, &world.origin).await.unwrap();
    for token in [&first, &second, &last] {
        is_over(&world, token).await;
    }
    login_is_over(&world, &login).await;
    assert_eq!(refused(world.redeem(code.secret.expose()).await), ErrorCode::AuthRevoked);
    world.access(&beside).await.unwrap();
    let ended = json!({ "tokens": 2, "logins": 1, "login_codes": 1 });
    assert_eq!(
        told(&world, "token.revoked").await,
        json!({ "credential": "local", "ended": ended })
    );
    assert!(!world.identity.revoke_token(&by, first.token.id, &world.origin).await.unwrap());
}

async fn an_ended_login_ends_what_it_made(world: World) {
    let by = world.identity.local_owner();
    let (first, second, login, last) = line(&world, &by).await;
    world.identity.end_login(&by, login.login.id, &world.origin).await.unwrap();
    login_is_over(&world, &login).await;
    is_over(&world, &last).await;
    world.access(&first).await.unwrap();
    world.access(&second).await.unwrap();
    assert_eq!(told(&world, "login.ended").await["ended"]["tokens"], 1);
}

async fn the_disabled_end_with_all_that_they_made(world: World) {
    let (anna, access) = world.person("anna", Role::Operator).await;
    let (first, second, login, last) = line(&world, &access).await;
    let by = world.identity.local_owner();
    world.identity.disable_principal(&by, &anna, &world.origin).await.unwrap();
    for token in [&first, &second, &last] {
        let seen = world.identity.token(&by, token.token.id).await.unwrap();
        assert!(seen.revoked_at.is_some(), "{seen:?}");
    }
    login_is_over(&world, &login).await;
    let ended = json!({ "tokens": 3, "logins": 2, "login_codes": 0 });
    assert_eq!(told(&world, "principal.disabled").await["ended"], ended);
}

/// Whoever logs out leaves what was made behind, and it still ends with what came before.
async fn a_line_is_followed_through_what_had_ended_before(world: World) {
    let by = world.identity.local_owner();
    let (first, _, login, last) = line(&world, &by).await;
    let leaving = access_of(&world, &login).await;
    assert!(world.identity.log_out(&leaving, &world.origin).await.unwrap());
    login_is_over(&world, &login).await;
    world.access(&last).await.unwrap();
    world.identity.revoke_token(&by, first.token.id, &world.origin).await.unwrap();
    is_over(&world, &last).await;
    let ended = json!({ "tokens": 2, "logins": 0, "login_codes": 0 });
    assert_eq!(told(&world, "token.revoked").await["ended"], ended);
}

async fn retention_keeps_a_line_together(world: World) {
    let by = world.identity.local_owner();
    // The first one of all is kept for ever.
    world.login().await;
    let (first, _, login, last) = line(&world, &by).await;
    let leaving = access_of(&world, &login).await;
    world.identity.log_out(&leaving, &world.origin).await.unwrap();
    crate::retention::sweep_at(&world, Duration::from_days(300)).await;
    world.identity.revoke_token(&by, first.token.id, &world.origin).await.unwrap();
    is_over(&world, &last).await;
    // Round by round from its end on.
    let mut gone = 0;
    for _ in 0..3 {
        let swept = crate::retention::sweep_at(&world, Duration::from_days(800)).await;
        gone += swept.iter().map(|(_, rows)| rows).sum::<u64>();
    }
    assert_eq!(gone, 4);
}

async fn another_node_notices_the_end_of_a_line(world: World) {
    let Some((_other_db, other)) = world.second_node().await else {
        return;
    };
    let by = world.identity.local_owner();
    let (first, _, login, last) = line(&world, &by).await;
    other.authenticate_token(last.secret.expose()).await.unwrap();
    other.authenticate_login(login.cookie_secret.expose()).await.unwrap();
    world.identity.revoke_token(&by, first.token.id, &world.origin).await.unwrap();
    let deadline = Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let token = other.authenticate_token(last.secret.expose()).await;
        let login = other.authenticate_login(login.cookie_secret.expose()).await;
        if token.is_err() && login.is_err() {
            assert_eq!(refused(token), ErrorCode::AuthRevoked);
            return;
        }
        assert!(Instant::now() < deadline, "the notice never came");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// A token is made and its maker revoked at the same moment: both wait for the journal, the token
/// first. Where there is one writer that cannot be.
async fn whoever_makes_while_the_maker_ends_makes_nothing_that_lasts(world: World) {
    let Some((other_db, other)) = world.second_node().await else {
        return;
    };
    let by = world.identity.local_owner();
    let alone = world.token(&by, &MAKER).await;
    let above = world.token(&by, &MAKER).await;
    let below = world.token(&world.access(&above).await.unwrap(), &MAKER).await;
    // The maker itself ends, or what it came from.
    for (maker, ended) in [(&alone, &alone), (&below, &above)] {
        let access = world.access(maker).await.unwrap();
        let (journal, release) = hold_journal(&other_db).await;
        let (identity, origin) = (world.identity.clone(), world.origin.clone());
        let making = tokio::spawn(async move {
            let new = crate::world::new_token(&[Scope::StatusRead]);
            identity.create_token(&access, new, &origin).await
        });
        waiting(&world, 1, "the new token").await;
        let (other, by, id) = (other.clone(), by.clone(), ended.token.id);
        let origin = world.origin.clone();
        let revoking = tokio::spawn(async move { other.revoke_token(&by, id, &origin).await });
        waiting(&world, 2, "the revocation").await;
        release.send(()).unwrap();
        journal.await.unwrap();
        let made = making.await.unwrap().unwrap();
        assert!(revoking.await.unwrap().unwrap());
        world.clock.advance(palyra_identity::CACHED_FOR);
        is_over(&world, &made).await;
    }
}

/// Keeps everybody from committing, from now on and until it is released.
async fn hold_journal(db: &Database) -> (tokio::task::JoinHandle<()>, mpsc::Sender<()>) {
    const HOLD: Sql = sql!("UPDATE journal_head SET id = id");
    let (release, released) = mpsc::channel();
    let (released, db) = (std::sync::Mutex::new(released), db.clone());
    let (holds, mut is_held) = tokio::sync::mpsc::unbounded_channel();
    let hold = move |tx: &mut Tx<'_>| {
        tx.execute(&HOLD, params![])?;
        let _ = holds.send(());
        let _ = released.lock().unwrap().recv();
        Ok(())
    };
    let holding = tokio::spawn(async move { db.write(hold).await.unwrap() });
    is_held.recv().await.unwrap();
    (holding, release)
}

/// Until as many wait for a lock.
async fn waiting(world: &World, expected: i64, what: &str) {
    const WAITING: Sql = sql!(
        "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'"
    );
    let deadline = Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let read = |tx: &mut Tx<'_>| tx.query_one(&WAITING, params![], |row| row.get::<i64>(0));
        if world.db.read(read).await.unwrap() >= expected {
            return;
        }
        assert!(Instant::now() < deadline, "{what} does not wait");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// What was authenticated a moment ago may have been ended since, on whichever node.
async fn whoever_has_been_ended_ends_nobody(world: World) {
    let by = world.identity.local_owner();
    let (maker, other) = (world.token(&by, &MAKER).await, world.token(&by, &MAKER).await);
    let (login, browser) = (world.login().await, world.login().await);
    let left = world.token(&access_of(&world, &login).await, &MAKER).await;
    let by_token = world.access(&maker).await.unwrap();
    let by_login = access_of(&world, &login).await;
    world.identity.revoke_token(&by, maker.token.id, &world.origin).await.unwrap();
    world.identity.log_out(&by_login, &world.origin).await.unwrap();
    for ended in [&by_token, &by_login] {
        for id in [other.token.id, maker.token.id] {
            let revoked = world.identity.revoke_token(ended, id, &world.origin).await;
            assert_eq!(refused(revoked), ErrorCode::AuthRevoked);
        }
        for id in [browser.login.id, login.login.id] {
            let over = world.identity.end_login(ended, id, &world.origin).await;
            assert_eq!(refused(over), ErrorCode::AuthRevoked);
        }
    }
    for token in [&other, &left] {
        world.access(token).await.unwrap();
    }
    access_of(&world, &browser).await;
    assert!(!world.identity.log_out(&by_login, &world.origin).await.unwrap(), "again does no harm");
}

/// For whoever is in the middle of something when it ends.
async fn what_is_looked_at_again_is_what_is_stored(world: World) {
    let by = world.identity.local_owner();
    let (token, login) = (world.token(&by, &MAKER).await, world.login().await);
    let (by_token, by_login) =
        (world.access(&token).await.unwrap(), access_of(&world, &login).await);
    for access in [&by, &by_token, &by_login] {
        assert_eq!(world.identity.look_again(access).await.unwrap(), *access);
    }
    world.identity.revoke_token(&by, token.token.id, &world.origin).await.unwrap();
    world.identity.log_out(&by_login, &world.origin).await.unwrap();
    for access in [&by_token, &by_login] {
        let refusal = refused(world.identity.look_again(access).await);
        assert_eq!(refusal, ErrorCode::AuthRevoked);
    }
}

async fn of_two_who_end_each_other_one_does(world: World) {
    let by = world.identity.local_owner();
    let (one, two) = (world.token(&by, &MAKER).await, world.token(&by, &MAKER).await);
    let (by_one, by_two) = (world.access(&one).await.unwrap(), world.access(&two).await.unwrap());
    let node = world.second_node().await.map_or(world.identity.clone(), |(_, other)| other);
    let ends = world.identity.revoke_token(&by_one, two.token.id, &world.origin);
    let (first, second) =
        tokio::join!(ends, node.revoke_token(&by_two, one.token.id, &world.origin));
    let refusals: Vec<_> = [first, second].into_iter().filter_map(Result::err).collect();
    let codes: Vec<_> = refusals.iter().map(palyra_identity::AuthError::code).collect();
    assert_eq!(codes, [ErrorCode::AuthRevoked]);
    let tokens = world.identity.list_tokens(&by, None, 10).await.unwrap().tokens;
    assert_eq!(tokens.iter().filter(|token| token.revoked_at.is_some()).count(), 1);
}
