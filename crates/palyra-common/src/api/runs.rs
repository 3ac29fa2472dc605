//! `/admin/v1/runs`: `GET` lists (`session`, `phase`); `/{id}`: `GET`; `/{id}/tape`: `GET` a page of
//! its events (`after`, `limit`); `/{id}/events`: `GET`, the same as server-sent events, followed until
//! the run and its deliveries have ended (`after` or `Last-Event-ID`); `/{id}/abort`, `/{id}/pause`,
//! `/{id}/resume`: `POST`.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, RunId, SessionId};
use crate::runtime_contracts::{RunEnd, RunLifecyclePhase};
use crate::time::{Duration, Timestamp};

/// A piece of work of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The conversation that it is part of.
    pub session: SessionId,
    /// Who does it.
    pub agent: AgentId,
    /// Where it is in its life.
    pub phase: RunLifecyclePhase,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// What went wrong, in words. Told where one run is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do about it. Told where one run is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The number of the last event on its tape.
    pub last_seq: i64,
    /// From when it may go on, where it waits for a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// How long it has worked.
    pub active: Duration,
    /// Tokens that it used, with those of runs that work for it and what is set aside for these.
    pub tokens: u64,
    /// What that cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// The run that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When something last happened to it.
    pub changed_at: Timestamp,
}
