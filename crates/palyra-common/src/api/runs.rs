//! `/admin/v1/runs`: `GET` lists (`session`, `phase`); `/{id}`: `GET`; `/{id}/tape`: `GET` a page of
//! its events (`after`, `limit`); `/{id}/events`: `GET`, the same as server-sent events, followed until
//! the run and its deliveries have ended (`after` or `Last-Event-ID`); `/{id}/abort`, `/{id}/pause`,
//! `/{id}/resume`: `POST`; `/{id}/replay`: `GET`; `/{id}/diff/{other}`: `GET`; `/{id}/export`: `GET` a page
//! of its events without the values of secrets (`after`, `limit`).

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, RunId, SessionId};
use crate::runtime_contracts::{RunEnd, RunLifecyclePhase};
use crate::tape::TapeEntry;
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

/// Whether what a run has decided is what would be decided today.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Replayed {
    /// The run.
    pub run: RunId,
    /// Whether all of it is the same.
    pub same: bool,
    /// How many events are.
    pub events: u64,
    /// How the run had ended by then, if it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// The first event that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

/// Where a tape and the decisions of today part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Difference {
    /// What was recorded.
    pub recorded: TapeEntry,
    /// What would be decided today, in words.
    pub today: String,
}

/// How two runs differ, whatever their ids and times are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Compared {
    /// Whether they are the same, step by step.
    pub same: bool,
    /// How many steps are.
    pub steps: u64,
    /// The first that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parting: Option<Parting>,
    /// What the first came to.
    pub left: RunTotals,
    /// What the other one came to.
    pub right: RunTotals,
}

/// Where two runs part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Parting {
    /// What happened in the first; nothing: it had no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<TapeEntry>,
    /// What happened in the other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<TapeEntry>,
}

/// What a run came to, by its own tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunTotals {
    /// The run.
    pub run: RunId,
    /// Who did it.
    pub agent: String,
    /// Turns of the model.
    pub turns: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Tokens that it used itself.
    pub tokens: u64,
    /// What that cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// Why it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
}

/// The first line of an exported tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeHead {
    /// The version of the form.
    pub palyra_tape: u32,
    /// The run.
    pub run: RunId,
}

impl TapeHead {
    /// The form that is written.
    pub const VERSION: u32 = 1;
}

/// An event of an exported tape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExportedEvent {
    /// The event.
    #[serde(flatten)]
    pub entry: TapeEntry,
    /// Whether a secret was taken out of its texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}
