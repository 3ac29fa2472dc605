//! Conversations with agents.

use palyra_common::ErrorCode;
use palyra_common::api::{AgentSession, NewInput, NewSession, Page, SessionSurface, Submitted};
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::{Scope, Trust};
use palyra_common::tape::Input;
use palyra_common::time::Timestamp;
use palyra_gateway as gateway;
use palyra_storage::once::Made;
use palyra_storage::{Tx, new_id};

use super::{checked_limit, no_cursor};
use crate::app::App;
use crate::transport::http::{Answer, Caller, OnceKey, Refusal, carry_out};

const PAGE_LIMIT: u32 = 200;
const MAX_TITLE_CHARS: usize = 200;

/// Those that were not put away, the newest first.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    after: Option<&str>,
    limit: Option<u32>,
) -> Answer<Page<AgentSession>> {
    caller.access.require(Scope::SessionsRead)?;
    let limit = checked_limit(limit, PAGE_LIMIT)?;
    let after = after.map(cursor::<SessionId>).transpose()?;
    let after = after.map(|(at, id)| (Timestamp::from_unix_millis(at), id));
    let sessions = app.runs.sessions.list(after, limit).await?;
    let more = sessions.len() >= limit as usize;
    let place =
        |last: &gateway::Session| format!("{}.{}", last.changed_at.as_unix_millis(), last.id);
    let next = sessions.last().filter(|_| more).map(place);
    Ok(Page { items: sessions.into_iter().map(told).collect(), next })
}

/// One of them.
pub(crate) async fn get(app: &App, caller: &Caller, id: SessionId) -> Answer<AgentSession> {
    caller.access.require(Scope::SessionsRead)?;
    Ok(told(app.runs.sessions.get(id).await?))
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
    Ok(match carry_out(app, caller, once, begin).await? {
        Made::Now(begun) => Made::Now(told(begun)),
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

/// What a conversation may be called.
pub(crate) fn checked_title(title: &str) -> Answer<String> {
    let title = title.trim();
    if title.chars().count() > MAX_TITLE_CHARS {
        let what = format!("title has at most {MAX_TITLE_CHARS} characters");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    Ok(palyra_common::text::strip_nul(title).into_owned())
}

/// A place in a list: a number, and what tells those of the same number apart.
pub(crate) fn cursor<T: std::str::FromStr>(text: &str) -> Answer<(i64, T)> {
    let parts = text.split_once('.');
    let parts = parts.and_then(|(first, rest)| Some((first.parse().ok()?, rest.parse().ok()?)));
    parts.ok_or_else(no_cursor)
}

async fn begun_before(app: &App, id: &str) -> Answer<AgentSession> {
    let gone = |_| Refusal::new(ErrorCode::CommonNotFound, "what was begun before is gone");
    Ok(told(app.runs.sessions.get(id.parse().map_err(gone)?).await?))
}

/// A conversation as it is shown.
pub(crate) fn told(session: gateway::Session) -> AgentSession {
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
