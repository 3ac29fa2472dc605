use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use palyra_common::a2ui::{Message, render};
use palyra_common::api::{
    AgentSession, NewInput, NewSession, Page, SessionChange, SessionMessage, ShownSurface,
    Submitted,
};
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::Scope;
use palyra_gateway as gateway;
use serde::Deserialize;

use crate::actions::{checked_limit, sessions};
use crate::app::App;
use crate::transport::http::body::{JsonBody, OptionalJsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told};
use crate::transport::http::refusal::Answer;

const PAGE_LIMIT: u32 = 200;

/// Where a list of conversations goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterSession {
    /// `next` of the page before
    #[param(pattern = "^[0-9]{1,15}\\.[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    after: Option<String>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Where what was said goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterMessage {
    /// `next` of the page before
    #[param(pattern = "^[0-9]{1,18}\\.[0-9]{1,18}$")]
    after: Option<String>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Conversations with agents that were not put away, the newest first
#[utoipa::path(get, path = "/admin/v1/sessions", tag = "sessions", params(AfterSession),
    responses((status = 200, body = Page<AgentSession>)))]
pub(crate) async fn list_sessions(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<AfterSession>,
) -> Answer<Json<Page<AgentSession>>> {
    Ok(Json(sessions::list(&app, &caller, page.after.as_deref(), page.limit).await?))
}

/// Begins a conversation with an agent
#[utoipa::path(post, path = "/admin/v1/sessions", tag = "sessions",
    params(OnceKey), request_body = Option<NewSession>,
    responses((status = 201, body = AgentSession, headers(
        ("idempotency-replayed" = String, description = "true: it was begun before")))))]
pub(crate) async fn begin_session(
    State(app): State<App>,
    caller: Caller,
    key: OnceKey,
    OptionalJsonBody(new): OptionalJsonBody<NewSession>,
) -> Answer<Told<AgentSession>> {
    Ok(Told::created(sessions::begin(&app, &caller, key, new).await?))
}

/// One conversation
#[utoipa::path(get, path = "/admin/v1/sessions/{id}", tag = "sessions",
    params(("id" = SessionId, Path, description = "Which conversation")),
    responses((status = 200, body = AgentSession)))]
pub(crate) async fn show_session(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<SessionId>,
) -> Answer<Json<AgentSession>> {
    Ok(Json(sessions::get(&app, &caller, id).await?))
}

/// Names a conversation
#[utoipa::path(put, path = "/admin/v1/sessions/{id}", tag = "sessions",
    params(("id" = SessionId, Path, description = "Which conversation")),
    request_body = SessionChange, responses((status = 200, body = AgentSession)))]
pub(crate) async fn rename_session(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<SessionId>,
    JsonBody(change): JsonBody<SessionChange>,
) -> Answer<Json<AgentSession>> {
    caller.allow(Scope::SessionsWrite)?;
    Ok(Json(app.runs.sessions.rename(id, change.title).await?.shown()))
}

/// Puts a conversation away; what is said in its place from then on begins another one
#[utoipa::path(delete, path = "/admin/v1/sessions/{id}", tag = "sessions",
    params(("id" = SessionId, Path, description = "Which conversation")),
    responses((status = 204, description = "It is put away")))]
pub(crate) async fn archive_session(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<SessionId>,
) -> Answer<StatusCode> {
    caller.allow(Scope::SessionsWrite)?;
    app.runs.sessions.archive(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What was said in a conversation, the newest first
#[utoipa::path(get, path = "/admin/v1/sessions/{id}/messages", tag = "sessions",
    params(("id" = SessionId, Path, description = "Which conversation"), AfterMessage),
    responses((status = 200, body = Page<SessionMessage>)))]
pub(crate) async fn read_session(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<SessionId>,
    QueryOf(page): QueryOf<AfterMessage>,
) -> Answer<Json<Page<SessionMessage>>> {
    caller.allow(Scope::SessionsRead)?;
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    Ok(Json(app.runs.sessions.messages_page(id, page.after.as_deref(), limit).await?))
}

/// Says something in a conversation, which a run answers
#[utoipa::path(post, path = "/admin/v1/sessions/{id}/messages", tag = "sessions",
    params(("id" = SessionId, Path, description = "Which conversation"), OnceKey),
    request_body = NewInput, responses((status = 201, body = Submitted)))]
pub(crate) async fn say(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<SessionId>,
    key: OnceKey,
    JsonBody(input): JsonBody<NewInput>,
) -> Answer<(StatusCode, Json<Submitted>)> {
    Ok((StatusCode::CREATED, Json(sessions::say(&app, &caller, key, id, input).await?)))
}

/// What is shown in a conversation now, by the ids of the surfaces
///
/// The messages of a surface make it as it is, for a client that has not seen those which made it.
#[utoipa::path(get, path = "/admin/v1/sessions/{id}/surfaces", tag = "sessions",
    params(("id" = SessionId, Path, description = "Which conversation")),
    responses((status = 200, body = Page<ShownSurface>)))]
pub(crate) async fn list_surfaces(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<SessionId>,
) -> Answer<Json<Page<ShownSurface>>> {
    caller.allow(Scope::SessionsRead)?;
    let shown = app.runs.surfaces.shown(id).await?;
    // There are few, so that all of them are a page.
    Ok(Json(Page { items: shown.into_iter().map(surface).collect(), next: None }))
}

fn surface(stored: gateway::StoredSurface) -> ShownSurface {
    let gateway::StoredSurface { id, surface, version, updated_at } = stored;
    let messages = surface.snapshot(&id).iter().map(Message::to_value).collect();
    ShownSurface { surface: id, version, updated_at, text: render(&surface), messages }
}
