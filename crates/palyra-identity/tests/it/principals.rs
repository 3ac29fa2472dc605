//! Who has a role, and what becomes of those who lose it.

use palyra_common::error::ErrorCode;
use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_identity::{NewToken, Refusal, role_scopes};
use palyra_storage::{Sql, params, sql, text};

use crate::world::{World, new_token, on_every_engine, refused};

on_every_engine!(
    a_credential_allows_what_its_role_allows,
    what_no_person_can_be_is_refused,
    an_owner_lets_others_in,
    nobody_lets_others_in_with_more_than_they_have,
    principals_are_listed_page_by_page,
    a_role_that_shrinks_takes_its_tokens_along,
    the_disabled_are_out,
    no_credential_outlasts_the_role_of_its_principal,
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
    for role in &Role::ALL[1..] {
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
    // What others made for them is not of their line.
    let invited = world.identity.invitation_code(&by, &principal, &world.origin).await.unwrap();
    let disable = async || world.identity.disable_principal(&by, &principal, &world.origin).await;
    let disabled = disable().await.unwrap();
    assert!(disabled.disabled_at.is_some());
    assert_eq!(disable().await.unwrap(), disabled, "again changes nothing");
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked);
    assert_eq!(refused(world.identity.authenticate_login(&cookie).await), ErrorCode::AuthRevoked);
    for code in [&code, &invited] {
        assert_eq!(refused(world.redeem(code.secret.expose()).await), ErrorCode::AuthRevoked);
    }
    assert_eq!(world.identity.refusals().of(Refusal::Revoked), 4);
    let journal = world.journal().await;
    assert!(journal.contains(&"operator:anna login.refused revoked".to_owned()), "{journal:?}");
    assert!(journal.contains(&"operator:owner principal.disabled ok".to_owned()), "{journal:?}");
    assert!(journal.contains(&"system login.refused revoked".to_owned()), "{journal:?}");
}

/// As they are where an earlier version has disabled somebody: nothing of theirs was ended.
async fn no_credential_outlasts_the_role_of_its_principal(world: World) {
    const DISABLE: Sql = sql!("UPDATE principals SET disabled_at = 1 WHERE id = 'operator:anna'");
    let (principal, anna) = world.person("anna", Role::Operator).await;
    let token = world.token(&anna, &[Scope::StatusRead]).await;
    let cookie = login_of(&world, &principal).await;
    world.db.write(|tx| tx.execute(&DISABLE, params![])).await.unwrap();
    world.clock.advance(palyra_identity::CACHED_FOR);
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked);
    assert_eq!(refused(world.identity.authenticate_login(&cookie).await), ErrorCode::AuthRevoked);
    let new = new_token(&[Scope::StatusRead]);
    let made = world.identity.create_token(&anna, new, &world.origin).await;
    assert_eq!(refused(made), ErrorCode::AuthRevoked);
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

async fn what_no_person_can_be_is_refused(world: World) {
    let by = world.identity.local_owner();
    let add = async |who: &str, role| {
        let who = who.parse().unwrap();
        world.identity.add_principal(&by, &who, role, &world.origin).await
    };
    for who in ["system", "agent:x", "device:x", "channel:discord:x"] {
        assert_eq!(refused(add(who, Role::Viewer).await), ErrorCode::CommonInvalidInput, "{who}");
    }
    let second = add("operator:anna", Role::Owner).await;
    assert_eq!(refused(second), ErrorCode::CommonInvalidInput);
    add("operator:anna", Role::Operator).await.unwrap();
}

