//! A code logs in once, and only in time.

use palyra_common::error::ErrorCode;
use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::{Role, Scope};
use palyra_common::time::{Clock, Duration};
use palyra_identity::{HANDOFF_CODE_LASTS, INVITATION_CODE_LASTS, Identity, Refusal, role_scopes};

use crate::world::{World, new_token, on_every_engine, refused};

on_every_engine!(
    the_first_login_makes_the_owner,
    of_many_who_redeem_one_wins,
    two_first_codes_make_one_owner,
    a_code_expires,
    a_link_for_oneself_lasts_as_long_by_name,
    the_first_code_that_is_used_ends_the_others,
    a_code_that_was_ended_stays_so_whatever_the_clock_says,
    a_link_that_nobody_opened_is_no_login,
    the_local_owner_needs_no_row,
    guesses_are_counted_and_leave_no_row,
    a_link_tried_again_and_again_is_recorded_once,
    a_code_hands_on_no_more_than_its_maker_has,
);

async fn the_first_login_makes_the_owner(world: World) {
    let code = world.first_code().await;
    let new = world.redeem(&code).await.unwrap();
    assert_eq!(new.login.principal, Principal::owner());
    let access = world.identity.authenticate_login(new.cookie_secret.expose()).await.unwrap();
    assert_eq!((access.role, access.scopes), (Role::Owner, role_scopes(Role::Owner)));
    let again = world.identity.first_login_code(&world.origin).await.unwrap();
    assert!(again.is_none(), "the owner has logged in");
    assert_eq!(refused(world.redeem(&code).await), ErrorCode::AuthLinkUsed);
    let expected = [
        "system login_code.created ok",
        "operator:owner owner.created ok",
        "operator:owner login.created ok",
        "system login.refused link_used",
    ];
    assert_eq!(world.journal().await, expected);
}

async fn of_many_who_redeem_one_wins(world: World) {
    let other = world.second_node().await.map(|(_, identity)| identity);
    for round in 0..3 {
        let by = world.identity.local_owner();
        let code = world.identity.handoff_code(&by, &world.origin).await.unwrap();
        let mut tries = tokio::task::JoinSet::new();
        for n in 0..50 {
            let odd = other.as_ref().filter(|_| n % 2 == 1);
            let identity: Identity = odd.unwrap_or(&world.identity).clone();
            let (code, origin) = (code.secret.clone(), world.origin.clone());
            tries.spawn(async move { identity.redeem(code.expose(), &origin).await });
        }
        let outcomes = tries.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 49), "round {round}");
        for lost in lost {
            assert_eq!(refused(lost), ErrorCode::AuthLinkUsed);
        }
        let logins = world.identity.list_logins(&by, None, 200).await.unwrap().logins;
        assert_eq!(logins.len(), round + 1);
        let journal = world.journal().await;
        let recorded = journal.iter().filter(|line| line.contains("login.refused")).count();
        assert_eq!(recorded, round + 1, "the first refusal of each code");
    }
}

/// Two nodes that start at once may each print a link.
async fn two_first_codes_make_one_owner(world: World) {
    let (first, second) = (world.first_code().await, world.first_code().await);
    let (one, other) = tokio::join!(world.redeem(&first), world.redeem(&second));
    let won = [&one, &other].into_iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(won, 1, "{one:?} {other:?}");
    let lost = if one.is_err() { one } else { other };
    assert_eq!(refused(lost), ErrorCode::AuthLinkExpired);
    let owners = world.journal().await;
    assert_eq!(owners.iter().filter(|line| line.contains("owner.created")).count(), 1);
}

async fn a_link_for_oneself_lasts_as_long_by_name(world: World) {
    let (by, anna) = (world.identity.local_owner(), "operator:anna".parse().unwrap());
    world.identity.add_principal(&by, &anna, Role::Operator, &world.origin).await.unwrap();
    for (who, lasts) in [(&by.principal, HANDOFF_CODE_LASTS), (&anna, INVITATION_CODE_LASTS)] {
        let code = world.identity.invitation_code(&by, who, &world.origin).await.unwrap();
        assert_eq!(code.expires_at, world.clock.now() + lasts, "{who}");
    }
}

async fn a_code_expires(world: World) {
    let code = world.first_code().await;
    world.clock.advance(Duration::from_mins(10));
    assert_eq!(refused(world.redeem(&code).await), ErrorCode::AuthLinkExpired);
    let code = world.first_code().await;
    world.clock.advance(Duration::from_millis(599_999));
    world.redeem(&code).await.unwrap();
    let by = world.identity.local_owner();
    let code = world.identity.handoff_code(&by, &world.origin).await.unwrap();
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(refused(world.redeem(code.secret.expose()).await), ErrorCode::AuthLinkExpired);
    assert_eq!(world.identity.refusals().of(Refusal::LinkExpired), 2);
}

/// A second node that starts leaves the link of the first one alone.
async fn the_first_code_that_is_used_ends_the_others(world: World) {
    let earlier = world.first_code().await;
    let newer = world.first_code().await;
    world.redeem(&earlier).await.unwrap();
    assert_eq!(refused(world.redeem(&newer).await), ErrorCode::AuthLinkExpired);
}

