//! Conversations with agents.

use palyra_common::ErrorCode;
use palyra_common::api::{AgentSession, NewInput, NewSession, Page, Submitted};
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::{Scope, Trust};
use palyra_common::tape::Input;
use palyra_gateway::{self as gateway, Title};
use palyra_storage::once::Made;
use palyra_storage::{Tx, new_id};

use super::checked_limit;
use crate::app::App;
use crate::transport::http::{Answer, Caller, OnceKey, Refusal, carry_out};

const PAGE_LIMIT: u32 = 200;

/// Those that were not put away, the newest first.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    after: Option<&str>,
    limit: Option<u32>,
) -> Answer<Page<AgentSession>> {
    caller.access.require(Scope::SessionsRead)?;
    let limit = checked_limit(limit, PAGE_LIMIT)?;
    Ok(app.runs.sessions.page(after, limit).await?)
}

/// One of them.
pub(crate) async fn get(app: &App, caller: &Caller, id: SessionId) -> Answer<AgentSession> {
    caller.access.require(Scope::SessionsRead)?;
    Ok(app.runs.sessions.get(id).await?.shown())
}

/// Begins one.
pub(crate) async fn begin(
    app: &App,
    caller: &Caller,
    key: OnceKey,
    new: NewSession,
) -> Answer<Made<AgentSession>> {
    caller.access.require(Scope::SessionsWrite)?;
    let once = key.of("session.begin", &new)?;
    let title = Title::parse(&new.title)?;
    let agent = match new.agent {
        Some(agent) => agent,
        None => gateway::default_agent()?,
    };
    let surface = new.surface.unwrap_or_default().as_str();
    let (id, now) = (new_id(), app.clock.now());
    let begin = move |tx: &mut Tx<'_>| {
        let begun = gateway::begin_session(tx, id, &agent, surface, title.as_str(), now)?;
        Ok((begun, id.to_string()))
    };
    Ok(match carry_out(app, caller, once, begin).await? {
        Made::Now(begun) => Made::Now(begun.shown()),
        Made::Before(id) => Made::Before(begun_before(app, &id).await?),
    })
}

/// Says something, which a run answers.
pub(crate) async fn say(
    app: &App,
    caller: &Caller,
    key: OnceKey,
    session: SessionId,
    input: NewInput,
) -> Answer<Submitted> {
    caller.access.require(Scope::SessionsWrite)?;
    let once = key.of("session.say", &(session, &input))?;
    let by = caller.access.principal.clone();
    let (sender, trust) = (by.to_string(), Trust::Operator);
    let input = Input { text: input.text, sender, trust, connector: None };
    let said = app.runs.sessions.say(session, input, once.map(|once| (by, once))).await?;
    Ok(Submitted { run: said.run, session: said.session })
}

async fn begun_before(app: &App, id: &str) -> Answer<AgentSession> {
    let gone = |_| Refusal::new(ErrorCode::CommonNotFound, "what was begun before is gone");
    Ok(app.runs.sessions.get(id.parse().map_err(gone)?).await?.shown())
}
