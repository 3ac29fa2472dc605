//! UX telemetry: what a person did on a surface, for the people who run this installation.
//!
//! A surface tells a [`NewConsoleEvent`](crate::api::NewConsoleEvent): words of our own vocabulary,
//! ids and numbers. It is read into a [`ConsoleEvent`] once, at the edge, and kept as a
//! [`SystemEventRecord`]. Nobody's text gets in: there is no field for one, and the summary of a record
//! is made here, of what was read. It stays in the database of this installation.

use serde::{Deserialize, Serialize};

use crate::api::ApprovalVerdict;
use crate::error::ErrorCode;
use crate::ids::{EventId, RunId, SessionId};
use crate::runtime_contracts::{HandoffIntent, HandoffSection, TelemetrySurface};
use crate::time::Timestamp;

mod read;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use read::{ConsoleEventError, ConsoleEventField};
pub use vocabulary::{OnboardingStep, UxEventKind, UxFriction, UxOutcome};

pub(crate) use vocabulary::CONTRACTS;

/// The longest summary, in characters.
pub const MAX_SUMMARY_CHARS: usize = 240;

/// The longest that something may have taken: a day, in milliseconds.
pub const MAX_LATENCY_MS: u32 = 86_400_000;

/// The longest that a question may have waited: a year, in seconds.
pub const MAX_WAITED_SECONDS: u32 = 31_536_000;

/// What a person did on a surface, as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleEvent {
    /// What.
    pub what: UxEvent,
    /// What they sat in front of.
    pub surface: TelemetrySurface,
    /// On which page.
    pub section: HandoffSection,
    /// What came of it.
    pub outcome: UxOutcome,
    /// How long it took, in milliseconds; of a question, how long it waited.
    pub latency_ms: u64,
    /// In which conversation.
    pub session_id: Option<SessionId>,
    /// About which run.
    pub run_id: Option<RunId>,
}

/// What a person did, with all that is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UxEvent {
    /// A page was opened.
    SurfaceOpened,
    /// A handoff was followed.
    HandoffOpened {
        /// From where.
        source: TelemetrySurface,
        /// To do what.
        intent: Option<HandoffIntent>,
    },
    /// A step of the way to a first reply was left behind.
    OnboardingStep {
        /// Which.
        step: OnboardingStep,
    },
    /// Something was said to an agent.
    PromptSubmitted,
    /// A question was decided.
    ApprovalResolved {
        /// How.
        verdict: ApprovalVerdict,
        /// After how many seconds.
        waited_seconds: u32,
    },
    /// A run was looked at.
    RunInspected,
    /// A conversation was taken up again.
    SessionResumed,
    /// An error was shown.
    ErrorShown {
        /// Which.
        code: ErrorCode,
    },
    /// The surface was in the way.
    Friction {
        /// How.
        what: UxFriction,
    },
}

impl UxEvent {
    /// The word for it.
    pub const fn kind(self) -> UxEventKind {
        match self {
            Self::SurfaceOpened => UxEventKind::SurfaceOpened,
            Self::HandoffOpened { .. } => UxEventKind::HandoffOpened,
            Self::OnboardingStep { .. } => UxEventKind::OnboardingStep,
            Self::PromptSubmitted => UxEventKind::ChatPromptSubmitted,
            Self::ApprovalResolved { .. } => UxEventKind::ApprovalResolved,
            Self::RunInspected => UxEventKind::RunInspected,
            Self::SessionResumed => UxEventKind::SessionResumed,
            Self::ErrorShown { .. } => UxEventKind::ErrorShown,
            Self::Friction { .. } => UxEventKind::Friction,
        }
    }
}

/// What a person did on a surface, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SystemEventRecord {
    /// Its id.
    pub event_id: EventId,
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub kind: UxEventKind,
    /// What the person sat in front of.
    pub surface: TelemetrySurface,
    /// On which page.
    pub section: HandoffSection,
    /// What came of it.
    pub outcome: UxOutcome,
    /// How long it took, in milliseconds; of a question, how long it waited.
    pub latency_ms: u64,
    /// In which conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// About which run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The rest, in words of ours.
    pub summary: String,
}

/// What is kept of `event`.
pub fn to_system_event_payload(
    event: &ConsoleEvent,
    event_id: EventId,
    at: Timestamp,
) -> SystemEventRecord {
    SystemEventRecord {
        event_id,
        at,
        kind: event.what.kind(),
        surface: event.surface,
        section: event.section,
        outcome: event.outcome,
        latency_ms: event.latency_ms,
        session_id: event.session_id,
        run_id: event.run_id,
        summary: summary(event),
    }
}

/// Made of words of the vocabulary and of numbers, whoever told the event.
fn summary(event: &ConsoleEvent) -> String {
    let section = event.section;
    match event.what {
        UxEvent::SurfaceOpened => format!("opened {section}"),
        UxEvent::HandoffOpened { source, intent: None } => format!("came from {source}"),
        UxEvent::HandoffOpened { source, intent: Some(intent) } => {
            format!("came from {source} to {intent}")
        }
        UxEvent::OnboardingStep { step } => format!("step {step}"),
        UxEvent::PromptSubmitted => "said something".to_owned(),
        UxEvent::ApprovalResolved { verdict, waited_seconds } => {
            let decided = match verdict {
                ApprovalVerdict::Approve => "approved",
                ApprovalVerdict::Deny => "denied",
            };
            format!("{decided} after {waited_seconds} s")
        }
        UxEvent::RunInspected => "looked at a run".to_owned(),
        UxEvent::SessionResumed => "went on with a conversation".to_owned(),
        UxEvent::ErrorShown { code } => format!("was shown {code}"),
        UxEvent::Friction { what } => format!("met {what}"),
    }
}
