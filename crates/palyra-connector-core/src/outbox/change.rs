//! Writing down what an event leads to, for an entry and for the parts behind it.

use palyra_common::ids::NativeMessageId;
use palyra_common::runtime_contracts::{OutboxEventKind, OutboxState, RetryClass};
use palyra_common::time::Timestamp;
use palyra_policy::backoff::Chance;
use palyra_policy::outbox::{
    Change, Earlier, Entry, Event, Follow, Place, Rules, Step, Why, after_earlier, returned, step,
};
use palyra_storage::{StorageError, Tx};

use crate::operation::EntryKey;
use crate::store::connectors::Queue;
use crate::store::outbox::Stored;
use crate::store::{outbox, outbox_lanes};
use crate::{Deliveries, Delivery, feed};

/// What is known besides the event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) native: Option<NativeMessageId>,
    pub(super) class: Option<RetryClass>,
    pub(super) error: Option<String>,
}

/// The circumstances under which entries of one connector change.
pub(super) struct Changing<'a> {
    pub(super) queue: &'a Queue,
    pub(super) rules: Rules,
    pub(super) now: Timestamp,
    pub(super) chance: Chance,
    pub(super) deliveries: &'a dyn Deliveries,
}

impl Changing<'_> {
    /// Writes down what `event` makes of an entry that was locked, and of the parts behind it.
    /// Says where the entry is then; nothing if the event changed nothing.
    pub(super) fn apply(
        &self,
        tx: &mut Tx<'_>,
        stored: &Stored,
        event: Event,
        note: &Note,
    ) -> Result<Option<OutboxState>, StorageError> {
        let Step::Changed(change) = self.step(stored, event) else { return Ok(None) };
        if let (Event::Reconciled(_), OutboxState::Cancelled) = (event, change.entry.state) {
            // No human has dropped it, who would be told of otherwise.
            feed::entry(tx, &stored.key, OutboxEventKind::Cancelled, self.now);
        }
        if let Some(state) = settled_as(stored, &change) {
            let EntryKey { connector, envelope, .. } = &stored.key;
            self.deliveries.settled(tx, Delivery { connector, envelope, state }, self.now)?;
        }
        let mut grown = self.write(tx, stored, &change, note)?;
        grown += self.later_parts(tx, stored, &change, event)?;
        outbox_lanes::refresh(tx, &stored.key.connector, &stored.conversation, grown)?;
        Ok(Some(change.entry.state))
    }

    /// Writes one entry, and says by how many its lane has grown.
    fn write(
        &self,
        tx: &mut Tx<'_>,
        stored: &Stored,
        change: &Change,
        note: &Note,
    ) -> Result<i64, StorageError> {
        self.tell(tx, stored, change);
        let was_in_lane = i64::from(!stored.aside);
        // What failed now says nothing of the class of what failed before.
        let (last_class, last_error) = match &note.error {
            Some(error) => (note.class, Some(error.clone())),
            None => (stored.last_class, stored.last_error.clone()),
        };
        let mut next = Stored {
            entry: change.entry,
            death: change.death,
            last_class,
            last_error,
            attempt_token: None,
            changed_at: self.now,
            ..stored.clone()
        };
        match change.place {
            Place::Leaves => {
                if let OutboxState::Delivered | OutboxState::Cancelled = change.entry.state {
                    outbox::ended::end(tx, &next, note.native.as_ref())?;
                    return Ok(-was_in_lane);
                }
                next.aside = true;
            }
            Place::Aside => next.aside = true,
            Place::Keeps => next.aside = false,
            Place::Tail => {
                let (connector, conversation) = (&stored.key.connector, &stored.conversation);
                let places = outbox_lanes::append(tx, connector, conversation, 1, self.now)?;
                let gone = || StorageError::internal("an entry has no connector");
                next.lane_seq = Some(places.ok_or_else(gone)?.first);
                (next.aside, next.late) = (false, false);
                outbox::save(tx, &next)?;
                // Appending has counted it already.
                return Ok(-was_in_lane);
            }
        }
        outbox::save(tx, &next)?;
        Ok(i64::from(!next.aside) - was_in_lane)
    }

    /// Tells readers of the feed what somebody may have to do something about.
    fn tell(&self, tx: &mut Tx<'_>, stored: &Stored, change: &Change) {
        if let Some(death) = change.death {
            feed::dead(tx, &stored.key, death, self.now);
        } else if (change.entry.state, change.place) == (OutboxState::Unknown, Place::Aside) {
            feed::entry(tx, &stored.key, OutboxEventKind::Unknown, self.now);
        }
    }

    /// The parts behind share the fate of the one that has changed.
    fn later_parts(
        &self,
        tx: &mut Tx<'_>,
        stored: &Stored,
        change: &Change,
        event: Event,
    ) -> Result<i64, StorageError> {
        // One that has its place behind it keeps it, unless this one comes back from aside.
        if change.place == Place::Keeps && !stored.aside {
            return Ok(0);
        }
        let aside = change.place == Place::Aside;
        let follow = after_earlier(Earlier { state: change.entry.state, aside });
        let mut grown = 0;
        for part in outbox::lock_later_parts(tx, &stored.key)? {
            grown += match (follow, change.place) {
                (_, Place::Tail) => self.send_behind(tx, &part)?,
                (Follow::Fail, _) => self.fail(tx, &part, event)?,
                (Follow::StepAside, _) => self.set_aside(tx, &part, true)?,
                (Follow::Go | Follow::Wait, _) => self.set_aside(tx, &part, false)?,
            };
        }
        Ok(grown)
    }

    /// What a human takes back is taken back with all of its parts; of whatever else is not delivered
    /// the parts behind it are dead letters.
    fn fail(&self, tx: &mut Tx<'_>, part: &Stored, earlier: Event) -> Result<i64, StorageError> {
        let event = match earlier {
            Event::Cancelled | Event::Discarded => Event::Cancelled,
            Event::Approved
            | Event::Turn
            | Event::NotAdmitted { .. }
            | Event::Outcome(_)
            | Event::Abandoned
            | Event::Reconciled(_)
            | Event::Resolved(_)
            | Event::EarlierPartFailed
            | Event::Replayed => Event::EarlierPartFailed,
        };
        match self.step(part, event) {
            Step::Changed(change) => self.write(tx, part, &change, &Note::default()),
            Step::Unchanged(_) => Ok(0),
        }
    }

    /// A part follows the one before it to the end of the lane: one that waited as it was, one that
    /// was held or dead by being released or replayed with it.
    fn send_behind(&self, tx: &mut Tx<'_>, part: &Stored) -> Result<i64, StorageError> {
        let step = match part.entry.state {
            OutboxState::Held => self.step(part, Event::Approved),
            OutboxState::Dead => self.step(part, Event::Replayed),
            // Only where a restore has made it so: it waits for a decision of its own.
            OutboxState::Unknown => return Ok(0),
            OutboxState::Pending
            | OutboxState::Sending
            | OutboxState::Delivered
            | OutboxState::Cancelled => Step::Unchanged(Why::NotNow),
        };
        let entry = match step {
            Step::Changed(change) => change.entry,
            Step::Unchanged(_) => self.returned(part),
        };
        let change = Change { entry, place: Place::Tail, death: None };
        self.write(tx, part, &change, &Note::default())
    }

    fn step(&self, stored: &Stored, event: Event) -> Step {
        step(&stored.entry, event, &self.rules, self.queue.moment(self.now), self.chance)
    }

    fn returned(&self, part: &Stored) -> Entry {
        returned(part.entry, &self.rules, self.queue.moment(self.now))
    }

    fn set_aside(&self, tx: &mut Tx<'_>, part: &Stored, aside: bool) -> Result<i64, StorageError> {
        if part.aside == aside || part.entry.state != OutboxState::Pending {
            return Ok(0);
        }
        let entry = if aside { part.entry } else { self.returned(part) };
        let next = Stored { aside, late: true, entry, changed_at: self.now, ..part.clone() };
        outbox::save(tx, &next)?;
        Ok(if aside { -1 } else { 1 })
    }
}

/// What a change of one of its parts makes of a message, if it settles it: the parts behind share the
/// fate of one that was not delivered.
fn settled_as(stored: &Stored, change: &Change) -> Option<OutboxState> {
    let state = change.entry.state;
    let settles = match state {
        OutboxState::Delivered => stored.is_last,
        OutboxState::Dead | OutboxState::Cancelled => true,
        OutboxState::Unknown => change.place == Place::Aside,
        OutboxState::Held | OutboxState::Pending | OutboxState::Sending => false,
    };
    settles.then_some(state)
}
