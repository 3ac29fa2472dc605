//! A token does what it was made for, until it ends.

use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::Duration;
use palyra_identity::{Credential, NewToken, Refusal, ScopeSet};
use palyra_storage::{Sql, params, sql};

use crate::world::{START, World, new_token, on_every_engine, refused};

on_every_engine!(
    a_token_does_what_it_was_made_for,
    a_token_expires_also_while_it_is_in_use,
    nobody_makes_more_than_they_have,
    a_token_made_by_a_token_does_not_outlive_it,
    a_revoked_maker_makes_nothing,
    revoking_is_idempotent_and_recorded_once,
    tokens_are_listed_page_by_page,
    others_see_and_revoke_only_their_own,
    use_is_written_once_a_minute,
    a_use_that_cannot_be_written_keeps_nobody_out,
    a_token_is_no_cookie,
    what_makes_no_sense_is_refused,
);

async fn a_token_does_what_it_was_made_for(world: World) {
    let by = world.identity.local_owner();
    let token = world.token(&by, &[Scope::StatusRead]).await;
    assert!(token.secret.expose().starts_with("ply_"));
    assert!(!format!("{token:?}").contains(token.secret.expose()));
    let access = world.access(&token).await.unwrap();
    assert_eq!(access.credential, Credential::Token(token.token.id));
    assert_eq!(access.role, Role::Owner);
    access.require(Scope::StatusRead).unwrap();
    let denied = access.require(Scope::SecretsWrite).unwrap_err();
    assert_eq!(denied.code(), ErrorCode::AuthForbidden);
    assert!(denied.envelope().message().contains("secrets:write"));
    let expected = ["operator:owner owner.created ok", "operator:owner token.created ok"];
    assert_eq!(world.journal().await, expected);
}

async fn a_token_expires_also_while_it_is_in_use(world: World) {
    let end = START + Duration::from_millis(300);
    let new = NewToken { expires_at: Some(end), ..new_token(&[Scope::StatusRead]) };
    let by = world.identity.local_owner();
    let token = world.identity.create_token(&by, new, &world.origin).await.unwrap();
    assert_eq!(world.access(&token).await.unwrap().expires_at, Some(end));
    world.clock.advance(Duration::from_millis(299));
    world.access(&token).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthExpired, "though remembered");
    assert_eq!(world.identity.refusals().of(Refusal::Expired), 1);
}

async fn nobody_makes_more_than_they_have(world: World) {
    let by = world.identity.local_owner();
    let token = world.token(&by, &[Scope::TokensWrite, Scope::StatusRead]).await;
    let few = world.access(&token).await.unwrap();
    world.token(&few, &[Scope::StatusRead]).await;
    let more = new_token(&[Scope::StatusRead, Scope::SecretsWrite]);
    let denied = world.identity.create_token(&few, more, &world.origin).await.unwrap_err();
    assert_eq!(denied.code(), ErrorCode::AuthForbidden);
    assert!(denied.to_string().contains("secrets:write"), "{denied}");
    // An access that claims more than its credential has gains nothing by it.
    let mut forged = few.clone();
    forged.scopes = by.scopes;
    let more = new_token(&[Scope::SecretsWrite]);
    let denied = world.identity.create_token(&forged, more, &world.origin).await;
    assert_eq!(refused(denied), ErrorCode::AuthForbidden);
    let none = world.token(&by, &[Scope::StatusRead]).await;
    let none = world.access(&none).await.unwrap();
    let denied = world.identity.create_token(&none, new_token(&[Scope::StatusRead]), &world.origin);
    assert!(denied.await.unwrap_err().to_string().contains("tokens:write"));
}

async fn a_token_made_by_a_token_does_not_outlive_it(world: World) {
    let end = START + Duration::from_hours(1);
    let ending = |expires_at| NewToken { expires_at, ..new_token(&[Scope::TokensWrite]) };
    let by = world.identity.local_owner();
    let first = world.identity.create_token(&by, ending(Some(end)), &world.origin).await.unwrap();
    let by = world.access(&first).await.unwrap();
    for later in [None, Some(end + Duration::from_millis(1))] {
        let denied = world.identity.create_token(&by, ending(later), &world.origin).await;
        assert_eq!(refused(denied), ErrorCode::AuthForbidden, "{later:?}");
    }
    world.identity.create_token(&by, ending(Some(end)), &world.origin).await.unwrap();
}

/// What was authenticated before a revocation must not be turned into something that survives it.
async fn a_revoked_maker_makes_nothing(world: World) {
    let by = world.identity.local_owner();
    let token = world.token(&by, &[Scope::TokensWrite, Scope::LoginsWrite]).await;
    let access = world.access(&token).await.unwrap();
    world.identity.revoke_token(&by, token.token.id, &world.origin).await.unwrap();
    let new = new_token(&[Scope::TokensWrite]);
    let made = world.identity.create_token(&access, new, &world.origin).await;
    assert_eq!(refused(made), ErrorCode::AuthRevoked);
    let code = world.identity.handoff_code(&access, &world.origin).await;
    assert_eq!(refused(code), ErrorCode::AuthRevoked);
}

