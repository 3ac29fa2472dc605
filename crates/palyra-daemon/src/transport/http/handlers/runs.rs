use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::api::{Page, Run};
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::{RunLifecyclePhase, Scope};
use palyra_common::tape::TapeEntry;
use palyra_gateway::{Follow, Wish};
use serde::Deserialize;

use crate::actions::{checked_limit, runs};
use crate::app::App;
use crate::transport::http::body::{PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;
use crate::transport::http::sse::{self, Ending, LastEvent, Reader};

pub(super) const TAPE_LIMIT: u32 = 1_000;

/// Which runs, and where to go on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunsOf {
    /// Only those of this conversation
    session: Option<SessionId>,
    /// Only those in this phase
    phase: Option<RunLifecyclePhase>,
    /// `next` of the page before
    after: Option<RunId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Runs, the newest first
#[utoipa::path(get, path = "/admin/v1/runs", tag = "runs", params(RunsOf),
    responses((status = 200, body = Page<Run>)))]
pub(crate) async fn list_runs(
    State(app): State<App>,
    caller: Caller,
    QueryOf(of): QueryOf<RunsOf>,
) -> Answer<Json<Page<Run>>> {
    let RunsOf { session, phase, after, limit } = of;
    let of = runs::RunsOf { session, phase, after, limit };
    Ok(Json(runs::list(&app, &caller, of).await?))
}

/// One run
#[utoipa::path(get, path = "/admin/v1/runs/{id}", tag = "runs",
    params(("id" = RunId, Path, description = "Which run")),
    responses((status = 200, body = Run)))]
pub(crate) async fn show_run(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
) -> Answer<Json<Run>> {
    Ok(Json(runs::get(&app, &caller, id).await?))
}

/// Where a tape goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterSeq {
    /// The number of the last event that was seen
    #[param(minimum = 0)]
    after: Option<u32>,
    /// How many at most
    #[param(minimum = 1, maximum = 1000)]
    pub(super) limit: Option<u32>,
}

impl AfterSeq {
    pub(super) fn after(&self) -> i64 {
        self.after.unwrap_or(0).into()
    }
}

/// What happened in a run, in order
#[utoipa::path(get, path = "/admin/v1/runs/{id}/tape", tag = "runs",
    params(("id" = RunId, Path, description = "Which run"), AfterSeq),
    responses((status = 200, body = Page<TapeEntry>)))]
pub(crate) async fn read_tape(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
    QueryOf(page): QueryOf<AfterSeq>,
) -> Answer<Json<Page<TapeEntry>>> {
    caller.allow(Scope::SessionsRead)?;
    let limit = checked_limit(page.limit, TAPE_LIMIT)?;
    app.runs.sessions.run(id).await?;
    let items = app.runs.sessions.tape(id, page.after(), limit).await?;
    let more = items.len() >= limit as usize;
    let next = items.last().filter(|_| more).map(|entry| entry.seq.to_string());
    Ok(Json(Page { items, next }))
}

/// From where on something is followed.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FollowFrom {
    /// The number of the last event that was seen; Last-Event-ID comes before it
    #[param(minimum = 0)]
    pub(super) after: Option<u32>,
}

/// What happens in a run, as server-sent events, until it and its deliveries have ended
///
/// Each has its number as its id, its kind as its event, and an entry of the tape as its data. Whoever
/// comes back with the number of the last one misses nothing and sees nothing twice. The last event is
/// `over`, which is no entry and has no number: without it there is more to come back for.
#[utoipa::path(get, path = "/admin/v1/runs/{id}/events", tag = "runs",
    params(("id" = RunId, Path, description = "Which run"), FollowFrom, LastEvent),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub(crate) async fn follow_run(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
    QueryOf(from): QueryOf<FollowFrom>,
    last: LastEvent,
    Extension(ending): Extension<Ending>,
) -> Answer<Response> {
    let scope = Scope::SessionsRead;
    let caller = caller.allow(scope)?;
    app.runs.sessions.run(id).await?;
    let after = last.seq.unwrap_or(from.after.unwrap_or(0).into());
    let source = Followed { follow: app.runs.streams.follow(id, after), is_over: false };
    sse::answer(source, Reader { app, access: caller.access, scope, ending })
}

struct Followed {
    follow: Follow,
    /// Whether its reader knows that there is no more.
    is_over: bool,
}

impl sse::Source for Followed {
    fn next(&mut self) -> BoxFuture<'_, Option<String>> {
        async {
            if self.is_over {
                return None;
            }
            let entries = match self.follow.next().await {
                Ok(entries) => entries,
                Err(error) => {
                    // The reader comes back, and is told then.
                    tracing::warn!(%error, "a run could not be followed");
                    return None;
                }
            };
            let text =
                |entry: &TapeEntry| sse::event(entry.seq, entry.event.kind().as_str(), entry);
            self.is_over = entries.is_empty();
            Some(if self.is_over {
                sse::OVER.to_owned()
            } else {
                entries.iter().map(text).collect()
            })
        }
        .boxed()
    }
}

/// Stops a run
#[utoipa::path(post, path = "/admin/v1/runs/{id}/abort", tag = "runs",
    params(("id" = RunId, Path, description = "Which run")),
    responses((status = 200, body = Run)))]
pub(crate) async fn abort_run(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
) -> Answer<Json<Run>> {
    Ok(Json(runs::wish(&app, &caller, id, Wish::Abort).await?))
}

/// Lets a run wait until it is resumed
#[utoipa::path(post, path = "/admin/v1/runs/{id}/pause", tag = "runs",
    params(("id" = RunId, Path, description = "Which run")),
    responses((status = 200, body = Run)))]
pub(crate) async fn pause_run(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
) -> Answer<Json<Run>> {
    Ok(Json(runs::wish(&app, &caller, id, Wish::Pause).await?))
}

/// Lets a run go on that was paused
#[utoipa::path(post, path = "/admin/v1/runs/{id}/resume", tag = "runs",
    params(("id" = RunId, Path, description = "Which run")),
    responses((status = 200, body = Run)))]
pub(crate) async fn resume_run(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
) -> Answer<Json<Run>> {
    Ok(Json(runs::wish(&app, &caller, id, Wish::Resume).await?))
}
