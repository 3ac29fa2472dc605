//! What the commands take and give, where the HTTP API has no such value. `session.new` takes a
//! [`NewSession`](crate::api::NewSession).

use serde::{Deserialize, Serialize};

use crate::a2ui::UserAction;
use crate::api::{AgentSession, ApprovalVerdict, Page, SessionMessage, SessionSurface};
use crate::ids::{ApprovalId, RunId, SessionId};
use crate::runtime_contracts::ApprovalState;
use crate::time::Timestamp;

/// `session.list`: conversations that were not put away, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionsAfter {
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 200))]
    pub limit: Option<u32>,
}

/// `session.load`: a conversation, and what was said in it, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionLoad {
    /// Which conversation.
    pub session: SessionId,
    /// `next` of the messages before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many messages at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 200))]
    pub limit: Option<u32>,
}

/// What `session.load` gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionLoaded {
    /// The conversation.
    pub session: AgentSession,
    /// What was said in it, the newest first.
    pub messages: Page<SessionMessage>,
}

/// `session.fork`: begins a conversation with the history of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionFork {
    /// The other one.
    pub session: SessionId,
    /// Its last run that belongs to the history; without it, the last that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<RunId>,
    /// What the new one is called; without it, what the other one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub title: Option<String>,
    /// Where people talk in the new one. Without it, `api`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<SessionSurface>,
}

/// `session.rename`: names a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionRename {
    /// Which conversation.
    pub session: SessionId,
    /// The name.
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub title: String,
}

/// `session.archive` puts a conversation away; `session.reset` lets it go on without what was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionOf {
    /// Which conversation.
    pub session: SessionId,
}

/// `run.create`: says something in a conversation, which a run answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RunCreate {
    /// Which conversation.
    pub session: SessionId,
    /// What.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 262_144))]
    pub text: String,
}

/// `run.get` shows a run; `run.abort`, `run.pause` and `run.resume` stop it, let it wait and go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RunOf {
    /// Which run.
    pub run: RunId,
}

/// `surface.action`: something that somebody did on a surface, which a run answers. `expected_version` is that
/// of the surface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SurfaceAct {
    /// In which conversation.
    pub session: SessionId,
    /// What, in the form in which A2UI sends it.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub action: UserAction,
}

/// `approval.list`: what agents ask before they do it, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalsAfter {
    /// Only those in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ApprovalState>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ApprovalId>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 200))]
    pub limit: Option<u32>,
}

/// `approval.get`: one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalOf {
    /// Which question.
    pub approval: ApprovalId,
}

/// `approval.decide`: answers a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalDecide {
    /// Which question.
    pub approval: ApprovalId,
    /// Yes or no.
    pub verdict: ApprovalVerdict,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1_000))]
    pub reason: Option<String>,
    /// The digest of what was looked at: nothing else is decided on. Without it, whatever it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{64}$"))]
    pub payload_sha256: Option<String>,
}

/// What `approval.decide` gives: how a question stands, without what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalDecided {
    /// Which question.
    pub approval: ApprovalId,
    /// What it is now.
    pub state: ApprovalState,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}
