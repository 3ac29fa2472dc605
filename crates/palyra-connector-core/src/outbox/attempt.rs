//! Attempts: what is due, what begins, what came of it.

use std::sync::Arc;

use palyra_common::ids::{ConnectorId, NativeMessageId};
use palyra_common::runtime_contracts::{OutboxState, RetryClass};
use palyra_common::time::{Duration, Timestamp};
use palyra_policy::outbox::{
    Entry, Event, Next, Outcome, Repeat, Rules, Step, Why, asked_to_wait, next, step,
};
use palyra_storage::lease::Lease;
use palyra_storage::{StorageError, Tx, crash_point};

use super::Outbox;
use super::change::{Changing, Note};
use crate::store::connectors::{self, Connector, Queue};
use crate::store::outbox::Stored;
use crate::store::{outbox, outbox_lanes};
use crate::{ChannelError, Outgoing, Reason};

/// What is to be done with the first entry of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Ask the platform for a permit, then begin.
    Send(Stored),
    /// Ask the platform what became of it.
    Look(Stored),
}

/// What whoever makes the attempts wants to write down of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// The platform takes it: the attempt begins.
    Begin(Stored),
    /// The platform asks to wait.
    Wait(Stored, Timestamp),
    /// The adapter did not say whether it may be made: it is asked again then.
    Ask(Stored, Timestamp),
}

impl Attempt {
    fn stored(&self) -> &Stored {
        match self {
            Self::Begin(stored) | Self::Wait(stored, _) | Self::Ask(stored, _) => stored,
        }
    }
}

/// An attempt that is written down and may be made now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// What to do.
    pub stored: Stored,
    /// Under which token.
    pub token: i64,
}

/// What came of an attempt, in the words of the adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// It is there.
    Delivered {
        /// The name that the platform gave it.
        native: Option<NativeMessageId>,
    },
    /// It is not there, and may be there later.
    Retry {
        /// Why not.
        class: RetryClass,
        /// How long the platform asked to wait.
        after: Option<Duration>,
        /// The same in words.
        reason: Reason,
    },
    /// It is not there and will not be.
    Rejected {
        /// Why.
        reason: Reason,
    },
    /// The platform does not know us any more.
    AuthFailed {
        /// Why.
        reason: Reason,
    },
    /// It may be there.
    Unknown {
        /// Why that is not known.
        reason: Reason,
    },
}

impl Report {
    /// The same without what is not to be kept.
    pub(crate) fn cleaned(self, outgoing: &dyn Outgoing) -> Self {
        match self {
            Self::Delivered { native } => Self::Delivered { native },
            Self::Retry { class, after, reason } => {
                Self::Retry { class, after, reason: reason.cleaned(outgoing) }
            }
            Self::Rejected { reason } => Self::Rejected { reason: reason.cleaned(outgoing) },
            Self::AuthFailed { reason } => Self::AuthFailed { reason: reason.cleaned(outgoing) },
            Self::Unknown { reason } => Self::Unknown { reason: reason.cleaned(outgoing) },
        }
    }

    pub(super) fn event(&self) -> Event {
        Event::Outcome(match self {
            Self::Delivered { .. } => Outcome::Delivered,
            Self::Retry { class, after, .. } => Outcome::Retry { class: *class, after: *after },
            Self::Rejected { .. } => Outcome::Rejected,
            Self::AuthFailed { .. } => Outcome::AuthFailed,
            Self::Unknown { .. } => Outcome::Unknown,
        })
    }

    pub(super) fn note(&self) -> Note {
        let told =
            |class, reason: &Reason| Note { native: None, class, error: Some(reason.to_string()) };
        match self {
            Self::Delivered { native } => Note { native: native.clone(), ..Note::default() },
            Self::Retry { class, after, reason } => {
                let asked = asked_to_wait(*after).is_some();
                let class = match class {
                    // Whatever went wrong: how soon to try again is not ours to choose.
                    RetryClass::TransientNetwork | RetryClass::ConnectorRestarting if asked => {
                        RetryClass::RateLimit
                    }
                    RetryClass::TransientNetwork
                    | RetryClass::ConnectorRestarting
                    | RetryClass::RateLimit
                    | RetryClass::Permanent => *class,
                };
                told(Some(class), reason)
            }
            Self::Rejected { reason } => told(Some(RetryClass::Permanent), reason),
            Self::AuthFailed { reason } | Self::Unknown { reason } => told(None, reason),
        }
    }
}

