use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use palyra_common::api::Session;
use palyra_common::handoff::{parse_console_handoff, to_console_address};
use palyra_common::time::Timestamp;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_identity::{Credential, Origin, csrf_token};
use serde::Deserialize;

use super::handoff::HandoffFields;
use crate::app::App;
use crate::transport::http::body::QueryOf;
use crate::transport::http::caller::{Caller, cookie, set_cookie};
use crate::transport::http::door::Door;
use crate::transport::http::page;
use crate::transport::http::refusal::{Answer, Refusal};

/// What a login link carries, beside the fields of a handoff.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Link {
    /// The single-use code
    code: String,
}

/// The code of a link; a link without one is told as a page.
fn code(link: Answer<QueryOf<Link>>) -> Answer<String> {
    let what = "the address is that of a login link without its code";
    let half = |_| Refusal::new(ErrorCode::AuthLinkUnknown, what);
    link.map(|QueryOf(link)| link.code).map_err(half)
}

/// Opens a login link: shows a page whose button uses it
///
/// Opening it changes nothing, so that neither the preview of a chat nor a browser that fetches ahead
/// uses the link up.
#[utoipa::path(get, path = "/console/v1/login", tag = "console",
    params(Link, HandoffFields), security(()),
    responses((status = 200, body = String, content_type = "text/html"),
        (status = 404, body = String, content_type = "text/html", description = "Not a link of ours"),
        (status = 401, body = String, content_type = "text/html", description = "No longer welcome"),
        (status = 410, body = String, content_type = "text/html", description = "Used or expired"),
        (status = 500, body = String, content_type = "text/html", description = "A defect in Palyra"),
        (status = 503, body = String, content_type = "text/html", description = "No database")))]
pub(crate) async fn login_page(
    State(app): State<App>,
    link: Answer<QueryOf<Link>>,
) -> Result<Response, Response> {
    let code = code(link).map_err(|refusal| page::refused(&refusal))?;
    let looked = app.identity.look_at_code(&code).await;
    looked.map_err(|error| page::refused(&Refusal::from(error)))?;
    Ok(page::login())
}

/// Uses a login link: logs the browser in and goes on to the console, to where its handoff leads
#[utoipa::path(post, path = "/console/v1/login", tag = "console",
    params(Link, HandoffFields), security(()),
    responses((status = 303, description = "Logged in; the console is next"),
        (status = 404, body = String, content_type = "text/html", description = "Not a link of ours"),
        (status = 401, body = String, content_type = "text/html", description = "No longer welcome"),
        (status = 410, body = String, content_type = "text/html", description = "Used or expired"),
        (status = 500, body = String, content_type = "text/html", description = "A defect in Palyra"),
        (status = 503, body = String, content_type = "text/html", description = "No database")))]
pub(crate) async fn login(
    State(app): State<App>,
    Extension(door): Extension<Door>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    link: Answer<QueryOf<Link>>,
) -> Result<Response, Response> {
    let code = code(link).map_err(|refusal| page::refused(&refusal))?;
    let new = app.identity.redeem(&code, &Origin::new(&door.origin())).await;
    let new = new.map_err(|error| page::refused(&Refusal::from(error)))?;
    let lasts = new.login.expires_at.since(app.clock.now()).as_millis() / 1_000;
    let cookie = set_cookie(&app, &headers, new.cookie_secret.expose(), lasts);
    // Whatever stands in the link, this is an address of ours: it is written anew of what was understood.
    let handoff = parse_console_handoff(&query.unwrap_or_default()).handoff;
    let next = to_console_address(&handoff);
    // The form was a page of ours, so a browser sends the strict cookie along.
    let next = [(header::LOCATION, next), (header::SET_COOKIE, cookie)];
    Ok((StatusCode::SEE_OTHER, next).into_response())
}

/// The login of this browser, and what its changes must carry
#[utoipa::path(get, path = "/console/v1/session", tag = "console",
    responses((status = 200, body = Session),
        (status = 404, body = StableErrorEnvelope, description = "It is no browser that asks")))]
pub(crate) async fn session(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> Answer<Json<Session>> {
    let access = caller.access;
    let (Credential::Login(login), Some(secret)) = (access.credential, cookie(&app, &headers))
    else {
        let what = "only a browser that logged in with a link has a session";
        return Err(Refusal::new(ErrorCode::CommonNotFound, what));
    };
    Ok(Json(Session {
        login,
        principal: access.principal,
        role: access.role,
        scopes: access.scopes.iter().collect(),
        csrf: csrf_token(secret).expose().to_owned(),
        expires_at: access.expires_at.unwrap_or(Timestamp::UNIX_EPOCH),
    }))
}

/// Ends the login of this browser, and nothing that was made with it
#[utoipa::path(post, path = "/console/v1/logout", tag = "console",
    responses((status = 204, description = "Logged out")))]
pub(crate) async fn logout(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> Answer<Response> {
    app.identity.log_out(&caller.access, &caller.origin()).await?;
    let gone = set_cookie(&app, &headers, "", 0);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, gone)]).into_response())
}

/// The front page, and on it where a handoff leads
#[utoipa::path(get, path = "/", tag = "console", params(HandoffFields), security(()),
    responses((status = 200, body = String, content_type = "text/html")))]
pub(crate) async fn front(
    State(app): State<App>,
    caller: Answer<Caller>,
    RawQuery(query): RawQuery,
) -> Answer<Response> {
    let asked = parse_console_handoff(&query.unwrap_or_default());
    match caller {
        Ok(caller) => Ok(page::front(&app, &caller.access, &asked).await),
        Err(refusal) if refusal.status() == StatusCode::UNAUTHORIZED => {
            Ok(page::stranger(&asked.handoff))
        }
        // Whoever is logged in need not log in again because a part of the daemon is away.
        Err(refusal) => Err(refusal),
    }
}

/// The style of the pages
#[utoipa::path(get, path = "/style.css", tag = "console", security(()),
    responses((status = 200, body = String, content_type = "text/css")))]
pub(crate) async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE).into_response()
}
