//! What a restored database brings back.

use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::Duration;
use palyra_identity::{BroughtBack, NewToken, end_what_came_back};
use palyra_storage::Tx;

use crate::world::{START, World, new_token, on_every_engine, refused};

on_every_engine!(logins_and_codes_end_and_tokens_stay);

async fn logins_and_codes_end_and_tokens_stay(world: World) {
    let (world, now) = (&world, START + Duration::from_secs(2));
    let owner = world.identity.local_owner();
    let code = async || world.identity.handoff_code(&owner, &world.origin).await.unwrap().secret;
    let ended = world.login().await;
    world.identity.end_login(&owner, ended.login.id, &world.origin).await.unwrap();
    let (login, unused) = (world.login().await, code().await);
    let scopes = [Scope::StatusRead, Scope::TokensWrite];
    let token = world.token(&owner, &scopes).await;
    let by_login = world.identity.authenticate_login(login.cookie_secret.expose()).await.unwrap();
    let of_login = world.token(&by_login, &scopes).await;
    // None of these lets anybody in.
    let revoked = world.token(&owner, &scopes).await.token.id;
    world.identity.revoke_token(&owner, revoked, &world.origin).await.unwrap();
    let expires_at = Some(START + Duration::from_secs(1));
    let short = NewToken { expires_at, ..new_token(&scopes) };
    world.identity.create_token(&owner, short, &world.origin).await.unwrap();
    let (anna, _) = world.person("anna", Role::Viewer).await;
    let annas = NewToken { principal: Some(anna.clone()), ..new_token(&[Scope::StatusRead]) };
    world.identity.create_token(&owner, annas, &world.origin).await.unwrap();
    world.identity.disable_principal(&owner, &anna, &world.origin).await.unwrap();

    world.clock.set(now);
    let end = move |tx: &mut Tx<'_>| end_what_came_back(tx, now);
    let found = world.db.write(end).await.unwrap();
    // The owner; Anna is disabled.
    let expected = BroughtBack {
        logins_ended: 1,
        login_codes_ended: 1,
        tokens_valid: 2,
        principals_enabled: 1,
    };
    assert_eq!(found, expected);
    let cookie = login.cookie_secret.expose();
    assert_eq!(refused(world.identity.authenticate_login(cookie).await), ErrorCode::AuthRevoked);
    assert_eq!(refused(world.redeem(unused.expose()).await), ErrorCode::AuthRevoked);
    for token in [&token, &of_login] {
        world.access(token).await.unwrap();
    }
    let again = world.identity.first_login_code(&world.origin).await.unwrap();
    assert!(again.is_none(), "it is known that the owner has logged in");
    world.redeem(code().await.expose()).await.unwrap();
    let found = world.db.write(end).await.unwrap();
    assert_eq!((found.login_codes_ended, found.tokens_valid), (0, 2), "a second time: {found:?}");
}
