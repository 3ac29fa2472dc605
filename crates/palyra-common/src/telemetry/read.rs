use std::fmt;

use thiserror::Error;

use super::{ConsoleEvent, MAX_LATENCY_MS, MAX_WAITED_SECONDS, UxEvent, UxEventKind};
use crate::api::NewConsoleEvent;

/// A field that only some kinds of event have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleEventField {
    /// How long it took.
    LatencyMs,
    /// In which conversation.
    SessionId,
    /// About which run.
    RunId,
    /// From where a person came.
    Source,
    /// What they wanted.
    Intent,
    /// Which step.
    Step,
    /// What was decided.
    Verdict,
    /// How long a question waited.
    WaitedSeconds,
    /// Which error.
    Code,
    /// What was in the way.
    Friction,
}

impl ConsoleEventField {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LatencyMs => "latency_ms",
            Self::SessionId => "session_id",
            Self::RunId => "run_id",
            Self::Source => "source",
            Self::Intent => "intent",
            Self::Step => "step",
            Self::Verdict => "verdict",
            Self::WaitedSeconds => "waited_seconds",
            Self::Code => "code",
            Self::Friction => "friction",
        }
    }
}

impl fmt::Display for ConsoleEventField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why an event makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConsoleEventError {
    /// Something belongs to it that is not there.
    #[error("{field} is missing, which belongs to {kind}")]
    Missing {
        /// What.
        field: ConsoleEventField,
        /// Of which event.
        kind: UxEventKind,
    },
    /// Something is there that does not belong to it.
    #[error("{field} does not belong to {kind}: leave it out")]
    Foreign {
        /// What.
        field: ConsoleEventField,
        /// Of which event.
        kind: UxEventKind,
    },
    /// A number is larger than it can be.
    #[error("{field} is at most {most}")]
    TooLarge {
        /// Which.
        field: ConsoleEventField,
        /// The largest.
        most: u32,
    },
}

use ConsoleEventField as Field;

impl TryFrom<&NewConsoleEvent> for ConsoleEvent {
    type Error = ConsoleEventError;

    fn try_from(new: &NewConsoleEvent) -> Result<Self, ConsoleEventError> {
        let kind = new.kind;
        let foreign = given(new).into_iter().flatten().find(|field| !belongs(kind, *field));
        if let Some(field) = foreign {
            return Err(ConsoleEventError::Foreign { field, kind });
        }
        let what = detail(new)?;
        let took = at_most(Field::LatencyMs, new.latency_ms.unwrap_or_default(), MAX_LATENCY_MS)?;
        let latency_ms = if let UxEvent::ApprovalResolved { waited_seconds, .. } = what {
            u64::from(waited_seconds) * 1_000
        } else {
            took.into()
        };
        Ok(Self {
            what,
            surface: new.surface,
            section: new.section,
            outcome: new.outcome,
            latency_ms,
            session_id: new.session_id,
            run_id: new.run_id,
        })
    }
}

/// What an event has besides what all have.
fn given(new: &NewConsoleEvent) -> [Option<Field>; 8] {
    [
        new.latency_ms.map(|_| Field::LatencyMs),
        new.source.map(|_| Field::Source),
        new.intent.map(|_| Field::Intent),
        new.step.map(|_| Field::Step),
        new.verdict.map(|_| Field::Verdict),
        new.waited_seconds.map(|_| Field::WaitedSeconds),
        new.code.map(|_| Field::Code),
        new.friction.map(|_| Field::Friction),
    ]
}

/// Whether events of a kind can have a field. What they are about, they may all name.
const fn belongs(kind: UxEventKind, field: Field) -> bool {
    match field {
        Field::SessionId | Field::RunId => true,
        // Of a question it is told how long it waited.
        Field::LatencyMs => !matches!(kind, UxEventKind::ApprovalResolved),
        Field::Source | Field::Intent => matches!(kind, UxEventKind::HandoffOpened),
        Field::Step => matches!(kind, UxEventKind::OnboardingStep),
        Field::Verdict | Field::WaitedSeconds => matches!(kind, UxEventKind::ApprovalResolved),
        Field::Code => matches!(kind, UxEventKind::ErrorShown),
        Field::Friction => matches!(kind, UxEventKind::Friction),
    }
}

fn detail(new: &NewConsoleEvent) -> Result<UxEvent, ConsoleEventError> {
    let kind = new.kind;
    let missing = |field| ConsoleEventError::Missing { field, kind };
    Ok(match kind {
        UxEventKind::SurfaceOpened => UxEvent::SurfaceOpened,
        UxEventKind::HandoffOpened => UxEvent::HandoffOpened {
            source: new.source.ok_or_else(|| missing(Field::Source))?,
            intent: new.intent,
        },
        UxEventKind::OnboardingStep => {
            UxEvent::OnboardingStep { step: new.step.ok_or_else(|| missing(Field::Step))? }
        }
        UxEventKind::ChatPromptSubmitted => UxEvent::PromptSubmitted,
        UxEventKind::ApprovalResolved => {
            let waited = new.waited_seconds.ok_or_else(|| missing(Field::WaitedSeconds))?;
            UxEvent::ApprovalResolved {
                verdict: new.verdict.ok_or_else(|| missing(Field::Verdict))?,
                waited_seconds: at_most(Field::WaitedSeconds, waited, MAX_WAITED_SECONDS)?,
            }
        }
        UxEventKind::RunInspected => {
            new.run_id.ok_or_else(|| missing(Field::RunId))?;
            UxEvent::RunInspected
        }
        UxEventKind::SessionResumed => {
            new.session_id.ok_or_else(|| missing(Field::SessionId))?;
            UxEvent::SessionResumed
        }
        UxEventKind::ErrorShown => {
            UxEvent::ErrorShown { code: new.code.ok_or_else(|| missing(Field::Code))? }
        }
        UxEventKind::Friction => {
            UxEvent::Friction { what: new.friction.ok_or_else(|| missing(Field::Friction))? }
        }
    })
}

fn at_most(field: Field, value: u32, most: u32) -> Result<u32, ConsoleEventError> {
    if value <= most { Ok(value) } else { Err(ConsoleEventError::TooLarge { field, most }) }
}
