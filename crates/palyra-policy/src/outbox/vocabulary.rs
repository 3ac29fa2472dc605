use palyra_common::queue::{Backoff, QueueSettings};
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxState, RetryClass, UnknownRule};
use palyra_common::time::{Duration, Timestamp};
use serde::{Deserialize, Serialize};

/// Why an entry died.
pub type Death = DeadLetterReason;

/// What decides the fate of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Where it is in its life.
    pub state: OutboxState,
    /// Real tries so far.
    pub attempts: u32,
    /// How many there may be. Whoever asks for the entry to be sent again allows as many more.
    pub attempt_limit: u32,
    /// Whether some attempt may have reached the other side.
    pub doubtful: bool,
    /// When the first attempt began that may have reached the other side: from here on the
    /// platform remembers the key.
    pub first_attempt_at: Option<Timestamp>,
    /// How often the platform was asked what became of it.
    pub looks: u32,
    /// When something is to be done. Nothing: it waits for somebody.
    pub due_at: Option<Timestamp>,
    /// After this it is too old to be sent, on the clock of its connector: see [`connector_time`].
    pub expires_at: Option<Timestamp>,
}

impl Entry {
    /// One that waits for an approval.
    pub fn held(rules: &Rules) -> Self {
        Self {
            state: OutboxState::Held,
            attempts: 0,
            attempt_limit: rules.max_attempts,
            doubtful: false,
            first_attempt_at: None,
            looks: 0,
            due_at: None,
            expires_at: None,
        }
    }

    /// One that may go out at once.
    pub fn pending(rules: &Rules, moment: Moment) -> Self {
        Self {
            state: OutboxState::Pending,
            due_at: Some(moment.now),
            expires_at: Some(moment.connector + rules.expires_after),
            ..Self::held(rules)
        }
    }
}

/// What an operator has chosen for a connector, and what its platform allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// How many real tries an entry has.
    pub max_attempts: u32,
    /// How long to wait between them.
    pub backoff: Backoff,
    /// After this long in the queue an entry is too old to be sent.
    pub expires_after: Duration,
    /// Whether the same entry may be sent twice without being there twice.
    pub repeat: Repeat,
    /// How often the platform is asked what became of an attempt.
    pub max_looks: u32,
    /// How long to wait before each such question.
    pub look_after: Duration,
    /// What to do with an entry of which nothing could be learnt.
    pub on_unknown: UnknownRule,
}

impl Rules {
    /// What an operator has chosen, for entries that the platform treats like this.
    pub fn of(queue: &QueueSettings, repeat: Repeat) -> Self {
        Self {
            max_attempts: queue.max_attempts,
            backoff: queue.backoff,
            expires_after: queue.expires_after,
            repeat,
            max_looks: queue.max_looks,
            look_after: queue.look_after,
            on_unknown: queue.on_unknown,
        }
    }
}

/// Whether the same thing may be sent twice without being there twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// The second is a second message.
    Never,
    /// The platform throws a second one away that comes this soon after the first.
    Within(Duration),
    /// Doing it twice is doing it once, as with a deletion.
    Always,
}

/// The time, twice: on the clock, and on that of the connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Now.
    pub now: Timestamp,
    /// Now, without the time for which the connector could not send: see [`connector_time`].
    pub connector: Timestamp,
}

/// The clock that stands still while a connector is paused or locked out: what waits in its queue
/// does not grow old by that.
pub fn connector_time(
    now: Timestamp,
    stopped_since: Option<Timestamp>,
    stopped_before: Duration,
) -> Timestamp {
    stopped_since.map_or(now, |since| since.min(now)) - stopped_before
}

/// What happens to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A human agreed.
    Approved,
    /// Nobody wants it any more.
    Cancelled,
    /// It is first in its lane, due, and the platform would take it.
    Turn,
    /// The platform asks to wait before anything is sent.
    NotAdmitted {
        /// Until when.
        until: Timestamp,
    },
    /// What came of the attempt.
    Outcome(Outcome),
    /// Whoever made the attempt is gone without having said what came of it.
    Abandoned,
    /// What the platform said became of it.
    Reconciled(Reconciled),
    /// What a human said is to become of it.
    Resolved(Resolution),
    /// The part before it will not be delivered.
    EarlierPartFailed,
    /// A human wants a dead one sent after all.
    Replayed,
    /// A human does not.
    Discarded,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is there.
    Delivered,
    /// It is not there, and may be there later.
    Retry {
        /// Why not.
        class: RetryClass,
        /// How long the platform asked to wait.
        after: Option<Duration>,
    },
    /// It is not there and will not be.
    Rejected,
    /// The platform does not know us any more. Says nothing about the entry.
    AuthFailed,
    /// It may be there.
    Unknown,
}

/// What the platform said became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reconciled {
    /// It is there.
    Delivered,
    /// It is not, and will not come.
    NotDelivered,
    /// It could not be learnt.
    StillUnknown,
}

/// What a human decided about an entry of which nothing could be learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Send it again, at the risk of a second copy.
    Resend,
    /// It is there.
    MarkDelivered,
}

/// What an event leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Write this down.
    Changed(Change),
    /// Nothing.
    Unchanged(Why),
}

/// What to write down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The entry from now on.
    pub entry: Entry,
    /// Where it stands among the others of its conversation.
    pub place: Place,
    /// Why it died, if it did.
    pub death: Option<Death>,
}

/// Where an entry stands among the others of its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where it was: those behind it wait.
    Keeps,
    /// Behind all others.
    Tail,
    /// Out of the way, with its number kept.
    Aside,
    /// Not in the lane any more.
    Leaves,
}

/// Why an event changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It was delivered or cancelled.
    Ended,
    /// The event makes no sense in this state: another one was faster.
    NotNow,
    /// It is not due yet.
    NotDue,
}