/// An attempt and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The attempt.
    pub begun: Begun,
    /// What came of it.
    pub report: Report,
}

impl Outbox {
    /// The first entries of the lanes of a connector that are due, longest waiting first. A hint:
    /// [`Outbox::begin`] looks again.
    pub async fn due(&self, connector: &ConnectorId, limit: u32) -> Result<Vec<Due>, StorageError> {
        let (connector, now) = (connector.clone(), self.clock.now());
        let heads = self.db.read(move |tx| {
            let queue = connectors::queue(tx, &connector)?.filter(|queue| queue.open);
            let Some(queue) = queue else { return Ok(Vec::new()) };
            let heads = outbox::due_heads(tx, &connector, now, limit)?;
            Ok(heads.into_iter().map(|head| (queue.moment(now), head)).collect())
        });
        let due = |(moment, head): (_, Stored)| match next(&head.entry, moment) {
            Next::Send => Some(Due::Send(head)),
            Next::Look => Some(Due::Look(head)),
            Next::WaitUntil(_) | Next::Wait => None,
        };
        Ok(heads.await?.into_iter().filter_map(due).collect())
    }

    /// Writes down that attempts begin, and which entries wait for the platform. Returns those that
    /// may be made now: only they were first in their lanes, due, and neither too old nor in doubt.
    /// None are, if the connector has been given other settings than those it was started with: its
    /// successor makes them. Refused if its lease is lost.
    pub async fn begin(
        &self,
        connector: &Arc<Connector>,
        lease: &Lease,
        repeat: Repeat,
        attempts: Vec<Attempt>,
    ) -> Result<Vec<Begun>, ChannelError> {
        let (lease, now, queues) = (lease.clone(), self.clock.now(), self.clone());
        let connector = connector.clone();
        let begin = move |tx: &mut Tx<'_>| -> Result<Vec<Begun>, ChannelError> {
            lease.fence(tx)?;
            let queue = known_queue(tx, &connector.id)?;
            if !queue.is_open_to(&connector.settings)? {
                return Ok(Vec::new());
            }
            let mut turns = Vec::with_capacity(attempts.len());
            for attempt in &attempts {
                let changing = queues.changing(&queue, attempt.stored(), repeat, now);
                match attempt {
                    Attempt::Begin(read) => turns.extend(turn(tx, &changing, read)?),
                    Attempt::Wait(read, until) => {
                        let why = (RetryClass::RateLimit, "the platform asks to wait");
                        wait(tx, &changing, read, *until, why)?;
                    }
                    Attempt::Ask(read, until) => {
                        let what = "the connector did not say whether it may be sent";
                        let why = (RetryClass::ConnectorRestarting, what);
                        wait(tx, &changing, read, *until, why)?;
                    }
                }
            }
            Ok(make(tx, turns, lease.token(), now)?)
        };
        crash_point!("outbox.before_attempt_commit");
        let begun = self.db.try_write(begin).await?;
        crash_point!("outbox.after_attempt_commit");
        Ok(begun)
    }
}

pub(super) fn known_queue(tx: &mut Tx<'_>, connector: &ConnectorId) -> Result<Queue, ChannelError> {
    connectors::queue(tx, connector)?.ok_or_else(|| ChannelError::NoConnector(connector.clone()))
}

