//! What is in use is not read again, and what was ended is over all the same.

use std::time::Instant;

use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Duration;
use palyra_identity::TOPIC;
use palyra_storage::sql;

use crate::retention::change;
use crate::world::{START, World, on_every_engine, refused};

on_every_engine!(
    a_token_in_use_costs_no_read,
    a_clock_that_goes_back_makes_nothing_last,
    a_revocation_is_in_force_at_once,
    a_revocation_is_in_force_on_another_node,
    a_notice_ends_what_is_remembered,
    many_tokens_are_all_served,
);

/// Nobody was told of this change, so it is seen when the database is read again, and only then.
async fn a_token_in_use_costs_no_read(world: World) {
    let token = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    world.access(&token).await.unwrap();
    change(&world.db, sql!("UPDATE api_tokens SET revoked_at = 1")).await;
    world.clock.advance(Duration::from_millis(499));
    world.access(&token).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked);
}

async fn a_clock_that_goes_back_makes_nothing_last(world: World) {
    let token = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    world.access(&token).await.unwrap();
    change(&world.db, sql!("UPDATE api_tokens SET revoked_at = 1")).await;
    world
        .clock
        .set(palyra_common::time::Timestamp::from_unix_millis(START.as_unix_millis() - 3_600_000));
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked);
}

async fn a_revocation_is_in_force_at_once(world: World) {
    let by = world.identity.local_owner();
    let token = world.token(&by, &[Scope::StatusRead]).await;
    world.access(&token).await.unwrap();
    world.identity.revoke_token(&by, token.token.id, &world.origin).await.unwrap();
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked, "time stood still");
}

/// Fake time stands still, so that only the notice can end what the other node remembers.
async fn a_revocation_is_in_force_on_another_node(world: World) {
    let Some((_other_db, other)) = world.second_node().await else {
        return;
    };
    let by = world.identity.local_owner();
    for _ in 0..3 {
        let token = world.token(&by, &[Scope::StatusRead]).await;
        other.authenticate_token(token.secret.expose()).await.unwrap();
        world.identity.revoke_token(&by, token.token.id, &world.origin).await.unwrap();
        let deadline = Instant::now() + std::time::Duration::from_secs(20);
        let refusal = loop {
            match other.authenticate_token(token.secret.expose()).await {
                Ok(_) => assert!(Instant::now() < deadline, "the notice never came"),
                Err(error) => break error.code(),
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        };
        assert_eq!(refusal, ErrorCode::AuthRevoked);
    }
}

async fn a_notice_ends_what_is_remembered(world: World) {
    let token = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    world.access(&token).await.unwrap();
    let mut heard = world.db.subscribe(TOPIC);
    change(&world.db, sql!("UPDATE api_tokens SET revoked_at = 1")).await;
    let ring = |tx: &mut palyra_storage::Tx<'_>| {
        tx.notify(TOPIC);
        Ok(())
    };
    world.db.write(ring).await.unwrap();
    heard.changed().await;
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked);
}

async fn many_tokens_are_all_served(world: World) {
    let by = world.identity.local_owner();
    let mut tokens = Vec::new();
    for _ in 0..20 {
        tokens.push(world.token(&by, &[Scope::StatusRead]).await);
    }
    for _ in 0..3 {
        for token in &tokens {
            let id = palyra_identity::Credential::Token(token.token.id);
            assert_eq!(world.access(token).await.unwrap().credential, id);
        }
    }
}
