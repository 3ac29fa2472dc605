//! What an operator chooses for the queue of a connector.

use palyra_common::runtime_contracts::UnknownRule;
use palyra_common::time::Duration;
use palyra_policy::backoff::Backoff;
use palyra_policy::outbox::{Repeat, Rules};
use serde::{Deserialize, Serialize};

/// How the queue of a connector works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueSettings {
    /// How many real tries a message has.
    pub max_attempts: u32,
    /// How long to wait between them.
    pub backoff: Backoff,
    /// After this long in the queue a message is too old to be sent.
    pub expires_after: Duration,
    /// How often the platform is asked what became of an attempt.
    pub max_looks: u32,
    /// How long to wait before each such question.
    pub look_after: Duration,
    /// What to do with a message of which nothing could be learnt.
    pub on_unknown: UnknownRule,
    /// How many conversations are served at once.
    pub lanes: u32,
    /// How many messages may wait in one conversation; more are refused.
    pub max_waiting: u32,
    /// How long one attempt may take.
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
            _ if self.attempt_timeout < Duration::from_millis(10)
                || self.attempt_timeout > Duration::from_mins(5) =>
            {
                refuse("attempt_timeout is from 10 milliseconds to 5 minutes")
            }
            _ if self.look_after > day || self.backoff.base > day || self.backoff.cap > day => {
                refuse("look_after and backoff are at most a day")
            }
            _ => Ok(()),
        }
    }

    /// The rules for entries that the platform treats like this.
    pub fn rules(&self, repeat: Repeat) -> Rules {
        Rules {
            max_attempts: self.max_attempts,
            backoff: self.backoff,
            expires_after: self.expires_after,
            repeat,
            max_looks: self.max_looks,
            look_after: self.look_after,
            on_unknown: self.on_unknown,
        }
    }
}