impl Outbox {
    /// The circumstances of an attempt.
    pub(super) fn changing<'a>(
        &'a self,
        queue: &'a Queue,
        stored: &Stored,
        repeat: Repeat,
        now: Timestamp,
    ) -> Changing<'a> {
        let repeat = if stored.operation.is_idempotent() { Repeat::Always } else { repeat };
        self.deciding(queue, repeat, now)
    }

    /// Those of a decision.
    pub(super) fn deciding<'a>(
        &'a self,
        queue: &'a Queue,
        repeat: Repeat,
        now: Timestamp,
    ) -> Changing<'a> {
        let (rules, chance) = (Rules::of(&queue.settings, repeat), self.dice.roll());
        Changing { queue, rules, now, chance, deliveries: &*self.deliveries }
    }
}

/// An entry whose turn it is.
struct Turn<'a> {
    read: &'a Stored,
    seq: i64,
    began: Entry,
}

/// What becomes of an entry whose turn it should be: nothing, if it is too old or in doubt.
fn turn<'a>(
    tx: &mut Tx<'_>,
    changing: &Changing<'_>,
    read: &'a Stored,
) -> Result<Option<Turn<'a>>, StorageError> {
    let Some(seq) = read.lane_seq else { return Ok(None) };
    let moment = changing.queue.moment(changing.now);
    let decided = step(&read.entry, Event::Turn, &changing.rules, moment, changing.chance);
    let change = match decided {
        Step::Changed(change) => change,
        Step::Unchanged(Why::Ended | Why::NotNow | Why::NotDue) => return Ok(None),
    };
    if change.entry.state == OutboxState::Sending {
        return Ok(Some(Turn { read, seq, began: change.entry }));
    }
    if let Some(stored) = as_read(tx, read)? {
        changing.apply(tx, &stored, Event::Turn, &Note::default())?;
    }
    Ok(None)
}

/// An entry, to change on the strength of what was read: nothing, if somebody has changed it since.
fn as_read(tx: &mut Tx<'_>, read: &Stored) -> Result<Option<Stored>, StorageError> {
    let locked = outbox::lock(tx, &read.key)?;
    // Locking it is a change of its own.
    Ok(locked.filter(|stored| stored.version == read.version + 1))
}

/// Writes down that attempts begin, of those that are first in their lanes and as they were read.
fn make(
    tx: &mut Tx<'_>,
    turns: Vec<Turn<'_>>,
    token: i64,
    now: Timestamp,
) -> Result<Vec<Begun>, StorageError> {
    let Some(connector) = turns.first().map(|turn| &turn.read.key.connector) else {
        return Ok(Vec::new());
    };
    let heads: Vec<_> = turns.iter().map(|turn| (&turn.read.conversation, turn.seq)).collect();
    let taken = outbox_lanes::take(tx, connector, &heads, now)?;
    let (taken, mut late) = split(turns, taken);
    let entries: Vec<_> = taken.iter().map(|turn| (turn.read, turn.began)).collect();
    let begun = outbox::begin(tx, &entries, token, now)?;
    let (begun, changed) = split(taken, begun);
    late.extend(changed);
    // Somebody has changed these, or another entry is first by now.
    for turn in late {
        outbox_lanes::refresh(tx, connector, &turn.read.conversation, 0)?;
    }
    let begun = begun.into_iter().map(|Turn { read, began, .. }| {
        let stored = Stored { entry: began, attempt_token: Some(token), ..read.clone() };
        Begun { stored, token }
    });
    Ok(begun.collect())
}

fn wait(
    tx: &mut Tx<'_>,
    changing: &Changing<'_>,
    read: &Stored,
    until: Timestamp,
    (class, what): (RetryClass, &str),
) -> Result<(), StorageError> {
    let Some(stored) = as_read(tx, read)? else { return Ok(()) };
    let note = Note { class: Some(class), error: Some(what.to_owned()), native: None };
    changing.apply(tx, &stored, Event::NotAdmitted { until }, &note).map(drop)
}

/// Those of whom it is true, and the others.
pub(super) fn split<T>(all: Vec<T>, of: Vec<bool>) -> (Vec<T>, Vec<T>) {
    let (mut those, mut others) = (Vec::with_capacity(all.len()), Vec::new());
    for (one, is_true) in all.into_iter().zip(of) {
        if is_true { those.push(one) } else { others.push(one) }
    }
    (those, others)
}
