//! Whoever asks twice with the same key is given what was made the first time.

use palyra_common::error::ErrorCode;
use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::Duration;
use palyra_identity::{Access, AuthError, CreatedToken, HANDOFF_CODE_LASTS, Made, Token};
use palyra_storage::once::{Key, Once};

use crate::world::{START, World, new_token, on_every_engine, refused};

on_every_engine!(
    a_token_is_made_once,
    another_request_needs_another_key,
    of_fifty_at_the_same_moment_one_makes_it,
    what_was_refused_may_be_asked_again,
    whoever_has_been_ended_is_not_told_again,
    a_link_is_made_once,
    a_person_is_added_once,
);

fn once(request: &str) -> Once {
    Once::new("test", Key::parse("a-key").unwrap(), request.as_bytes())
}

async fn create(
    world: &World,
    by: &Access,
    request: &str,
) -> Result<Made<CreatedToken, Token>, AuthError> {
    let new = new_token(&[Scope::StatusRead, Scope::TokensWrite]);
    world.identity.create_token_once(by, new, Some(once(request)), &world.origin).await
}

/// The token, and whether this made it.
fn token_of(made: Made<CreatedToken, Token>) -> (Token, bool) {
    match made {
        Made::Now(made) => (made.token, true),
        Made::Before(token) => (token, false),
    }
}

async fn tokens(world: &World) -> usize {
    let by = world.identity.local_owner();
    world.identity.list_tokens(&by, None, 200).await.unwrap().tokens.len()
}

async fn a_token_is_made_once(mut world: World) {
    let by = world.identity.local_owner();
    let (first, now) = token_of(create(&world, &by, "a").await.unwrap());
    world.restart().await;
    world.clock.advance(Duration::from_hours(23));
    let (again, before) = token_of(create(&world, &by, "a").await.unwrap());
    assert_eq!((now, before, &again), (true, false, &first));
    world.identity.revoke_token(&by, first.id, &world.origin).await.unwrap();
    let (ended, _) = token_of(create(&world, &by, "a").await.unwrap());
    assert!(ended.revoked_at.is_some(), "it is told as it is");
    assert_eq!(tokens(&world).await, 1);
    let made = world.journal().await.into_iter().filter(|line| line.contains("token.created"));
    assert_eq!(made.count(), 1);
}

async fn another_request_needs_another_key(world: World) {
    let by = world.identity.local_owner();
    create(&world, &by, "a").await.unwrap();
    let other = create(&world, &by, "b").await;
    assert!(other.as_ref().unwrap_err().to_string().contains("used for another request"));
    assert_eq!(refused(other), ErrorCode::CommonConflict);
    assert_eq!(tokens(&world).await, 1);
    let (_, anna) = world.person("anna", Role::Operator).await;
    assert!(token_of(create(&world, &anna, "b").await.unwrap()).1, "keys are one's own");
}

async fn of_fifty_at_the_same_moment_one_makes_it(world: World) {
    let by = world.identity.local_owner();
    let second = world.second_node().await;
    let nodes = [&world.identity, second.as_ref().map_or(&world.identity, |(_, node)| node)];
    let asking: Vec<_> = (0..50)
        .map(|n| {
            let (node, by, origin) = (nodes[n % 2].clone(), by.clone(), world.origin.clone());
            tokio::spawn(async move {
                let new = new_token(&[Scope::StatusRead]);
                node.create_token_once(&by, new, Some(once("a")), &origin).await
            })
        })
        .collect();
    let mut told = Vec::new();
    for one in asking {
        told.push(token_of(one.await.unwrap().unwrap()));
    }
    assert_eq!(told.iter().filter(|(_, now)| *now).count(), 1);
    assert!(told.iter().all(|(token, _)| token.id == told[0].0.id));
    assert_eq!(tokens(&world).await, 1);
}

async fn what_was_refused_may_be_asked_again(world: World) {
    let by = world.token(&world.identity.local_owner(), &[Scope::TokensWrite]).await;
    let by = world.access(&by).await.unwrap();
    let more = create(&world, &by, "a").await;
    assert_eq!(refused(more), ErrorCode::AuthForbidden);
    let (new, once) = (new_token(&[Scope::TokensWrite]), Some(once("b")));
    let made = world.identity.create_token_once(&by, new, once, &world.origin).await.unwrap();
    assert!(token_of(made).1);
}

async fn whoever_has_been_ended_is_not_told_again(world: World) {
    let owner = world.identity.local_owner();
    let maker = world.token(&owner, &[Scope::StatusRead, Scope::TokensWrite]).await;
    let by = world.access(&maker).await.unwrap();
    create(&world, &by, "a").await.unwrap();
    world.identity.revoke_token(&owner, maker.token.id, &world.origin).await.unwrap();
    assert_eq!(refused(create(&world, &by, "a").await), ErrorCode::AuthRevoked);
}

async fn a_link_is_made_once(world: World) {
    let by = world.identity.local_owner();
    let ask = async || {
        let once = Some(once("a"));
        world.identity.login_code_once(&by, None, once, &world.origin).await.unwrap()
    };
    let Made::Now(code) = ask().await else { panic!("there was none before") };
    world.clock.advance(Duration::from_secs(1));
    let Made::Before(expires_at) = ask().await else { panic!("there was one before") };
    assert_eq!((code.expires_at, expires_at), (expires_at, START + HANDOFF_CODE_LASTS));
    world.redeem(code.secret.expose()).await.unwrap();
    let made = world.journal().await.into_iter().filter(|line| line.contains("login_code.created"));
    assert_eq!(made.count(), 1);
}

async fn a_person_is_added_once(world: World) {
    let (by, anna) = (world.identity.local_owner(), "operator:anna".parse::<Principal>().unwrap());
    let add = async |once| {
        world.identity.add_principal_once(&by, &anna, Role::Viewer, once, &world.origin).await
    };
    let Made::Now(first) = add(Some(once("a"))).await.unwrap() else { panic!("it is new") };
    assert_eq!(add(Some(once("a"))).await.unwrap(), Made::Before(first));
    assert_eq!(refused(add(None).await), ErrorCode::CommonConflict);
}
