//! Attempts: what is due, what begins, what came of it.

use palyra_common::ids::{ConnectorId, NativeMessageId};
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::{Duration, Timestamp};
use palyra_policy::outbox::{Event, Next, Outcome, Reconciled, Repeat, Step, Why, next, step};
use palyra_storage::lease::Lease;
use palyra_storage::{StorageError, Tx, crash_point};

use super::Outbox;
use super::change::{Changing, Note};
use crate::ChannelError;
use crate::operation::EntryKey;
use crate::store::connectors::{self, Queue};
use crate::store::outbox::Stored;
use crate::store::{outbox, outbox_history, outbox_lanes};

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
        reason: String,
    },
    /// It is not there and will not be.
    Rejected {
        /// Why.
        reason: String,
    },
    /// The platform does not know us any more.
    AuthFailed {
        /// Why.
        reason: String,
    },
    /// It may be there.
    Unknown {
        /// Why that is not known.
        reason: String,
    },
}

impl Report {
    fn event(&self) -> Event {
        Event::Outcome(match self {
            Self::Delivered { .. } => Outcome::Delivered,
            Self::Retry { class, after, .. } => Outcome::Retry { class: *class, after: *after },
            Self::Rejected { .. } => Outcome::Rejected,
            Self::AuthFailed { .. } => Outcome::AuthFailed,
            Self::Unknown { .. } => Outcome::Unknown,
        })
    }

    fn note(&self) -> Note {
        let told =
            |class, reason: &String| Note { native: None, class, error: Some(reason.clone()) };
        match self {
            Self::Delivered { native } => Note { native: native.clone(), ..Note::default() },
            Self::Retry { class, reason, .. } => told(Some(*class), reason),
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
    /// Refused if the lease of the connector is lost.
    pub async fn begin(
        &self,
        lease: &Lease,
        repeat: Repeat,
        attempts: Vec<Attempt>,
    ) -> Result<Vec<Begun>, ChannelError> {
        let (lease, now, dice) = (lease.clone(), self.clock.now(), self.dice.clone());
        let begin = move |tx: &mut Tx<'_>| -> Result<Vec<Begun>, ChannelError> {
            lease.fence(tx)?;
            let mut begun = Vec::with_capacity(attempts.len());
            let mut queue = None;
            for attempt in &attempts {
                let (Attempt::Begin(read) | Attempt::Wait(read, _)) = attempt;
                let queue = match &queue {
                    Some(queue) => queue,
                    None => queue.insert(known_queue(tx, &read.key.connector)?),
                };
                if !queue.open {
                    return Ok(Vec::new());
                }
                let changing = changing(queue, read, repeat, now, dice.roll());
                let began = match attempt {
                    Attempt::Begin(_) => begin_one(tx, &changing, read, lease.token())?,
                    Attempt::Wait(_, until) => wait_one(tx, &changing, read, *until)?,
                };
                begun.extend(began);
            }
            Ok(begun)
        };
        let begun = self.db.try_write(begin).await?;
        crash_point!("outbox.after_attempt_commit");
        Ok(begun)
    }

    /// Writes down what came of attempts. One whose entry somebody else has by now is left alone.
    pub async fn settle(&self, repeat: Repeat, settled: Vec<Settled>) -> Result<(), ChannelError> {
        crash_point!("outbox.before_settle_commit");
        let (now, dice) = (self.clock.now(), self.dice.clone());
        let settle = move |tx: &mut Tx<'_>| -> Result<(), ChannelError> {
            let mut queue = None;
            for Settled { begun, report } in &settled {
                if let Report::Delivered { native } = report {
                    deliver(tx, begun, native.as_ref(), now)?;
                    continue;
                }
                let queue = match &queue {
                    Some(queue) => queue,
                    None => queue.insert(known_queue(tx, &begun.stored.key.connector)?),
                };
                let Some(stored) = outbox::lock(tx, &begun.stored.key)? else { continue };
                if stored.attempt_token != Some(begun.token) {
                    continue;
                }
                let changing = changing(queue, &stored, repeat, now, dice.roll());
                changing.apply(tx, &stored, report.event(), &report.note())?;
            }
            Ok(())
        };
        self.db.try_write(settle).await?;
        crash_point!("outbox.after_settle_commit");
        Ok(())
    }

