use axum::Json;
use axum::extract::State;
use palyra_common::LoginId;
use palyra_common::api::{Login, LoginCode, NewLoginCode, Page};
use palyra_common::runtime_contracts::Scope;
use palyra_identity::{self as identity, Made};
use serde::Deserialize;

use crate::actions::checked_limit;
use crate::app::App;
use crate::transport::http::body::{OptionalJsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told};
use crate::transport::http::page::login_link;
use crate::transport::http::refusal::Answer;

/// Where a list of logins goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterLogin {
    /// `next` of the page before
    after: Option<LoginId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Logins of browsers, newest first: one's own, for an owner all
#[utoipa::path(get, path = "/admin/v1/logins", tag = "access", params(AfterLogin),
    responses((status = 200, body = Page<Login>)))]
pub(crate) async fn list_logins(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<AfterLogin>,
) -> Answer<Json<Page<Login>>> {
    let caller = caller.allow(Scope::LoginsRead)?;
    let limit = checked_limit(page.limit, identity::PAGE_LIMIT)?;
    let page = app.identity.list_logins(&caller.access, page.after, limit).await?;
    let next = page.next.map(|id| id.to_string());
    Ok(Json(Page { items: page.logins.into_iter().map(login).collect(), next }))
}

/// Ends a login and all that came from it; doing it twice is doing it once
#[utoipa::path(delete, path = "/admin/v1/logins/{id}", tag = "access",
    params(("id" = LoginId, Path, description = "Which login")),
    responses((status = 200, body = Login)))]
pub(crate) async fn end_login(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<LoginId>,
) -> Answer<Json<Login>> {
    // A login may end itself, whatever else it may do.
    app.identity.end_login(&caller.access, id, &caller.origin()).await?;
    Ok(Json(login(app.identity.login(&caller.access, id).await?)))
}

/// Makes a single-use link with which a browser logs in
#[utoipa::path(post, path = "/admin/v1/login-codes", tag = "access",
    request_body = Option<NewLoginCode>, params(OnceKey),
    responses((status = 201, body = LoginCode, headers(
        ("idempotency-replayed" = String, description = "true: it was made before")))))]
pub(crate) async fn create_login_code(
    State(app): State<App>,
    caller: Caller,
    key: OnceKey,
    OptionalJsonBody(new): OptionalJsonBody<NewLoginCode>,
) -> Answer<Told<LoginCode>> {
    let caller = caller.allow(Scope::LoginsWrite)?;
    let once = key.of("login_code.create", &new)?;
    let (by, origin) = (&caller.access, caller.origin());
    Ok(Told::created(
        match app.identity.login_code_once(by, new.principal, once, &origin).await? {
            Made::Now(code) => {
                let link = login_link(&app, code.secret.expose(), new.handoff.as_ref());
                let link = Some(link);
                Made::Now(LoginCode { link, expires_at: code.expires_at, advice: None })
            }
            Made::Before(expires_at) => Made::Before(LoginCode::without_link(expires_at)),
        },
    ))
}

fn login(login: identity::Login) -> Login {
    Login {
        id: login.id,
        principal: login.principal,
        created_at: login.created_at,
        last_seen_at: login.last_seen_at,
        expires_at: login.expires_at,
        ended_at: login.ended_at,
        made_by: login.made_by,
    }
}
