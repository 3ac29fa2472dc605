use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use palyra_common::ErrorCode;
use palyra_common::agent::AgentSpec;
use palyra_common::api::{Agent, AgentChange, NewAgent, Page};
use palyra_common::ids::AgentId;
use palyra_common::runtime_contracts::Scope;
use palyra_connector_core::Trail;
use palyra_gateway as gateway;
use serde::Deserialize;
use serde_json::Value;

use crate::actions::checked_limit;
use crate::app::App;
use crate::audit;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

const PAGE_LIMIT: u32 = 200;

/// Where a list of agents goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterAgent {
    /// `next` of the page before
    after: Option<AgentId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

fn trail(app: &App, caller: &Caller, action: &str, id: &AgentId) -> Trail {
    let subject = format!("agent:{id}");
    Some(audit::by(&caller.actor(), app.clock.now(), action, &subject, Value::Null))
}

/// Agents, by name
#[utoipa::path(get, path = "/admin/v1/agents", tag = "agents", params(AfterAgent),
    responses((status = 200, body = Page<Agent>)))]
pub(crate) async fn list_agents(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<AfterAgent>,
) -> Answer<Json<Page<Agent>>> {
    caller.allow(Scope::AgentsRead)?;
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    let after = page.after.map(|id| id.to_string()).unwrap_or_default();
    let agents = app.runs.agents.list(after, limit).await?;
    let more = agents.len() >= limit as usize;
    let next = agents.last().filter(|_| more).map(|agent| agent.id.to_string());
    Ok(Json(Page { items: agents.into_iter().map(told).collect(), next }))
}

/// Makes an agent
#[utoipa::path(post, path = "/admin/v1/agents", tag = "agents", request_body = NewAgent,
    responses((status = 201, body = Agent)))]
pub(crate) async fn add_agent(
    State(app): State<App>,
    caller: Caller,
    JsonBody(new): JsonBody<NewAgent>,
) -> Answer<(StatusCode, Json<Agent>)> {
    let caller = caller.allow(Scope::AgentsWrite)?;
    check_models(&app, &new.spec)?;
    let note = trail(&app, &caller, "agent.added", &new.id);
    let made = app.runs.agents.add(new.id, new.spec, note).await?;
    Ok((StatusCode::CREATED, Json(told(made))))
}

/// One agent
#[utoipa::path(get, path = "/admin/v1/agents/{id}", tag = "agents",
    params(("id" = AgentId, Path, description = "Which agent")),
    responses((status = 200, body = Agent)))]
pub(crate) async fn show_agent(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<AgentId>,
) -> Answer<Json<Agent>> {
    caller.allow(Scope::AgentsRead)?;
    Ok(Json(told(app.runs.agents.get(id).await?)))
}

/// Replaces what an agent is
///
/// Runs that begin from now on go by it, and those that wait when they go on.
#[utoipa::path(put, path = "/admin/v1/agents/{id}", tag = "agents",
    params(("id" = AgentId, Path, description = "Which agent")),
    request_body = AgentChange, responses((status = 200, body = Agent)))]
pub(crate) async fn change_agent(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<AgentId>,
    JsonBody(change): JsonBody<AgentChange>,
) -> Answer<Json<Agent>> {
    let caller = caller.allow(Scope::AgentsWrite)?;
    check_models(&app, &change.spec)?;
    let note = trail(&app, &caller, "agent.changed", &id);
    let changed = app.runs.agents.change(id, change.spec, change.version, note).await?;
    Ok(Json(told(changed)))
}

/// Removes an agent; what is said to it from then on is not answered
#[utoipa::path(delete, path = "/admin/v1/agents/{id}", tag = "agents",
    params(("id" = AgentId, Path, description = "Which agent")),
    responses((status = 204, description = "It is gone")))]
pub(crate) async fn remove_agent(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<AgentId>,
) -> Answer<StatusCode> {
    let caller = caller.allow(Scope::AgentsWrite)?;
    let note = trail(&app, &caller, "agent.removed", &id);
    app.runs.agents.remove(id, note).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses models that are not there: such an agent could not answer.
fn check_models(app: &App, spec: &AgentSpec) -> Answer<()> {
    let models = app.runs.models.load();
    let missing = models.missing(&spec.models);
    if missing.is_empty() {
        return Ok(());
    }
    let there: Vec<&str> = models.list().map(|model| model.name.as_str()).collect();
    let what = format!("no model {}; there are {}", missing.join(", "), there.join(", "));
    Err(Refusal::new(ErrorCode::CommonInvalidInput, what))
}

fn told(agent: gateway::Agent) -> Agent {
    let gateway::Agent { id, spec, version, created_at, changed_at } = agent;
    Agent { id, spec, version, created_at, changed_at }
}
