//! `/console/v1/handoff`: `GET`; `/console/v1/telemetry`: `POST`; `/admin/v1/telemetry`: `GET` lists,
//! `/summary`: `GET`.

use serde::{Deserialize, Serialize};

use super::ApprovalVerdict;
use crate::error::ErrorCode;
use crate::handoff::{CrossSurfaceHandoff, HandoffField, HandoffProblem};
use crate::ids::{EventId, RunId, SessionId};
use crate::runtime_contracts::{
    HandoffIntent, HandoffSection, TelemetrySurface, runtime_contract_enum,
};
use crate::serde_number::whole;
use crate::telemetry::{OnboardingStep, UxEventKind, UxFriction, UxOutcome};
use crate::time::Timestamp;

/// What was understood of a handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HandoffRead {
    /// Where it leads.
    pub handoff: CrossSurfaceHandoff,
    /// What of it was dropped, in the order of the fields.
    pub notices: Vec<DroppedField>,
    /// The address to open: whoever is not logged in there is shown how to.
    pub url: String,
}

/// A field of a handoff that was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DroppedField {
    /// Which.
    pub field: HandoffField,
    /// What was wrong with it.
    pub problem: HandoffProblem,
    /// The same, in words.
    pub message: String,
}

/// Something that a person did on a surface, in words of the vocabulary, ids and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewConsoleEvent {
    /// Names this event: sent again, it is recorded once. For a question that was decided, the id of
    /// the question does well, whichever surfaces tell of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// What happened.
    pub kind: UxEventKind,
    /// What the person sat in front of.
    pub surface: TelemetrySurface,
    /// On which page.
    pub section: HandoffSection,
    /// What came of it.
    pub outcome: UxOutcome,
    /// How long it took, in milliseconds. Not of a question that was decided.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 86_400_000))]
    pub latency_ms: Option<u32>,
    /// In which conversation; of `ux.session.resumed` always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// About which run; of `ux.run.inspected` always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// From where the person came: of `ux.handoff.opened`, and always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<TelemetrySurface>,
    /// What they wanted: of `ux.handoff.opened`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<HandoffIntent>,
    /// Which step: of `ux.onboarding.step`, and always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<OnboardingStep>,
    /// What was decided: of `ux.approval.resolved`, and always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ApprovalVerdict>,
    /// How long the question waited, in seconds: of `ux.approval.resolved`, and always.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 31_536_000))]
    pub waited_seconds: Option<u32>,
    /// Which error, by its code: of `ux.error.shown`, and always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub code: Option<ErrorCode>,
    /// What was in the way: of `ux.friction`, and always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friction: Option<UxFriction>,
}

impl NewConsoleEvent {
    /// An event with what all of them have.
    pub const fn new(
        kind: UxEventKind,
        surface: TelemetrySurface,
        section: HandoffSection,
        outcome: UxOutcome,
    ) -> Self {
        Self {
            event_id: None,
            kind,
            surface,
            section,
            outcome,
            latency_ms: None,
            session_id: None,
            run_id: None,
            source: None,
            intent: None,
            step: None,
            verdict: None,
            waited_seconds: None,
            code: None,
            friction: None,
        }
    }
}

/// What became of an event that was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConsoleEventTold {
    /// Whether it is kept.
    pub state: ConsoleEventState,
    /// Its id, where it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
}

runtime_contract_enum! {
    /// What became of an event that a surface told.
    pub enum ConsoleEventState {
        /// It is kept.
        Recorded = "recorded",
        /// One of that id was there, and is kept as it was.
        Known = "known",
        /// Nothing is kept: `telemetry.enabled` is off, and there is no need to tell more.
        Off = "off",
    }
}

/// What people did on surfaces, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TelemetrySummary {
    /// Whether events are recorded now.
    pub enabled: bool,
    /// From when on it is counted; absent: from the oldest that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// How often what happened and what came of it, in the order of the words. What did not happen is
    /// not there.
    pub counts: Vec<TelemetryCount>,
    /// What questions ask of people.
    pub approvals: ApprovalFatigue,
}

/// How often something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TelemetryCount {
    /// What.
    pub kind: UxEventKind,
    /// And what came of it.
    pub outcome: UxOutcome,
    /// How often.
    pub count: u64,
}

/// How many questions people decide, and how long these wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalFatigue {
    /// How many were decided.
    pub decided: u64,
    /// How long half of them waited at most, in seconds; absent where none was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_waited_seconds: Option<u64>,
}