/// Nodes have clocks of their own, and whoever redeems has looked at one before the end was written.
async fn a_code_that_was_ended_stays_so_whatever_the_clock_says(world: World) {
    let by = world.identity.local_owner();
    let behind = |length| world.clock.set(world.clock.now() - length);
    let maker = world.token(&by, &[Scope::LoginsWrite, Scope::StatusRead]).await;
    let access = world.access(&maker).await.unwrap();
    let code = world.identity.handoff_code(&access, &world.origin).await.unwrap();
    let old = world.identity.handoff_code(&access, &world.origin).await.unwrap();
    world.clock.advance(HANDOFF_CODE_LASTS);
    world.identity.revoke_token(&by, maker.token.id, &world.origin).await.unwrap();
    behind(HANDOFF_CODE_LASTS);
    for code in [&code, &old] {
        assert_eq!(refused(world.redeem(code.secret.expose()).await), ErrorCode::AuthRevoked);
    }
    // The same of the link that is printed at the first start.
    let (used, other) = (world.first_code().await, world.first_code().await);
    world.clock.advance(Duration::from_mins(5));
    world.redeem(&used).await.unwrap();
    behind(Duration::from_mins(4));
    assert_eq!(refused(world.redeem(&other).await), ErrorCode::AuthLinkExpired);
}

/// The link makes the local owner an owner; the first login is offered until there is one.
async fn a_link_that_nobody_opened_is_no_login(world: World) {
    let by = world.identity.local_owner();
    let link = world.identity.handoff_code(&by, &world.origin).await.unwrap();
    assert!(world.identity.has_owner().await.unwrap());
    assert!(!world.identity.owner_has_logged_in().await.unwrap());
    let offered = world.identity.first_login_code(&world.origin).await.unwrap();
    assert!(offered.is_some(), "nobody has logged in");
    world.redeem(link.secret.expose()).await.unwrap();
    assert!(world.identity.owner_has_logged_in().await.unwrap());
    let offered = world.redeem(offered.unwrap().secret.expose()).await;
    assert_eq!(refused(offered), ErrorCode::AuthLinkExpired, "it lies in a log");
    assert!(world.identity.first_login_code(&world.origin).await.unwrap().is_none());
}

async fn the_local_owner_needs_no_row(world: World) {
    let by = world.identity.local_owner();
    assert_eq!(by.require(Scope::BackupsCreate).map_err(|error| error.code()), Ok(()));
    // The link that the daemon printed still works after the command line came first.
    let printed = world.first_code().await;
    world.token(&by, &[Scope::StatusRead]).await;
    world.redeem(&printed).await.unwrap();
    let owners = world.journal().await;
    assert_eq!(owners.iter().filter(|line| line.contains("owner.created")).count(), 1);
}

async fn guesses_are_counted_and_leave_no_row(world: World) {
    let before = world.journal().await;
    let wrong = "A".repeat(43);
    for guess in ["", "x", &wrong, &format!("{wrong}\0"), &"A".repeat(100_000)] {
        assert_eq!(refused(world.redeem(guess).await), ErrorCode::AuthLinkUnknown);
        let token = format!("ply_{guess}");
        assert_eq!(
            refused(world.identity.authenticate_token(&token).await),
            ErrorCode::AuthInvalid
        );
        assert_eq!(refused(world.identity.authenticate_login(guess).await), ErrorCode::AuthInvalid);
    }
    assert_eq!(world.identity.refusals().of(Refusal::LinkUnknown), 5);
    assert_eq!(world.identity.refusals().of(Refusal::Invalid), 10);
    assert_eq!(world.journal().await, before);
}

async fn a_link_tried_again_and_again_is_recorded_once(world: World) {
    let code = world.first_code().await;
    world.redeem(&code).await.unwrap();
    for _ in 0..20 {
        assert_eq!(refused(world.redeem(&code).await), ErrorCode::AuthLinkUsed);
    }
    let refusals = world.journal().await;
    assert_eq!(refusals.iter().filter(|line| line.contains("login.refused")).count(), 1);
    assert_eq!(world.identity.refusals().of(Refusal::LinkUsed), 20);
}

/// Otherwise a token with few scopes and a short life would log its owner in for a month, with
/// everything.
async fn a_code_hands_on_no_more_than_its_maker_has(world: World) {
    let mut new = new_token(&[Scope::LoginsWrite, Scope::TokensWrite]);
    let end = crate::world::START + Duration::from_hours(1);
    new.expires_at = Some(end);
    let by = world.identity.local_owner();
    let token = world.identity.create_token(&by, new, &world.origin).await.unwrap();
    let by = world.access(&token).await.unwrap();
    let code = world.identity.handoff_code(&by, &world.origin).await.unwrap();
    let new = world.redeem(code.secret.expose()).await.unwrap();
    assert_eq!(new.login.expires_at, end);
    let login = world.identity.authenticate_login(new.cookie_secret.expose()).await.unwrap();
    assert_eq!(login.scopes, by.scopes);
    // Nor over several steps.
    let endless = new_token(&[Scope::TokensWrite]);
    let outlives = world.identity.create_token(&login, endless, &world.origin).await;
    assert_eq!(refused(outlives), ErrorCode::AuthForbidden);
    let few = world.token(&world.identity.local_owner(), &[Scope::StatusRead]).await;
    let few = world.access(&few).await.unwrap();
    let denied = world.identity.handoff_code(&few, &world.origin).await.unwrap_err();
    assert!(denied.to_string().contains("logins:write"), "{denied}");
}
