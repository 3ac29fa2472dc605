//! `/admin/v1/approvals`: `GET` lists (`state`); `/{id}`: `GET`; `/{id}/decision`: `POST`.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, ApprovalId, RunId, SessionId};
use crate::runtime_contracts::{ApprovalState, ApprovalSubject, RiskLevel};
use crate::time::Timestamp;

/// A question to a human, and its answer if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// Where it is in its life.
    pub state: ApprovalState,
    /// What it is about.
    pub subject: ApprovalSubject,
    /// What is to be done, in words.
    pub summary: String,
    /// How bad a mistake would be.
    pub risk: RiskLevel,
    /// What exactly is to be done: this, and nothing else, is executed.
    pub payload: String,
    /// Its SHA-256 together with what it is bound to, in hexadecimal.
    pub payload_sha256: String,
    /// The run that asks, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<ApprovalAsker>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it is too late.
    pub expires_at: Timestamp,
    /// Who decided, where somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// Why it was decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalAsker {
    /// The run.
    pub run: RunId,
    /// Its call.
    pub call: String,
    /// The conversation.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
}

/// The answer of a human. Who gives it is whoever sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalDecision {
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

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalVerdict {
    /// Do it.
    Approve,
    /// Do not.
    Deny,
}
