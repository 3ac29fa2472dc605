use axum::Json;
use axum::extract::State;
use palyra_common::api::{AuxiliaryTask, Page};
use palyra_common::ids::{AuxiliaryTaskId, RunId, SessionId};
use palyra_common::runtime_contracts::{AuxiliaryPurpose, AuxiliaryTaskState, Scope};
use palyra_gateway as gateway;
use serde::Deserialize;

use super::access::checked_limit;
use crate::app::App;
use crate::transport::http::body::QueryOf;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;

const PAGE_LIMIT: u32 = 200;

/// Which tasks, and where to go on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TasksOf {
    /// Only those that are a part of this run
    run: Option<RunId>,
    /// Only those about this conversation
    session: Option<SessionId>,
    /// Only those in this state
    state: Option<AuxiliaryTaskState>,
    /// `next` of the page before
    after: Option<AuxiliaryTaskId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Side calls to models, the newest first
#[utoipa::path(get, path = "/admin/v1/auxiliary-tasks", tag = "runs", params(TasksOf),
    responses((status = 200, body = Page<AuxiliaryTask>)))]
pub(crate) async fn list_auxiliary_tasks(
    State(app): State<App>,
    caller: Caller,
    QueryOf(of): QueryOf<TasksOf>,
) -> Answer<Json<Page<AuxiliaryTask>>> {
    caller.allow(Scope::SessionsRead)?;
    let limit = checked_limit(of.limit, PAGE_LIMIT)?;
    let about = (of.run, of.session);
    let tasks = app.runs.auxiliary.list(of.after, about, of.state, limit).await?;
    let more = tasks.len() >= limit as usize;
    let next = tasks.last().filter(|_| more).map(|task| task.id.to_string());
    Ok(Json(Page { items: tasks.into_iter().map(told).collect(), next }))
}

fn told(task: gateway::AuxiliaryTask) -> AuxiliaryTask {
    // The substitute for a summary of a conversation is made where it is read.
    let degrades = task.is_degraded() || task.purpose == AuxiliaryPurpose::Compaction;
    AuxiliaryTask {
        id: task.id,
        kind: task.kind,
        purpose: task.purpose,
        state: task.state,
        agent: task.agent,
        session: task.session,
        run: task.run,
        model: task.model,
        attempts: task.attempts,
        tokens: task.spent.tokens,
        cost_micros: task.spent.micros,
        degraded: task.state == AuxiliaryTaskState::Failed && degrades,
        reason: task.reason,
        detail: task.detail,
        input_sha256: task.input_sha256,
        created_at: task.created_at,
        begun_at: task.begun_at,
        ended_at: task.ended_at,
    }
}
