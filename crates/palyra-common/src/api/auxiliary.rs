//! `/admin/v1/auxiliary-tasks`: `GET` lists (`run`, `session`, `state`).

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, AuxiliaryTaskId, RunId, SessionId};
use crate::runtime_contracts::{
    AuxiliaryPurpose, AuxiliaryReason, AuxiliaryTaskKind, AuxiliaryTaskState,
};
use crate::time::Timestamp;

/// A side call to a model, without what was said in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuxiliaryTask {
    /// Its id.
    pub id: AuxiliaryTaskId,
    /// What it does.
    pub kind: AuxiliaryTaskKind,
    /// What for.
    pub purpose: AuxiliaryPurpose,
    /// Where it is in its life.
    pub state: AuxiliaryTaskState,
    /// Whose models and budgets it uses.
    pub agent: AgentId,
    /// The conversation that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The model that was asked last, as its provider calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How often a model was asked.
    pub attempts: u32,
    /// What it took, in tokens.
    pub tokens: u64,
    /// What that cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// Whether a plain substitute took the place of its output.
    pub degraded: bool,
    /// Why no model has met its contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<AuxiliaryReason>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The SHA-256 of what went into it, in hexadecimal.
    pub input_sha256: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When a model was first asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}