async fn revoking_is_idempotent_and_recorded_once(world: World) {
    let by = world.identity.local_owner();
    let token = world.token(&by, &[Scope::StatusRead]).await;
    let id = token.token.id;
    // A token may give itself up.
    let own = world.access(&token).await.unwrap();
    assert!(world.identity.revoke_token(&own, id, &world.origin).await.unwrap());
    assert!(!world.identity.revoke_token(&by, id, &world.origin).await.unwrap());
    assert_eq!(refused(world.access(&token).await), ErrorCode::AuthRevoked);
    let unknown = palyra_storage::new_id();
    let missing = world.identity.revoke_token(&by, unknown, &world.origin).await;
    assert_eq!(refused(missing), ErrorCode::CommonNotFound);
    let listed = world.identity.list_tokens(&by, None, 10).await.unwrap().tokens;
    assert_eq!(listed[0].revoked_at, Some(START));
    let journal = world.journal().await;
    assert_eq!(journal.iter().filter(|line| line.contains("token.revoked")).count(), 1);
}

async fn tokens_are_listed_page_by_page(world: World) {
    let by = world.identity.local_owner();
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(world.token(&by, &[Scope::StatusRead, Scope::AuditRead]).await.token);
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = world.identity.list_tokens(&by, after, 2).await.unwrap();
        (after, pages) = (page.next, pages + 1);
        seen.extend(page.tokens);
        if after.is_none() {
            break;
        }
    }
    made.sort_by_key(|token| std::cmp::Reverse(token.id));
    assert_eq!((seen, pages), (made, 3));
    // A page that is exactly full has no empty one after it.
    assert_eq!(world.identity.list_tokens(&by, None, 5).await.unwrap().next, None);
}

async fn others_see_and_revoke_only_their_own(world: World) {
    let owner = world.identity.local_owner();
    let owners = world.token(&owner, &[Scope::StatusRead]).await;
    let (_, anna) = world.person("anna", Role::Operator).await;
    let annas = world.token(&anna, &[Scope::StatusRead]).await;
    let seen = world.identity.list_tokens(&anna, None, 10).await.unwrap().tokens;
    assert_eq!(seen, std::slice::from_ref(&annas.token));
    let denied = world.identity.revoke_token(&anna, owners.token.id, &world.origin).await;
    assert_eq!(refused(denied), ErrorCode::CommonNotFound);
    world.access(&owners).await.unwrap();
    assert_eq!(world.identity.list_tokens(&owner, None, 10).await.unwrap().tokens.len(), 2);
    assert!(world.identity.revoke_token(&owner, annas.token.id, &world.origin).await.unwrap());
}

async fn use_is_written_once_a_minute(world: World) {
    let token = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    for (at, written) in [(0, 0), (59_500, 0), (60_000, 60_000), (119_000, 60_000)] {
        world.clock.set(START + Duration::from_millis(at));
        world.access(&token).await.unwrap();
        const USED: Sql = sql!("SELECT last_used_at FROM api_tokens");
        let read =
            |tx: &mut palyra_storage::Tx<'_>| tx.query_one(&USED, params![], |row| row.get(0));
        let used: palyra_common::time::Timestamp = world.db.read(read).await.unwrap();
        assert_eq!(used.since(START).as_millis(), written, "at {at} ms");
    }
}

/// As on a full disk.
async fn a_use_that_cannot_be_written_keeps_nobody_out(world: World) {
    const REFUSE: Sql = sql!(
        sqlite: "CREATE TRIGGER refuse BEFORE UPDATE ON api_tokens
            BEGIN SELECT RAISE(ABORT, 'no'); END",
        postgres: "ALTER TABLE api_tokens ADD CHECK (last_used_at IS NULL)",
    );
    let token = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    world.db.write(|tx| tx.execute(&REFUSE, params![])).await.unwrap();
    world.access(&token).await.unwrap();
    let listed = world.identity.list_tokens(&world.identity.local_owner(), None, 1).await.unwrap();
    assert_eq!(listed.tokens[0].last_used_at, None);
}

async fn a_token_is_no_cookie(world: World) {
    let new = world.login().await;
    let token = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    world.identity.authenticate_login(new.cookie_secret.expose()).await.unwrap();
    world.access(&token).await.unwrap();
    let (cookie, secret) = (new.cookie_secret.expose(), token.secret.expose());
    for wrong in [cookie, &format!("ply_{cookie}")] {
        assert_eq!(refused(world.identity.authenticate_token(wrong).await), ErrorCode::AuthInvalid);
    }
    for wrong in [secret, &secret[4..]] {
        assert_eq!(refused(world.identity.authenticate_login(wrong).await), ErrorCode::AuthInvalid);
    }
}

async fn what_makes_no_sense_is_refused(world: World) {
    let by = world.identity.local_owner();
    let good = new_token(&[Scope::StatusRead]);
    let name = |name: &str| NewToken { name: name.into(), ..good.clone() };
    let wrong = [
        name(""),
        name(" blank "),
        name("a\0b"),
        name(&"é".repeat(101)),
        NewToken { scopes: ScopeSet::EMPTY, ..good.clone() },
        NewToken { expires_at: Some(START), ..good.clone() },
    ];
    for new in wrong {
        let told = format!("{new:?}");
        let made = world.identity.create_token(&by, new, &world.origin).await;
        assert_eq!(refused(made), ErrorCode::CommonInvalidInput, "{told}");
    }
    world.identity.create_token(&by, name(&"é".repeat(100)), &world.origin).await.unwrap();
}
