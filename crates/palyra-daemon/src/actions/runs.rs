//! The work of agents.

use palyra_common::api::{Page, Run};
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::{RunLifecyclePhase, Scope};
use palyra_gateway::{self as gateway, Wish};
use serde_json::Value;

use super::checked_limit;
use crate::app::App;
use crate::audit;
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
    Ok(Page { items: runs.into_iter().map(told).collect(), next })
}

/// One of them, and how it ended.
pub(crate) async fn get(app: &App, caller: &Caller, id: RunId) -> Answer<Run> {
    caller.access.require(Scope::SessionsRead)?;
    let run = told(app.runs.sessions.run(id).await?);
    let (detail, hint) = match app.runs.sessions.ending(id).await? {
        Some(finished) => (finished.detail, finished.hint),
        None => (None, None),
    };
    Ok(Run { detail, hint, ..run })
}

/// Stops one, or lets it wait or go on.
pub(crate) async fn wish(app: &App, caller: &Caller, id: RunId, wish: Wish) -> Answer<Run> {
    caller.access.require(Scope::SessionsWrite)?;
    let action = match wish {
        Wish::Abort => "run.aborted",
        Wish::Pause => "run.paused",
        Wish::Resume => "run.resumed",
    };
    let (by, subject) = (caller.access.principal.to_string(), format!("run:{id}"));
    let note = audit::by(&caller.actor(), app.clock.now(), action, &subject, Value::Null);
    Ok(told(app.runs.sessions.wish(id, wish, by, Some(note)).await?))
}

fn told(run: gateway::Run) -> Run {
    Run {
        id: run.id,
        session: run.session,
        agent: run.agent,
        phase: run.phase,
        end: run.ended,
        detail: None,
        hint: None,
        last_seq: run.next_seq - 1,
        due_at: run.due_at,
        active: run.active,
        tokens: run.tokens,
        cost_micros: run.micros,
        parent: run.parent.map(|(parent, _)| parent),
        created_at: run.created_at,
        changed_at: run.changed_at,
    }
}