async fn an_owner_lets_others_in(world: World) {
    let by = world.identity.local_owner();
    let anna: Principal = "operator:anna".parse().unwrap();
    let invite = async || world.identity.invitation_code(&by, &anna, &world.origin).await;
    assert_eq!(refused(invite().await), ErrorCode::CommonNotFound);
    world.identity.add_principal(&by, &anna, Role::Approver, &world.origin).await.unwrap();
    let code = invite().await.unwrap();
    world.clock.advance(palyra_common::time::Duration::from_mins(9));
    let login = world.redeem(code.secret.expose()).await.unwrap();
    let access = world.identity.authenticate_login(login.cookie_secret.expose()).await.unwrap();
    assert_eq!((&access.principal, access.scopes), (&anna, role_scopes(Role::Approver)));

    let token = |scopes: &[Scope]| NewToken { principal: Some(anna.clone()), ..new_token(scopes) };
    let new = token(&[Scope::StatusRead]);
    let made = world.identity.create_token(&by, new, &world.origin).await.unwrap();
    assert_eq!(world.access(&made).await.unwrap().principal, anna);
    let more = world.identity.create_token(&by, token(&[Scope::SecretsRead]), &world.origin).await;
    assert_eq!(refused(more), ErrorCode::CommonConflict, "the role does not have it");
    assert!(world.journal().await.contains(&"operator:owner token.created ok".to_owned()));

    world.identity.disable_principal(&by, &anna, &world.origin).await.unwrap();
    assert_eq!(refused(invite().await), ErrorCode::CommonConflict);
    let late = world.identity.create_token(&by, token(&[Scope::StatusRead]), &world.origin).await;
    assert_eq!(refused(late), ErrorCode::CommonConflict);
}

async fn nobody_lets_others_in_with_more_than_they_have(world: World) {
    let owner = world.identity.local_owner();
    let (anna, of_anna) = world.person("anna", Role::Operator).await;
    let (ben, _) = world.person("ben", Role::Viewer).await;
    let invited = world.identity.invitation_code(&of_anna, &ben, &world.origin).await;
    assert_eq!(refused(invited), ErrorCode::AuthForbidden, "she is no owner");
    let viewers: Vec<_> = role_scopes(Role::Viewer).iter().collect();
    let own = [Scope::LoginsWrite, Scope::TokensWrite, Scope::PrincipalsWrite];
    let few = world.token(&owner, &[&viewers[..], &own].concat()).await;
    let few = world.access(&few).await.unwrap();
    for who in [&anna, &Principal::owner()] {
        let new = NewToken { principal: Some(who.clone()), ..new_token(&viewers) };
        let made = world.identity.create_token(&few, new, &world.origin).await;
        assert_eq!(made.is_ok(), *who == few.principal, "{who}");
    }
    let invited = world.identity.invitation_code(&few, &anna, &world.origin).await;
    assert_eq!(refused(invited), ErrorCode::AuthForbidden);
    world.identity.invitation_code(&few, &ben, &world.origin).await.unwrap();
    let without = world.token(&owner, &[&viewers[..], &own[..2]].concat()).await;
    let without = world.access(&without).await.unwrap();
    let invited = world.identity.invitation_code(&without, &ben, &world.origin).await.unwrap_err();
    assert!(invited.to_string().contains("principals:write"), "{invited}");
}

async fn principals_are_listed_page_by_page(world: World) {
    for name in ["ben", "Anna", "zoe"] {
        world.person(name, Role::Viewer).await;
    }
    let by = world.identity.local_owner();
    let (mut names, mut after) = (Vec::new(), None);
    for is_last in [false, true] {
        let page = world.identity.list_principals(&by, after, 2).await.unwrap();
        assert_eq!(page.next.is_none(), is_last, "{page:?}");
        names.extend(page.members.into_iter().map(|member| member.principal.to_string()));
        after = page.next;
    }
    assert_eq!(names, ["operator:Anna", "operator:ben", "operator:owner", "operator:zoe"]);
    let few = world.token(&by, &[Scope::StatusRead]).await;
    let few = world.access(&few).await.unwrap();
    let denied = world.identity.list_principals(&few, None, 3).await;
    assert_eq!(refused(denied), ErrorCode::AuthForbidden);
}
