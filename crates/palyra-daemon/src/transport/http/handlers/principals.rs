use axum::Json;
use axum::extract::State;
use palyra_common::Principal;
use palyra_common::api::{Member, NewMember, Page};
use palyra_common::runtime_contracts::Scope;
use palyra_identity::{self as identity, Made};
use serde::Deserialize;

use crate::actions::checked_limit;
use crate::app::App;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told};
use crate::transport::http::refusal::Answer;

/// Where a list of principals goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterPrincipal {
    /// `next` of the page before
    after: Option<Principal>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Who has a role here, by name
#[utoipa::path(get, path = "/admin/v1/principals", tag = "access", params(AfterPrincipal),
    responses((status = 200, body = Page<Member>)))]
pub(crate) async fn list_principals(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<AfterPrincipal>,
) -> Answer<Json<Page<Member>>> {
    let caller = caller.allow(Scope::PrincipalsRead)?;
    let limit = checked_limit(page.limit, identity::PAGE_LIMIT)?;
    let page = app.identity.list_principals(&caller.access, page.after, limit).await?;
    let next = page.next.map(|principal| principal.to_string());
    Ok(Json(Page { items: page.members.into_iter().map(member).collect(), next }))
}

/// Gives a person a role; a link to log in with is made with `principal` in /admin/v1/login-codes
#[utoipa::path(post, path = "/admin/v1/principals", tag = "access", request_body = NewMember,
    params(OnceKey), responses((status = 201, body = Member, headers(
        ("idempotency-replayed" = String, description = "true: it was made before")))))]
pub(crate) async fn add_principal(
    State(app): State<App>,
    caller: Caller,
    key: OnceKey,
    JsonBody(new): JsonBody<NewMember>,
) -> Answer<Told<Member>> {
    let caller = caller.allow(Scope::PrincipalsWrite)?;
    let once = key.of("principal.add", &new)?;
    let (by, origin) = (&caller.access, caller.origin());
    let NewMember { principal, role } = new;
    Ok(Told::created(
        match app.identity.add_principal_once(by, &principal, role, once, &origin).await? {
            Made::Now(added) => Made::Now(member(added)),
            Made::Before(added) => Made::Before(member(added)),
        },
    ))
}

/// Disables a person for good, with all that they made; doing it twice is doing it once
///
/// A name that was disabled is never enabled or added again: whoever comes back gets another one.
#[utoipa::path(delete, path = "/admin/v1/principals/{id}", tag = "access",
    params(("id" = Principal, Path, description = "Who, as operator:anna")),
    responses((status = 200, body = Member)))]
pub(crate) async fn disable_principal(
    State(app): State<App>,
    caller: Caller,
    PathOf(principal): PathOf<Principal>,
) -> Answer<Json<Member>> {
    let caller = caller.allow(Scope::PrincipalsWrite)?;
    let (by, origin) = (&caller.access, caller.origin());
    Ok(Json(member(app.identity.disable_principal(by, &principal, &origin).await?)))
}

fn member(member: identity::Member) -> Member {
    Member {
        principal: member.principal,
        role: member.role,
        created_at: member.created_at,
        disabled_at: member.disabled_at,
    }
}
