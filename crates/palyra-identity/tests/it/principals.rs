//! Who has a role, and what becomes of those who lose it.

use palyra_common::error::ErrorCode;
use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_identity::{Refusal, role_scopes};
use palyra_storage::{Sql, params, sql, text};

use crate::world::{World, on_every_engine, refused};

on_every_engine!(
    a_credential_allows_what_its_role_allows,
    a_role_that_shrinks_takes_its_tokens_along,
    the_disabled_are_out,
    only_an_owner_decides_who_else_there_is,
);

/// A login of somebody who cannot log in by themselves yet: the owner's code, made theirs.
pub(crate) async fn login_of(world: &World, principal: &Principal) -> String {
    const GIVE: Sql = sql!("UPDATE login_codes SET principal = $1 WHERE used_at IS NULL");
    let by = world.identity.local_owner();
    let code = world.identity.handoff_code(&by, &world.origin).await.unwrap();
    let principal = principal.clone();
    let give = move |tx: &mut palyra_storage::Tx<'_>| tx.execute(&GIVE, params![text(&principal)]);
    world.db.write(give).await.unwrap();
    world.redeem(code.secret.expose()).await.unwrap().cookie_secret.expose().to_owned()
}

async fn a_credential_allows_what_its_role_allows(world: World) {
    for role in Role::ALL {
        let (principal, access) = world.person(&format!("some.{role}"), *role).await;
        assert_eq!(access.principal, principal);
        assert_eq!((access.role, access.scopes), (*role, role_scopes(*role)));
    }
}

async fn a_role_that_shrinks_takes_its_tokens_along(world: World) {
    let (_, anna) = world.person("anna", Role::Operator).await;
    let token = world.token(&anna, &[Scope::StatusRead, Scope::ConfigWrite]).await;
    world.access(&token).await.unwrap().require(Scope::ConfigWrite).unwrap();
    const DEMOTE: Sql = sql!("UPDATE principals SET role = 'viewer' WHERE id = 'operator:anna'");
    world.db.write(|tx| tx.execute(&DEMOTE, params![])).await.unwrap();
    world.clock.advance(palyra_identity::CACHED_FOR);
    let access = world.access(&token).await.unwrap();
    access.require(Scope::StatusRead).unwrap();
    assert_eq!(refused(access.require(Scope::ConfigWrite)), ErrorCode::AuthForbidden);
}

async fn the_disabled_are_out(world: World) {
    let (principal, anna) = world.person("anna", Role::Operator).await;
    let token = world.token(&anna, &[Scope::StatusRead]).await;
    let cookie = login_of(&world, &principal).await;
    let code = world.identity.handoff_code(&anna, &world.origin).await.unwrap();
    world.access(&token).await.unwrap();
    let by = world.identity.local_owner();
    assert!(world.identity.disable_principal(&by, &principal, &world.origin).await.unwrap());
    assert!(!world.identity.disable_principal(&by, &principal, &world.origin).await.unwrap());
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked);
    assert_eq!(refused(world.identity.authenticate_login(&cookie).await), ErrorCode::AuthRevoked);
    assert_eq!(refused(world.redeem(code.secret.expose()).await), ErrorCode::AuthRevoked);
    assert_eq!(world.identity.refusals().of(Refusal::Revoked), 3);
    let journal = world.journal().await;
    assert!(journal.contains(&"operator:owner principal.disabled ok".to_owned()), "{journal:?}");
    assert!(journal.contains(&"system login.refused revoked".to_owned()), "{journal:?}");
}

async fn only_an_owner_decides_who_else_there_is(world: World) {
    let (principal, anna) = world.person("anna", Role::Operator).await;
    let by = world.identity.local_owner();
    let (identity, origin) = (&world.identity, &world.origin);
    let ben: Principal = "operator:ben".parse().unwrap();
    let added = identity.add_principal(&anna, &ben, Role::Viewer, origin).await;
    assert_eq!(refused(added), ErrorCode::AuthForbidden);
    let disabled = identity.disable_principal(&anna, &Principal::owner(), origin).await;
    assert_eq!(refused(disabled), ErrorCode::AuthForbidden);
    // A token of the owner's, without what the new role has.
    let few = world.token(&by, &[Scope::StatusRead, Scope::TokensWrite]).await;
    let few = world.access(&few).await.unwrap();
    let added = identity.add_principal(&few, &ben, Role::Operator, origin).await;
    assert_eq!(refused(added), ErrorCode::AuthForbidden);
    let again = identity.add_principal(&by, &principal, Role::Viewer, origin).await;
    assert_eq!(refused(again), ErrorCode::CommonConflict);
    let disabled = identity.disable_principal(&by, &Principal::owner(), origin).await;
    assert_eq!(refused(disabled), ErrorCode::CommonConflict);
    let missing = identity.disable_principal(&by, &ben, origin).await;
    assert_eq!(refused(missing), ErrorCode::CommonNotFound);
}
