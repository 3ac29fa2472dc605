//! What humans decide about entries.

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_policy::outbox::{Event, Repeat, Resolution};
use palyra_storage::{StorageError, Tx};

use super::Outbox;
use super::attempt::known_queue;
use super::change::{Changing, Note};
use crate::ChannelError;
use crate::operation::EntryKey;
use crate::store::outbox::{self, Stored};

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
        self.db.read(move |tx| outbox::aside(tx, &connector, state, after.as_ref(), limit)).await
    }

    /// One entry that has not ended.
    pub async fn entry(&self, key: &EntryKey) -> Result<Option<Stored>, StorageError> {
        let key = key.clone();
        self.db.read(move |tx| outbox::one(tx, &key)).await
    }

    /// Lets a held entry go out.
    pub async fn approve(&self, key: &EntryKey) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Approved, "released").await
    }

    /// Takes an entry back that is not being sent.
    pub async fn cancel(&self, key: &EntryKey) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Cancelled, "cancelled").await
    }

    /// Says what is to become of an entry of which nothing could be learnt.
    pub async fn resolve(
        &self,
        key: &EntryKey,
        resolution: Resolution,
    ) -> Result<OutboxState, ChannelError> {
        let wanted = match resolution {
            Resolution::Resend => "sent again",
            Resolution::MarkDelivered => "marked as delivered",
        };
        self.decide(key, Event::Resolved(resolution), wanted).await
    }

    /// Sends a dead entry after all, with the parts that died with it.
    pub async fn replay(&self, key: &EntryKey) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Replayed, "replayed").await
    }

    /// Closes a dead entry.
    pub async fn discard(&self, key: &EntryKey) -> Result<OutboxState, ChannelError> {
        self.decide(key, Event::Discarded, "discarded").await
    }

    async fn decide(
        &self,
        key: &EntryKey,
        event: Event,
        wanted: &'static str,
    ) -> Result<OutboxState, ChannelError> {
        let (key, now, dice) = (key.clone(), self.clock.now(), self.dice.clone());
        let decide = move |tx: &mut Tx<'_>| -> Result<OutboxState, ChannelError> {
            let queue = known_queue(tx, &key.connector)?;
            let stored =
                outbox::lock(tx, &key)?.ok_or_else(|| ChannelError::NoEntry(key.clone()))?;
            // No human decision depends on what the platform remembers.
            let rules = queue.settings.rules(Repeat::Never);
            let changing = Changing { queue: &queue, rules, now, chance: dice.roll() };
            let state = changing.apply(tx, &stored, event, &Note::default())?;
            tx.notify(super::TOPIC);
            state.ok_or_else(|| ChannelError::NotNow {
                key: key.clone(),
                state: stored.entry.state,
                wanted,
            })
        };
        self.db.try_write(decide).await
    }
}
