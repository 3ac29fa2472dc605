use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use palyra_common::ErrorCode;
use palyra_common::a2ui::{Message, render};
use palyra_common::api::{
    AgentSession, MessageRole, NewInput, NewSession, Page, SessionChange, SessionMessage,
    SessionSurface, ShownSurface, Submitted,
};
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::{Scope, Trust};
use palyra_common::tape::Input;
use palyra_common::time::Timestamp;
use palyra_gateway as gateway;
use palyra_storage::once::Made;
use palyra_storage::{Tx, new_id};
use serde::Deserialize;

use super::access::checked_limit;
use crate::app::App;
use crate::transport::http::body::{JsonBody, OptionalJsonBody, PathOf, QueryOf, no_cursor};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told, carry_out};
use crate::transport::http::refusal::{Answer, Refusal};

const PAGE_LIMIT: u32 = 200;
const MAX_TITLE_CHARS: usize = 200;

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
    caller.allow(Scope::SessionsRead)?;
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    let after = page.after.as_deref().map(cursor::<SessionId>).transpose()?;
    let after = after.map(|(at, id)| (Timestamp::from_unix_millis(at), id));
    let sessions = app.runs.sessions.list(after, limit).await?;
    let more = sessions.len() >= limit as usize;
    let place =
        |last: &gateway::Session| format!("{}.{}", last.changed_at.as_unix_millis(), last.id);
    let next = sessions.last().filter(|_| more).map(place);
    Ok(Json(Page { items: sessions.into_iter().map(told).collect(), next }))
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
    let caller = caller.allow(Scope::SessionsWrite)?;
    let once = key.of("session.begin", &new)?;
    let title = checked_title(&new.title)?;
    let agent = match new.agent {
        Some(agent) => agent,
        None => gateway::default_agent()?,
    };
    let surface = match new.surface.unwrap_or_default() {
        SessionSurface::Api => "api",
        SessionSurface::Cli => "cli",
        SessionSurface::Web => "web",
    };
    let (id, now) = (new_id(), app.clock.now());
    let begin = move |tx: &mut Tx<'_>| {
        let begun = gateway::begin_session(tx, id, &agent, surface, &title, now)?;
        Ok((begun, id.to_string()))
    };
    Ok(Told::created(match carry_out(&app, &caller, once, begin).await? {
        Made::Now(begun) => Made::Now(told(begun)),
        Made::Before(id) => Made::Before(begun_before(&app, &id).await?),
    }))
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
    caller.allow(Scope::SessionsRead)?;
    Ok(Json(told(app.runs.sessions.get(id).await?)))
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
    let title = checked_title(&change.title)?;
    Ok(Json(told(app.runs.sessions.rename(id, title).await?)))
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
    let after = page.after.as_deref().map(cursor::<i64>).transpose()?;
    let said = app.runs.sessions.messages(id, after, limit).await?;
    let more = said.len() >= limit as usize;
    let next = said.last().filter(|_| more).map(|last| format!("{}.{}", last.place, last.seq));
    Ok(Json(Page { items: said.into_iter().map(message).collect(), next }))
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
    let caller = caller.allow(Scope::SessionsWrite)?;
    let once = key.of("session.say", &(id, &input))?;
    let by = caller.access.principal.clone();
    let (sender, trust) = (by.to_string(), Trust::Operator);
    let input = Input { text: input.text, sender, trust, connector: None };
    let said = app.runs.sessions.say(id, input, once.map(|once| (by, once))).await?;
    let submitted = Submitted { run: said.run, session: said.session };
    Ok((StatusCode::CREATED, Json(submitted)))
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

fn checked_title(title: &str) -> Answer<String> {
    let title = title.trim();
    if title.chars().count() > MAX_TITLE_CHARS {
        let what = format!("title has at most {MAX_TITLE_CHARS} characters");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    Ok(palyra_common::text::strip_nul(title).into_owned())
}

/// A place in a list: a number, and what tells those of the same number apart.
pub(super) fn cursor<T: std::str::FromStr>(text: &str) -> Answer<(i64, T)> {
    let parts = text.split_once('.');
    let parts = parts.and_then(|(first, rest)| Some((first.parse().ok()?, rest.parse().ok()?)));
    parts.ok_or_else(no_cursor)
}

async fn begun_before(app: &App, id: &str) -> Answer<AgentSession> {
    let gone = |_| Refusal::new(ErrorCode::CommonNotFound, "what was begun before is gone");
    Ok(told(app.runs.sessions.get(id.parse().map_err(gone)?).await?))
}

fn told(session: gateway::Session) -> AgentSession {
    let (channel, conversation) = session.reply_to.unzip();
    AgentSession {
        id: session.id,
        title: session.title,
        agent: session.agent,
        surface: session.surface,
        channel,
        conversation,
        run: session.holder,
        archived_at: session.archived_at,
        created_at: session.created_at,
        changed_at: session.changed_at,
    }
}

fn surface(stored: gateway::StoredSurface) -> ShownSurface {
    let gateway::StoredSurface { id, surface, version, updated_at } = stored;
    let messages = surface.snapshot(&id).iter().map(Message::to_value).collect();
    ShownSurface { surface: id, version, updated_at, text: render(&surface), messages }
}

fn message(said: gateway::SessionSaid) -> SessionMessage {
    let gateway::SessionSaid { run, seq, by_agent, sender, trust, text, phase, at, .. } = said;
    let role = if by_agent { MessageRole::Agent } else { MessageRole::User };
    SessionMessage { run, seq, role, sender, trust, text, phase, at }
}
