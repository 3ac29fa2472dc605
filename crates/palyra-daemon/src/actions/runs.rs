//! The work of agents.

use palyra_common::api::{Page, Run};
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::{RunLifecyclePhase, Scope};
use palyra_gateway::Wish;

use super::checked_limit;
use crate::app::App;
use crate::transport::http::{Answer, Caller};

const PAGE_LIMIT: u32 = 200;

/// Which runs, and where to go on.
#[derive(Debug, Default)]
pub(crate) struct RunsOf {
    /// Only those of this conversation.
    pub(crate) session: Option<SessionId>,
    /// Only those in this phase.
    pub(crate) phase: Option<RunLifecyclePhase>,
    /// Behind this one.
    pub(crate) after: Option<RunId>,
    /// How many at most.
    pub(crate) limit: Option<u32>,
}

/// Runs, the newest first.
pub(crate) async fn list(app: &App, caller: &Caller, of: RunsOf) -> Answer<Page<Run>> {
    caller.access.require(Scope::SessionsRead)?;
    let limit = checked_limit(of.limit, PAGE_LIMIT)?;
    let runs = app.runs.sessions.runs(of.after, of.session, of.phase, limit).await?;
    let more = runs.len() >= limit as usize;
    let next = runs.last().filter(|_| more).map(|run| run.id.to_string());
    Ok(Page { items: runs.into_iter().map(|run| run.shown()).collect(), next })
}

/// One of them, and how it ended.
pub(crate) async fn get(app: &App, caller: &Caller, id: RunId) -> Answer<Run> {
    caller.access.require(Scope::SessionsRead)?;
    Ok(app.runs.sessions.show_run(id).await?)
}

/// Stops one, or lets it wait or go on.
pub(crate) async fn wish(app: &App, caller: &Caller, id: RunId, wish: Wish) -> Answer<Run> {
    caller.access.require(Scope::SessionsWrite)?;
    let by = caller.access.principal.to_string();
    let note = wish.noted(id, &caller.actor(), app.clock.now());
    Ok(app.runs.sessions.wish(id, wish, by, Some(note)).await?.shown())
}
