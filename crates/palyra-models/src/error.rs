//! What can go wrong. No message holds a key or what was said in a conversation.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::Duration;

use crate::models::ModelName;
use crate::secret::{SecretError, SecretRef};

mod said;

pub use said::Said;
pub(crate) use said::{code, message};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A call failed.
    #[error("the model {model} of {provider}: {problem}")]
    Call {
        /// Whom was asked.
        provider: String,
        /// For which model, as the provider calls it.
        model: String,
        /// What went wrong.
        problem: Problem,
    },
    /// Every model of a list was tried, and none could be used.
    #[error("none of the models could be used: {}", listed(failures))]
    AllOut {
        /// What went wrong with each, in the order of the list; never empty.
        failures: Vec<ModelError>,
    },
    /// There is no model of this name.
    #[error("there is no model {name}{}", meant(nearest.as_ref()))]
    NotConfigured {
        /// The name.
        name: ModelName,
        /// The one that was meant, perhaps.
        nearest: Option<ModelName>,
    },
    /// The list of models is empty.
    #[error("no model is named; name at least one, such as offline")]
    NoneNamed,
    /// The configuration cannot work.
    #[error("{what}")]
    Misconfigured {
        /// What is wrong.
        what: String,
    },
}

/// What went wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Too many calls for the provider.
    #[error("it asks to wait{}{said}", told(*retry_after))]
    RateLimited {
        /// For how long, if it says so.
        retry_after: Option<Duration>,
        /// What it says.
        said: Said,
    },
    /// The provider fails, or has too much to do.
    #[error("it has a failure of its own or too much to do{}{said}", told(*retry_after))]
    Overloaded {
        /// How long to wait, if it says so.
        retry_after: Option<Duration>,
        /// What it says.
        said: Said,
    },
    /// There was no connection, so nothing was sent.
    #[error("it could not be reached, so nothing was sent: {what}")]
    Unreachable {
        /// What the network says.
        what: String,
    },
    /// The connection ended before the answer did.
    #[error("the answer broke off")]
    CutOff,
    /// The answer makes no sense.
    #[error("the answer cannot be understood: {what}")]
    Malformed {
        /// What about it.
        what: &'static str,
    },
    /// It took too long, or nothing came for too long.
    #[error("it did not answer in time")]
    TimedOut,
    /// It failed several times and is left alone.
    #[error("it is left alone{}: {why}", told(Some(*retry_after)))]
    Paused {
        /// For how long.
        retry_after: Duration,
        /// What went wrong last.
        why: String,
    },
    /// The key is not accepted.
    #[error("it does not accept the key{said}")]
    Unauthorized {
        /// What it says.
        said: Said,
    },
    /// The key cannot be had.
    #[error("its key {name} cannot be had: {source}")]
    NoKey {
        /// Which one.
        name: SecretRef,
        /// Why.
        source: SecretError,
    },
    /// The request is refused.
    #[error("it refuses the request (status {status}){said}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// What it says.
        said: Said,
    },
    /// The conversation does not fit into the model.
    #[error("the conversation is too long for it{said}")]
    ContextTooLong {
        /// What it says.
        said: Said,
    },
    /// The provider has no such model.
    #[error("there is no such model, or nothing at this address{said}")]
    UnknownModel {
        /// What it says.
        said: Said,
    },
    /// The answer has more than is accepted.
    #[error("the answer has more than {limit} {what}, so it was broken off")]
    TooLarge {
        /// More of what.
        what: &'static str,
        /// How much is accepted.
        limit: usize,
    },
}

