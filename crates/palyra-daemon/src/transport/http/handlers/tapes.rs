use axum::Json;
use axum::extract::State;
use palyra_common::api::{Compared, ExportedEvent, Page, Replayed};
use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::Scope;
use palyra_gateway::exported;

use super::runs::{AfterSeq, TAPE_LIMIT};
use crate::actions::checked_limit;
use crate::app::App;
use crate::channels::WithoutSecrets;
use crate::failure::Failure;
use crate::transport::http::body::{PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;

/// Whether what a run has decided would be decided today, too
///
/// What people, models and tools have said is taken as recorded, and what no tape tells: the clock,
/// budgets that are shared, files. Everything else is decided anew, event by event.
#[utoipa::path(get, path = "/admin/v1/runs/{id}/replay", tag = "runs",
    params(("id" = RunId, Path, description = "Which run")),
    responses((status = 200, body = Replayed)))]
pub(crate) async fn replay_run(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
) -> Answer<Json<Replayed>> {
    caller.allow(Scope::SessionsRead)?;
    Ok(Json(app.runs.sessions.replay(id).await?))
}

/// Where two runs part, whatever their ids and times are
#[utoipa::path(get, path = "/admin/v1/runs/{id}/diff/{other}", tag = "runs",
    params(
        ("id" = RunId, Path, description = "The first run"),
        ("other" = RunId, Path, description = "The run that it is compared with")
    ),
    responses((status = 200, body = Compared)))]
pub(crate) async fn compare_runs(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, other)): PathOf<(RunId, RunId)>,
) -> Answer<Json<Compared>> {
    caller.allow(Scope::SessionsRead)?;
    Ok(Json(app.runs.sessions.compare(id, other).await?))
}

/// What happened in a run, in order, without the values of secrets; refused while one of them cannot be
/// read
#[utoipa::path(get, path = "/admin/v1/runs/{id}/export", tag = "runs",
    params(("id" = RunId, Path, description = "Which run"), AfterSeq),
    responses((status = 200, body = Page<ExportedEvent>)))]
pub(crate) async fn export_run(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RunId>,
    QueryOf(page): QueryOf<AfterSeq>,
) -> Answer<Json<Page<ExportedEvent>>> {
    caller.allow(Scope::SessionsRead)?;
    let limit = checked_limit(page.limit, TAPE_LIMIT)?;
    app.runs.sessions.run(id).await?;
    app.vault.knows_all().await?;
    let entries = app.runs.sessions.tape(id, page.after(), limit).await?;
    let more = entries.len() >= limit as usize;
    let next = entries.last().filter(|_| more).map(|entry| entry.seq.to_string());
    let outgoing = WithoutSecrets(app.vault.redactor().clone());
    let clean = move || entries.into_iter().map(|entry| exported(entry, &outgoing)).collect();
    let items = tokio::task::spawn_blocking(clean).await;
    Ok(Json(Page { items: items.map_err(|error| Failure::Startup(error.into()))?, next }))
}
