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
            attempt_timeout: Duration::from_secs(5),
        }
    }
}

impl QueueSettings {
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