impl Problem {
    /// Whether to try again, and how.
    pub fn retry_class(&self) -> RetryClass {
        match self {
            Self::RateLimited { .. } => RetryClass::RateLimit,
            Self::Overloaded { .. }
            | Self::Unreachable { .. }
            | Self::CutOff
            | Self::Malformed { .. }
            | Self::TimedOut
            | Self::Paused { .. } => RetryClass::TransientNetwork,
            Self::NoKey { source, .. } => source.class,
            Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::ContextTooLong { .. }
            | Self::UnknownModel { .. }
            | Self::TooLarge { .. } => RetryClass::Permanent,
        }
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::RateLimited { .. } => ErrorCode::ModelsRateLimited,
            Self::Overloaded { .. } => ErrorCode::ModelsOverloaded,
            Self::Unreachable { .. } => ErrorCode::ModelsUnreachable,
            Self::CutOff => ErrorCode::ModelsCutOff,
            Self::Malformed { .. } => ErrorCode::ModelsMalformedAnswer,
            Self::TimedOut => ErrorCode::ModelsTimedOut,
            Self::Paused { .. } => ErrorCode::ModelsPaused,
            Self::Unauthorized { .. } => ErrorCode::ModelsUnauthorized,
            Self::NoKey { .. } => ErrorCode::ModelsNoKey,
            Self::Refused { .. } => ErrorCode::ModelsRefused,
            Self::ContextTooLong { .. } => ErrorCode::ModelsContextTooLong,
            Self::UnknownModel { .. } => ErrorCode::ModelsUnknownModel,
            Self::TooLarge { .. } => ErrorCode::ModelsAnswerTooLarge,
        }
    }

    /// How long the provider wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => {
                *retry_after
            }
            Self::Paused { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }

    /// Whether the provider may have worked for us, and may charge it.
    pub fn may_have_cost(&self) -> bool {
        matches!(
            self,
            Self::CutOff | Self::Malformed { .. } | Self::TimedOut | Self::TooLarge { .. }
        )
    }
}

impl ModelError {
    /// Whether to try again, and how.
    pub fn retry_class(&self) -> RetryClass {
        match self {
            Self::Call { problem, .. } => problem.retry_class(),
            Self::AllOut { .. } if self.retry_after().is_some() => RetryClass::RateLimit,
            // One that may be back is reason enough to try again.
            Self::AllOut { failures } => {
                let classes = failures.iter().map(Self::retry_class);
                let mut passing = classes.filter(|class| *class != RetryClass::Permanent);
                passing.next_back().unwrap_or(RetryClass::Permanent)
            }
            Self::NotConfigured { .. } | Self::NoneNamed | Self::Misconfigured { .. } => {
                RetryClass::Permanent
            }
        }
    }

    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Call { problem, .. } => problem.code(),
            Self::AllOut { .. } => ErrorCode::ModelsAllUnavailable,
            Self::NotConfigured { .. } | Self::NoneNamed => ErrorCode::ModelsNotConfigured,
            Self::Misconfigured { .. } => ErrorCode::ConfigInvalid,
        }
    }

    /// When it makes sense to try again; nothing where somebody may answer at any time.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Call { problem, .. } => problem.retry_after(),
            // The first of them to be back is enough.
            Self::AllOut { failures } => {
                let is_passing = |of: &&Self| of.retry_class() != RetryClass::Permanent;
                let passing = failures.iter().filter(is_passing);
                let each: Option<Vec<_>> = passing.map(Self::retry_after).collect();
                each?.into_iter().min()
            }
            Self::NotConfigured { .. } | Self::NoneNamed | Self::Misconfigured { .. } => None,
        }
    }

    /// Whether a provider may charge what was worked for nothing.
    pub fn may_have_cost(&self) -> bool {
        match self {
            Self::Call { problem, .. } => problem.may_have_cost(),
            Self::AllOut { failures } => failures.iter().any(Self::may_have_cost),
            Self::NotConfigured { .. } | Self::NoneNamed | Self::Misconfigured { .. } => false,
        }
    }

    /// What went wrong, where one call did.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Call { problem, .. } => Some(problem),
            Self::AllOut { .. }
            | Self::NotConfigured { .. }
            | Self::NoneNamed
            | Self::Misconfigured { .. } => None,
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), self.to_string())
    }
}

fn told(retry_after: Option<Duration>) -> String {
    // Nobody waits by the millisecond.
    let seconds = |wait: Duration| Duration::from_secs(wait.as_millis().div_ceil(1_000));
    retry_after.map(|wait| format!(" for {}", seconds(wait))).unwrap_or_default()
}

fn meant(nearest: Option<&ModelName>) -> String {
    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

fn listed(failures: &[ModelError]) -> String {
    failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
