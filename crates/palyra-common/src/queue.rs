//! What an operator chooses for the queue of a connector.

use serde::{Deserialize, Serialize};

use crate::runtime_contracts::UnknownRule;
use crate::serde_number::whole_number;
use crate::serde_object::object;
use crate::time::Duration;

#[cfg(test)]
mod tests;

/// What has stepped aside in a queue is counted up to so many.
pub const COUNTED: u64 = 10_000;

/// Longer than this nobody holds up a conversation to find out what became of one message.
const MAX_UNKNOWN_FOR: Duration = Duration::from_mins(2);

/// How the queue of a connector works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(deny_unknown_fields, default)]
pub struct QueueSettings {
    /// How many real tries a message has.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100))]
    pub max_attempts: u32,
    /// How long to wait between them.
    #[serde(deserialize_with = "object")]
    pub backoff: Backoff,
    /// After this long in the queue a message is too old to be sent: 30 days at most.
    pub expires_after: Duration,
    /// How often the platform is asked what became of an attempt; once at least. A conversation waits
    /// for the answers: all of them, with what comes before each, take 2 minutes at most.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub max_looks: u32,
    /// How long to wait before each such question.
    pub look_after: Duration,
    /// What to do with a message of which nothing could be learnt.
    pub on_unknown: UnknownRule,
    /// How many conversations are served at once.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub lanes: u32,
    /// How many messages may wait in one conversation; more are refused. A long text is several: where
    /// nothing waits, all of it is taken.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000))]
    pub max_waiting: u32,
    /// How long one attempt may take, and one such question: 10 milliseconds at least.
    pub attempt_timeout: Duration,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            max_attempts: 8,
            backoff: Backoff::default(),
            expires_after: Duration::from_hours(24),
            max_looks: 3,
            look_after: Duration::from_secs(5),
            on_unknown: UnknownRule::Ask,
            lanes: 64,
            max_waiting: 10_000,
            attempt_timeout: Duration::from_secs(5),
        }
    }
}

impl QueueSettings {
    /// Refuses settings with which nothing could ever go out, or without bound.
    pub fn check(&self) -> Result<(), String> {
        let refuse = |what: &str| Err(what.to_owned());
        let day = Duration::from_days(1);
        match self {
            Self { max_attempts: 0 | 101.., .. } => refuse("max_attempts is from 1 to 100"),
            Self { lanes: 0 | 1_025.., .. } => refuse("lanes is from 1 to 1024"),
            Self { max_waiting: 0 | 1_000_001.., .. } => refuse("max_waiting is from 1 to 1000000"),
            Self { max_looks: 101.., .. } => refuse("max_looks is at most 100"),
            _ if self.expires_after == Duration::ZERO
                || self.expires_after > Duration::from_days(30) =>
            {
                refuse("expires_after is more than nothing and at most 30 days")
            }
            _ if self.attempt_timeout < Duration::from_millis(10) => {
                refuse("attempt_timeout is 10 milliseconds at least")
            }
            _ if self.backoff.base > day || self.backoff.cap > day => {
                refuse("backoff is at most a day")
            }
            _ if self.unknown_for() > MAX_UNKNOWN_FOR => Err(format!(
                "max_looks times look_after and attempt_timeout is {MAX_UNKNOWN_FOR} at most, because \
                 a conversation waits for that long, and not {}",
                self.unknown_for()
            )),
            _ => Ok(()),
        }
    }

    /// For how long a conversation waits at most for a message of which nothing can be learnt.
    fn unknown_for(&self) -> Duration {
        let look = self.look_after.as_millis().saturating_add(self.attempt_timeout.as_millis());
        Duration::from_millis(look.saturating_mul(u64::from(self.max_looks.max(1))))
    }
}

/// How long to wait before the next try: up to a bound that doubles with each failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// The bound after the first failure: a day at most.
    pub base: Duration,
    /// The largest bound: a day at most.
    pub cap: Duration,
}

impl Default for Backoff {
    /// One second, doubled up to five minutes.
    fn default() -> Self {
        Self { base: Duration::from_secs(1), cap: Duration::from_mins(5) }
    }
}
