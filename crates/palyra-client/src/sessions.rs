//! Conversations with agents and the runs in them, call by call.

use palyra_common::api::{
    AgentSession, Compared, ExportedEvent, NewInput, NewSession, Page, Replayed, Run,
    SessionChange, SessionMessage, ShownSurface, Submitted,
};
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_common::tape::TapeEntry;
use reqwest::Method;

use crate::channels::page;
use crate::client::{ANSWER_TIMEOUT, Client};
use crate::error::ClientError;

/// Names a request, so that it is carried out once however often it is sent.
const ONCE: &str = "idempotency-key";

/// Which runs are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only those of this conversation.
    pub session: Option<SessionId>,
    /// Only those in this phase.
    pub phase: Option<RunLifecyclePhase>,
    /// The `next` of the page before.
    pub after: Option<String>,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunWish {
    /// End it.
    Abort,
    /// Let it wait.
    Pause,
    /// Let it go on.
    Resume,
}

impl Client {
    /// A page of conversations, the newest first; `after` is the `next` of the page before.
    pub async fn sessions(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<AgentSession>, ClientError> {
        let path = ["admin", "v1", "sessions"];
        self.json(self.request_with(Method::GET, &path, &page(after, limit))).await
    }

    /// One conversation.
    pub async fn session(&self, id: SessionId) -> Result<AgentSession, ClientError> {
        self.json(self.admin(Method::GET, &["sessions", &id.to_string()])).await
    }

    /// Begins a conversation.
    pub async fn begin_session(&self, new: &NewSession) -> Result<AgentSession, ClientError> {
        self.json(self.with_json(self.admin(Method::POST, &["sessions"]), new)?).await
    }

    /// Names a conversation.
    pub async fn rename_session(
        &self,
        id: SessionId,
        change: &SessionChange,
    ) -> Result<AgentSession, ClientError> {
        let request = self.admin(Method::PUT, &["sessions", &id.to_string()]);
        self.json(self.with_json(request, change)?).await
    }

    /// Puts a conversation away.
    pub async fn archive_session(&self, id: SessionId) -> Result<(), ClientError> {
        let request = self.admin(Method::DELETE, &["sessions", &id.to_string()]);
        self.accepted(request.timeout(ANSWER_TIMEOUT)).await.map(drop)
    }

    /// A page of what was said, the newest first; `after` is the `next` of the page before.
    pub async fn session_messages(
        &self,
        id: SessionId,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<SessionMessage>, ClientError> {
        let id = id.to_string();
        let path = ["admin", "v1", "sessions", &id, "messages"];
        self.json(self.request_with(Method::GET, &path, &page(after, limit))).await
    }

    /// What is shown in a conversation now.
    pub async fn surfaces(&self, id: SessionId) -> Result<Page<ShownSurface>, ClientError> {
        self.json(self.admin(Method::GET, &["sessions", &id.to_string(), "surfaces"])).await
    }

    /// Says something, which a run answers. Sent again with the same `key` it is said once.
    pub async fn say(
        &self,
        id: SessionId,
        input: &NewInput,
        key: &str,
    ) -> Result<Submitted, ClientError> {
        let request = self.admin(Method::POST, &["sessions", &id.to_string(), "messages"]);
        self.json(self.with_json(request.header(ONCE, key), input)?).await
    }

    /// A page of runs, the newest first.
    pub async fn runs(&self, query: &RunQuery, limit: u32) -> Result<Page<Run>, ClientError> {
        let mut pairs = page(query.after.clone(), limit);
        pairs.extend(query.session.map(|session| ("session", session.to_string())));
        pairs.extend(query.phase.map(|phase| ("phase", phase.as_str().to_owned())));
        let path = ["admin", "v1", "runs"];
        self.json(self.request_with(Method::GET, &path, &pairs)).await
    }

    /// One run.
    pub async fn run(&self, id: RunId) -> Result<Run, ClientError> {
        self.json(self.admin(Method::GET, &["runs", &id.to_string()])).await
    }

    /// A page of the tape of a run; `after` is the `next` of the page before.
    pub async fn tape(
        &self,
        id: RunId,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<TapeEntry>, ClientError> {
        let id = id.to_string();
        let path = ["admin", "v1", "runs", &id, "tape"];
        self.json(self.request_with(Method::GET, &path, &page(after, limit))).await
    }

    /// Whether what a run has decided would be decided today, too.
    pub async fn replay(&self, id: RunId) -> Result<Replayed, ClientError> {
        self.json(self.admin(Method::GET, &["runs", &id.to_string(), "replay"])).await
    }

    /// Where two runs part.
    pub async fn compare_runs(&self, id: RunId, other: RunId) -> Result<Compared, ClientError> {
        let (id, other) = (id.to_string(), other.to_string());
        self.json(self.admin(Method::GET, &["runs", &id, "diff", &other])).await
    }

    /// A page of the tape of a run without the values of secrets; `after` is the `next` of the page
    /// before.
    pub async fn export_tape(
        &self,
        id: RunId,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<ExportedEvent>, ClientError> {
        let id = id.to_string();
        let path = ["admin", "v1", "runs", &id, "export"];
        self.json(self.request_with(Method::GET, &path, &page(after, limit))).await
    }

    /// Stops a run, or lets it wait or go on.
    pub async fn wish(&self, id: RunId, wish: RunWish) -> Result<Run, ClientError> {
        let word = match wish {
            RunWish::Abort => "abort",
            RunWish::Pause => "pause",
            RunWish::Resume => "resume",
        };
        self.json(self.admin(Method::POST, &["runs", &id.to_string(), word])).await
    }
}
