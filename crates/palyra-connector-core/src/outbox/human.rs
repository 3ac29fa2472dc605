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
        self.decide(key, Event::Approved, "released", trail).await
    }

    /// Takes an entry back that is not being sent.
    pub async fn cancel(&self, key: &EntryKey, trail: Trail) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Cancelled, "cancelled", trail).await
    }

    /// Says what is to become of an entry of which nothing could be learnt.
    pub async fn resolve(
        &self,
        key: &EntryKey,
        resolution: Resolution,
        trail: Trail,
    ) -> Result<OutboxState, ChannelError> {
        let wanted = match resolution {
            Resolution::Resend => "sent again",
            Resolution::MarkDelivered => "marked as delivered",
        };
        self.decide(key, Event::Resolved(resolution), wanted, trail).await
    }

    /// Sends a dead entry after all, with the parts that died with it, from the first one on.
    pub async fn replay(&self, key: &EntryKey, trail: Trail) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Replayed, "replayed", trail).await
    }

    /// Closes a dead entry.
    pub async fn discard(&self, key: &EntryKey, trail: Trail) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Discarded, "discarded", trail).await
    }

    /// Decides about one entry. What has been decided like this before stays as it is, so that
    /// deciding twice is deciding once.
    async fn decide(
        &self,
        key: &EntryKey,
        event: Event,
        wanted: &'static str,
        trail: Trail,
    ) -> Result<OutboxState, ChannelError> {
        let (key, now, queues) = (key.clone(), self.clock.now(), self.clone());
        let decide = move |tx: &mut Tx<'_>| -> Result<OutboxState, ChannelError> {
            let queue = known_queue(tx, &key.connector)?;
            let key = match event {
                Event::Replayed => outbox::aside::first_dead_part(tx, &key)?,
                _ => key.clone(),
            };
            let Some(stored) = outbox::lock(tx, &key)? else {
                let ended = outbox::ended::ended(tx, &key)?;
                let same = ended.filter(|state| was_decided(event, *state));
                return same.ok_or_else(|| ChannelError::NoEntry(key.clone()));
            };
            // No human decision depends on what the platform remembers.
            let changing = queues.deciding(&queue, Repeat::Never, now);
            match changing.apply(tx, &stored, event, &Note::default())? {
                Some(state) => {
                    told(event).into_iter().for_each(|kind| feed::entry(tx, &key, kind, now));
                    trail.clone().into_iter().for_each(|entry| tx.record(entry));
                    tx.notify(super::TOPIC);
                    Ok(state)
                }
                None if was_decided(event, stored.entry.state) => Ok(stored.entry.state),
                None => Err(ChannelError::NotNow {
                    key: key.clone(),
                    state: stored.entry.state,
                    wanted,
                }),
            }
        };
        self.db.try_write(decide).await
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
        _ => false,
    }
}