    /// Takes over what an earlier holder of the lease has left under way, and says how much that
    /// was. Called once nothing of that can still be on its way out.
    pub async fn recover(
        &self,
        lease: &Lease,
        repeat: Repeat,
        connector: &ConnectorId,
    ) -> Result<u64, ChannelError> {
        /// In one transaction.
        const STEP: u32 = 256;
        let mut recovered = 0;
        loop {
            let (lease, connector) = (lease.clone(), connector.clone());
            let (now, dice) = (self.clock.now(), self.dice.clone());
            let recover = move |tx: &mut Tx<'_>| -> Result<u64, ChannelError> {
                lease.fence(tx)?;
                let queue = known_queue(tx, &connector)?;
                let left = outbox::left_behind(tx, &connector, lease.token(), STEP)?;
                let mut count = 0;
                for left in left {
                    let Some(stored) = outbox::lock(tx, &left.key)? else { continue };
                    let changing = changing(&queue, &stored, repeat, now, dice.roll());
                    let error = Some("the node that sent it stopped before it told".to_owned());
                    let note = Note { error, ..Note::default() };
                    changing.apply(tx, &stored, Event::Abandoned, &note)?;
                    count += 1;
                }
                Ok(count)
            };
            let count = self.db.try_write(recover).await?;
            recovered += count;
            if count < u64::from(STEP) {
                return Ok(recovered);
            }
        }
    }

    /// Writes down what the platform said became of an entry.
    pub async fn reconciled(
        &self,
        lease: &Lease,
        repeat: Repeat,
        key: &EntryKey,
        found: Reconciled,
        native: Option<NativeMessageId>,
    ) -> Result<(), ChannelError> {
        let (lease, key) = (lease.clone(), key.clone());
        let (now, dice) = (self.clock.now(), self.dice.clone());
        let write = move |tx: &mut Tx<'_>| -> Result<(), ChannelError> {
            lease.fence(tx)?;
            let queue = known_queue(tx, &key.connector)?;
            let Some(stored) = outbox::lock(tx, &key)? else { return Ok(()) };
            let changing = changing(&queue, &stored, repeat, now, dice.roll());
            let note = Note { native: native.clone(), ..Note::default() };
            changing.apply(tx, &stored, Event::Reconciled(found), &note)?;
            Ok(())
        };
        self.db.try_write(write).await
    }
}

pub(super) fn known_queue(tx: &mut Tx<'_>, connector: &ConnectorId) -> Result<Queue, ChannelError> {
    connectors::queue(tx, connector)?.ok_or_else(|| ChannelError::NoConnector(connector.clone()))
}

fn changing<'a>(
    queue: &'a Queue,
    stored: &Stored,
    repeat: Repeat,
    now: Timestamp,
    chance: palyra_policy::backoff::Chance,
) -> Changing<'a> {
    let repeat = if stored.operation.is_idempotent() { Repeat::Always } else { repeat };
    Changing { queue, rules: queue.settings.rules(repeat), now, chance }
}

fn begin_one(
    tx: &mut Tx<'_>,
    changing: &Changing<'_>,
    read: &Stored,
    token: i64,
) -> Result<Option<Begun>, StorageError> {
    let (connector, conversation) = (&read.key.connector, &read.conversation);
    let Some(seq) = read.lane_seq else { return Ok(None) };
    let moment = changing.queue.moment(changing.now);
    let decided = step(&read.entry, Event::Turn, &changing.rules, moment, changing.chance);
    let change = match decided {
        Step::Changed(change) => change,
        Step::Unchanged(Why::Ended | Why::NotNow | Why::NotDue) => return Ok(None),
    };
    if change.entry.state != palyra_common::runtime_contracts::OutboxState::Sending {
        // Too old, or in doubt: not an attempt.
        let Some(stored) = outbox::lock(tx, &read.key)? else { return Ok(None) };
        changing.apply(tx, &stored, Event::Turn, &Note::default())?;
        return Ok(None);
    }
    if !outbox_lanes::take(tx, connector, conversation, seq, changing.now)?
        || !outbox::begin(tx, read, &change.entry, token, changing.now)?
    {
        // Somebody has changed it, or another entry is first by now.
        outbox_lanes::refresh(tx, connector, conversation, 0)?;
        return Ok(None);
    }
    let stored = Stored { entry: change.entry, attempt_token: Some(token), ..read.clone() };
    Ok(Some(Begun { stored, token }))
}

fn wait_one(
    tx: &mut Tx<'_>,
    changing: &Changing<'_>,
    read: &Stored,
    until: Timestamp,
) -> Result<Option<Begun>, StorageError> {
    let Some(stored) = outbox::lock(tx, &read.key)? else { return Ok(None) };
    let error = Some("the platform asks to wait".to_owned());
    let note = Note { class: Some(RetryClass::RateLimit), error, native: None };
    changing.apply(tx, &stored, Event::NotAdmitted { until }, &note)?;
    Ok(None)
}

/// The usual end, in as few statements as there can be.
fn deliver(
    tx: &mut Tx<'_>,
    begun: &Begun,
    native: Option<&NativeMessageId>,
    now: Timestamp,
) -> Result<(), StorageError> {
    let Begun { stored, token } = begun;
    if !outbox::finish(tx, &stored.key, *token)? {
        return Ok(());
    }
    let entry = palyra_policy::outbox::Entry {
        state: palyra_common::runtime_contracts::OutboxState::Delivered,
        attempts: stored.entry.attempts.saturating_add(1),
        ..stored.entry
    };
    let ended = Stored { entry, ..stored.clone() };
    outbox_history::add(tx, &ended, native, now)?;
    outbox_lanes::refresh(tx, &stored.key.connector, &stored.conversation, -1)
}
