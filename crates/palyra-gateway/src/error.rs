//! What can go wrong with agents, sessions and runs.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::ids::{AgentId, ApprovalId, RunId, SessionId, SurfaceId};
use palyra_common::runtime_contracts::{ApprovalState, RunLifecyclePhase};
use palyra_connector_core::ChannelError;
use palyra_storage::blob::BlobError;
use palyra_storage::{StorageError, describe};
use serde_json::json;

/// A failed operation. Unless storage says otherwise, nothing was changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// There is no such agent.
    #[error("there is no agent {0}")]
    NoAgent(AgentId),
    /// There is one of that name.
    #[error("there is an agent {0} already: change that one, or choose another name")]
    AgentExists(AgentId),
    /// Somebody else has changed it.
    #[error("the {what} was changed meanwhile: it is at version {is}, not {expected}")]
    Changed {
        /// What: `agent`.
        what: &'static str,
        /// Its version.
        is: i64,
        /// The version that was expected.
        expected: i64,
    },
    /// There is no such session.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// The session was put away.
    #[error("the session {0} was put away: begin another one")]
    Archived(SessionId),
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// Nothing of that name is shown in the session.
    #[error("there is no surface {surface} in the session {session}: look at it again")]
    NoSurface {
        /// The session.
        session: SessionId,
        /// The surface.
        surface: SurfaceId,
    },
    /// The run is not in a phase in which that can be done to it.
    #[error("the run {run} is {phase}, so it cannot be {wanted}")]
    NotNow {
        /// The run.
        run: RunId,
        /// Where it is.
        phase: RunLifecyclePhase,
        /// What was wanted: `paused`.
        wanted: &'static str,
    },
    /// There is no such question.
    #[error("there is no approval {0}")]
    NoApproval(ApprovalId),
    /// Somebody else was faster, or it is too late.
    #[error("the approval {id} is {state}: it cannot be decided again")]
    Decided {
        /// The question.
        id: ApprovalId,
        /// Its answer.
        state: ApprovalState,
    },
    /// What is to be approved is not what was shown.
    #[error("the approval {0} is about something else than was shown: look at it again")]
    OtherPayload(ApprovalId),
    /// It was said before, and this was made of it.
    #[error("this was carried out before, as {0}")]
    Before(String),
    /// The key was used for something else.
    #[error("the idempotency key was used for another request: choose another one")]
    KeyTaken,
    /// It makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// What is kept outside of the database.
    #[error(transparent)]
    Blob(#[from] std::sync::Arc<BlobError>),
    /// The database.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl GatewayError {
    /// Refuses unless something is at the version that somebody expects, if they do.
    pub(crate) fn unless_changed(
        what: &'static str,
        is: i64,
        expected: Option<i64>,
    ) -> Result<(), Self> {
        match expected {
            Some(expected) if expected != is => Err(Self::Changed { what, is, expected }),
            Some(_) | None => Ok(()),
        }
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoAgent(_)
            | Self::NoSession(_)
            | Self::NoRun(_)
            | Self::NoSurface { .. }
            | Self::NoApproval(_) => ErrorCode::CommonNotFound,
            Self::AgentExists(_)
            | Self::Changed { .. }
            | Self::Archived(_)
            | Self::NotNow { .. }
            | Self::Decided { .. }
            | Self::OtherPayload(_)
            | Self::Before(_)
            | Self::KeyTaken => ErrorCode::CommonConflict,
            Self::Invalid(_) => ErrorCode::CommonInvalidInput,
            Self::Channel(error) => error.code(),
            Self::Blob(error) => error.code(),
            Self::Storage(error) => error.code(),
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        match self {
            Self::Storage(error) => error.envelope(),
            Self::Channel(error) => error.envelope(),
            Self::Blob(error) => error.envelope(),
            Self::Changed { is, .. } => StableErrorEnvelope::new(self.code(), describe(self))
                .with_details(json!({ "version": is })),
            _ => StableErrorEnvelope::new(self.code(), describe(self)),
        }
    }
}

impl From<BlobError> for GatewayError {
    fn from(error: BlobError) -> Self {
        Self::Blob(std::sync::Arc::new(error))
    }
}
