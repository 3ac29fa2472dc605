//! What humans decide about entries.

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{OutboxEventKind, OutboxState};
use palyra_common::time::Timestamp;
use palyra_policy::outbox::{Event, Repeat, Resolution};
use palyra_storage::{StorageError, Tx};

use super::Outbox;
use super::attempt::known_queue;
use super::change::Note;
use crate::operation::EntryKey;
use crate::store::outbox::{self, Stored};
use crate::{ChannelError, Trail, feed};

impl Outbox {
    /// Entries of one state that wait for a human (held, unknown or dead), oldest first, behind
    /// `after`.
    pub async fn waiting_for_human(
        &self,
        connector: &ConnectorId,
        state: OutboxState,
        after: Option<(Timestamp, EntryKey)>,
        limit: u32,
    ) -> Result<Vec<Stored>, StorageError> {
        let connector = connector.clone();
        self.db
            .read(move |tx| outbox::aside::of_state(tx, &connector, state, after.as_ref(), limit))
            .await
    }

    /// One entry that has not ended.
    pub async fn entry(&self, key: &EntryKey) -> Result<Option<Stored>, StorageError> {
        let key = key.clone();
        self.db.read(move |tx| outbox::one(tx, &key)).await
    }

    /// Lets a held entry go out.
    pub async fn approve(&self, key: &EntryKey, trail: Trail) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Approved, trail).await
    }

    /// Takes an entry back that is not being sent.
    pub async fn cancel(&self, key: &EntryKey, trail: Trail) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Cancelled, trail).await
    }

    /// Says what is to become of an entry of which nothing could be learnt.
    pub async fn resolve(
        &self,
        key: &EntryKey,
        resolution: Resolution,
        trail: Trail,
    ) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Resolved(resolution), trail).await
    }

    /// The same as part of a transaction, for a request that is carried out once.
    pub fn resolve_in(
        &self,
        tx: &mut Tx<'_>,
        key: &EntryKey,
        resolution: Resolution,
        trail: Trail,
        now: Timestamp,
    ) -> Result<OutboxState, ChannelError> {
        self.decide_in(tx, key, Event::Resolved(resolution), trail, now)
    }

    /// Sends a dead entry after all, with the parts that died with it, from the first one on.
    pub async fn replay(&self, key: &EntryKey, trail: Trail) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Replayed, trail).await
    }

    /// The same as part of a transaction, for a request that is carried out once.
    pub fn replay_in(
        &self,
        tx: &mut Tx<'_>,
        key: &EntryKey,
        trail: Trail,
        now: Timestamp,
    ) -> Result<OutboxState, ChannelError> {
        self.decide_in(tx, key, Event::Replayed, trail, now)
    }

    /// Closes a dead entry.
    pub async fn discard(&self, key: &EntryKey, trail: Trail) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Discarded, trail).await
    }

    async fn decide(
        &self,
        key: &EntryKey,
        event: Event,
        trail: Trail,
    ) -> Result<OutboxState, ChannelError> {
        let (key, now, outbox) = (key.clone(), self.clock.now(), self.clone());
        let decide = move |tx: &mut Tx<'_>| outbox.decide_in(tx, &key, event, trail.clone(), now);
        self.db.try_write(decide).await
    }

    /// Decides about one entry. What has been decided like this before, and is on its way or has
    /// arrived, stays as it is.
    fn decide_in(
        &self,
        tx: &mut Tx<'_>,
        key: &EntryKey,
        event: Event,
        trail: Trail,
        now: Timestamp,
    ) -> Result<OutboxState, ChannelError> {
        let queue = known_queue(tx, &key.connector)?;
        let key = match event {
            Event::Replayed => outbox::aside::first_dead_part(tx, key)?,
            Event::Approved
            | Event::Cancelled
            | Event::Resolved(_)
            | Event::Discarded
            | Event::Turn
            | Event::NotAdmitted { .. }
            | Event::Outcome(_)
            | Event::Abandoned
            | Event::Reconciled(_)
            | Event::EarlierPartFailed => key.clone(),
        };
        let Some(stored) = outbox::lock(tx, &key)? else {
            return match outbox::ended::ended(tx, &key)? {
                Some(state) if was_decided(event, state) => Ok(state),
                Some(state) => Err(ChannelError::NotNow { key, state, wanted: wanted(event) }),
                None => Err(ChannelError::NoEntry(key)),
            };
        };
        // No human decision depends on what the platform remembers.
        let changing = self.deciding(&queue, Repeat::Never, now);
        match changing.apply(tx, &stored, event, &Note::default())? {
            Some(state) => {
                told(event).into_iter().for_each(|kind| feed::entry(tx, &key, kind, now));
                trail.into_iter().for_each(|entry| tx.record(entry));
                tx.notify(super::TOPIC);
                Ok(state)
            }
            None if was_decided(event, stored.entry.state) => Ok(stored.entry.state),
            None => {
                let (state, wanted) = (stored.entry.state, wanted(event));
                Err(ChannelError::NotNow { key, state, wanted })
            }
        }
    }
}

/// What somebody wants of an entry, in words.
fn wanted(event: Event) -> &'static str {
    match event {
        Event::Approved => "released",
        Event::Cancelled => "cancelled",
        Event::Resolved(Resolution::Resend) => "sent again",
        Event::Resolved(Resolution::MarkDelivered) => "marked as delivered",
        Event::Replayed => "replayed",
        Event::Discarded => "discarded",
        Event::Turn
        | Event::NotAdmitted { .. }
        | Event::Outcome(_)
        | Event::Abandoned
        | Event::Reconciled(_)
        | Event::EarlierPartFailed => "changed",
    }
}

/// What readers of the feed are told of a decision.
fn told(event: Event) -> Option<OutboxEventKind> {
    match event {
        Event::Approved => Some(OutboxEventKind::Released),
        Event::Cancelled => Some(OutboxEventKind::Cancelled),
        Event::Resolved(Resolution::Resend) => Some(OutboxEventKind::Resent),
        Event::Resolved(Resolution::MarkDelivered) => Some(OutboxEventKind::MarkedDelivered),
        Event::Replayed => Some(OutboxEventKind::Replayed),
        Event::Discarded => Some(OutboxEventKind::Discarded),
        Event::Turn
        | Event::NotAdmitted { .. }
        | Event::Outcome(_)
        | Event::Abandoned
        | Event::Reconciled(_)
        | Event::EarlierPartFailed => None,
    }
}

/// Whether an entry in this state may have come there by this decision.
fn was_decided(event: Event, state: OutboxState) -> bool {
    let goes_out =
        matches!(state, OutboxState::Pending | OutboxState::Sending | OutboxState::Delivered);
    match event {
        Event::Approved | Event::Replayed | Event::Resolved(Resolution::Resend) => goes_out,
        Event::Resolved(Resolution::MarkDelivered) => state == OutboxState::Delivered,
        Event::Cancelled | Event::Discarded => state == OutboxState::Cancelled,
        Event::Turn
        | Event::NotAdmitted { .. }
        | Event::Outcome(_)
        | Event::Abandoned
        | Event::Reconciled(_)
        | Event::EarlierPartFailed => false,
    }
}
