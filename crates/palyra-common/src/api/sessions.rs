//! `/admin/v1/sessions`: `GET` lists, `POST` begins one; `/{id}`: `GET` shows, `PUT` names,
//! `DELETE` puts it away; `/{id}/messages`: `GET` what was said, `POST` says something;
//! `/{id}/surfaces`: `GET` what is shown.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, ConnectorId, ConversationId, RunId, SessionId, SurfaceId};
use crate::runtime_contracts::{RunLifecyclePhase, Trust};
use crate::time::Timestamp;

/// A conversation with an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentSession {
    /// Its id.
    pub id: SessionId,
    /// Grows with each change that somebody makes or can see.
    pub version: i64,
    /// What it is called; empty until somebody names it.
    pub title: String,
    /// Who answers.
    pub agent: AgentId,
    /// Where people talk: `cli`, `web`, `channel`.
    pub surface: String,
    /// The channel that answers go to, if they go to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ConnectorId>,
    /// The conversation there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The run that is under way or next, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The conversation whose history comes before its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// When it was put away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something was last said.
    pub changed_at: Timestamp,
}

/// A conversation to be begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    /// Who answers; without it, the default agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What it is called.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub title: String,
    /// Where people talk: `cli`, `web`. Without it, `api`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<SessionSurface>,
}

/// Where somebody talks who comes through the API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionSurface {
    /// A program.
    #[default]
    Api,
    /// The command line.
    Cli,
    /// The web console.
    Web,
}

impl SessionSurface {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Cli => "cli",
            Self::Web => "web",
        }
    }
}

/// What a conversation is to be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionChange {
    /// The name.
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub title: String,
}

/// Something to be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewInput {
    /// What.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 262_144))]
    pub text: String,
}

/// What was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Submitted {
    /// The run that answers it.
    pub run: RunId,
    /// The conversation.
    pub session: SessionId,
}

/// One thing that was said in a conversation, the newest first in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionMessage {
    /// The run that it belongs to.
    pub run: RunId,
    /// Its place on the tape of that run.
    pub seq: i64,
    /// Whether somebody asked or the agent answered.
    pub role: MessageRole,
    /// Who: somebody, or the agent.
    pub sender: String,
    /// How far it is trusted.
    pub trust: Trust,
    /// What.
    pub text: String,
    /// Where the run is.
    pub phase: RunLifecyclePhase,
    /// When.
    pub at: Timestamp,
}

/// A surface of A2UI as it is now, for whoever comes later than the messages that made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShownSurface {
    /// Its id within the conversation.
    pub surface: SurfaceId,
    /// Grows with each change.
    pub version: i64,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// What it shows, for those who see texts only.
    pub text: String,
    /// The messages of A2UI that make it as it is.
    pub messages: Vec<serde_json::Value>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// Somebody who asks.
    User,
    /// The agent.
    Agent,
}
