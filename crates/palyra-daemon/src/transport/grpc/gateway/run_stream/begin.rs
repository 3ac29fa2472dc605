//! What a client says first.

use palyra_common::ErrorCode;
use palyra_common::api::{AgentSession, NewInput, NewSession};
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::Scope;
use palyra_gateway::check_text;
use palyra_storage::once::Made;
use tokio::sync::watch;
use tonic::{Status, Streaming};

use super::Batch;
use super::talk::Talk;
use crate::actions::sessions;
use crate::app::App;
use crate::readers::Reading;
use crate::transport::grpc::decode::{if_named, invalid, named};
use crate::transport::grpc::proto::gateway::run_stream_request::Request as First;
use crate::transport::grpc::proto::gateway::{AttachRun, RunStreamRequest, StartRun};
use crate::transport::grpc::refused::{completed, refusal};
use crate::transport::http::{Answer, Caller, OnceKey, Refusal};

/// A stream on which nothing was said yet.
pub(super) struct Opening {
    pub(super) app: App,
    pub(super) caller: Caller,
    pub(super) requests: Streaming<RunStreamRequest>,
    pub(super) stop: watch::Receiver<bool>,
}

impl Opening {
    /// Waits for what is said first, and does it. Whoever says nothing has no place here for long.
    pub(super) async fn begin(self) -> Result<(Talk, Batch), Status> {
        let patience = self.app.config().http.request_timeout;
        let begun = tokio::time::timeout(patience.into(), self.begin_at_once()).await;
        begun.unwrap_or_else(|_| {
            let what = format!("nothing was begun within {patience}; see http.request_timeout");
            Err(refusal(&Refusal::new(ErrorCode::HttpSlow, what)))
        })
    }

    async fn begin_at_once(mut self) -> Result<(Talk, Batch), Status> {
        let first = self.requests.message().await.map_err(completed)?;
        let Self { app, caller, requests, stop } = self;
        let begun = begin(&app, &caller, first.and_then(|first| first.request)).await;
        let (reading, (session, run, after)) = begun.map_err(|refused| refusal(&refused))?;
        Ok(Talk::new(app, caller, requests, stop, reading, session).follow_first(run, after))
    }
}

/// A place among those who read, and what is read. Whoever gets no place has said nothing.
async fn begin(
    app: &App,
    caller: &Caller,
    first: Option<First>,
) -> Answer<(Reading, (SessionId, RunId, i64))> {
    let reading = app.readers.enter(&caller.access, Scope::SessionsRead)?;
    caller.access.require(Scope::SessionsRead)?;
    let place = match first {
        Some(First::Start(first)) => start(app, caller, first).await?,
        Some(First::Attach(first)) => attach(app, first).await?,
        Some(First::Input(_) | First::Decide(_) | First::Abort(_)) | None => {
            return Err(invalid("a stream begins with start or attach".to_owned()));
        }
    };
    Ok((reading, place))
}

async fn start(app: &App, caller: &Caller, start: StartRun) -> Answer<(SessionId, RunId, i64)> {
    let key = OnceKey::named(start.idempotency_key.as_deref())?;
    let session = match if_named("session_id", &start.session_id)? {
        Some(session) if start.agent.is_empty() && start.title.is_empty() => session,
        Some(_) => {
            let what = "agent and title are for a conversation that is begun: leave them out";
            return Err(invalid(what.to_owned()));
        }
        None => {
            let agent = if_named("agent", &start.agent)?;
            // Before there is a conversation in which it cannot be said.
            check_text(&start.text)?;
            let new = NewSession { agent, title: start.title, surface: None };
            let begun = sessions::begin(app, caller, key.clone(), new).await?;
            let (Made::Now(AgentSession { id, .. }) | Made::Before(AgentSession { id, .. })) =
                begun;
            id
        }
    };
    let input = NewInput { text: start.text };
    let said = sessions::say(app, caller, key, session, input).await?;
    Ok((said.session, said.run, 0))
}

async fn attach(app: &App, attach: AttachRun) -> Answer<(SessionId, RunId, i64)> {
    let run = named("run_id", &attach.run_id)?;
    if attach.after_seq < 0 {
        return Err(invalid("after_seq is the number of an entry, or 0".to_owned()));
    }
    let run = app.runs.sessions.run(run).await?;
    Ok((run.session, run.id, attach.after_seq))
}
