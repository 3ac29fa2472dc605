//! What humans decide about many entries at once.

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::DeadLetterReason;
use palyra_policy::outbox::{Event, Repeat, Rules};
use palyra_storage::Tx;

use super::Outbox;
use super::attempt::known_queue;
use super::change::{Changing, Note};
use crate::operation::EntryKey;
use crate::store::{outbox, outbox_lanes};
use crate::{ChannelError, Trail};

/// Decided in one transaction.
const STEP: u32 = 100;

/// The most that may be replayed at once.
pub const MAX_REPLAYED: u32 = 10_000;

impl Outbox {
    /// Sends dead entries after all, oldest first and at most `cap`, those that died for `reason` or
    /// all. Says how many.
    pub async fn replay_many(
        &self,
        connector: &ConnectorId,
        reason: Option<DeadLetterReason>,
        cap: u32,
        mut trail: Trail,
    ) -> Result<u64, ChannelError> {
        let (cap, mut replayed) = (cap.min(MAX_REPLAYED), 0);
        while replayed < u64::from(cap) {
            let left = u64::from(cap) - replayed;
            let limit = u32::try_from(left).unwrap_or(STEP).min(STEP);
            let (connector, note) = (connector.clone(), trail.clone());
            let (now, dice) = (self.clock.now(), self.dice.clone());
            let step = move |tx: &mut Tx<'_>| -> Result<u64, ChannelError> {
                let queue = known_queue(tx, &connector)?;
                let rules = Rules::of(&queue.settings, Repeat::Never);
                let mut count = 0;
                for key in outbox::dead(tx, &connector, reason, limit)? {
                    // A part that died with one before it is replayed with that.
                    let key = outbox::first_dead_part(tx, &key)?;
                    let Some(stored) = outbox::lock(tx, &key)? else { continue };
                    let changing = Changing { queue: &queue, rules, now, chance: dice.roll() };
                    let changed = changing.apply(tx, &stored, Event::Replayed, &Note::default())?;
                    count += u64::from(changed.is_some());
                }
                if count > 0 {
                    note.clone().into_iter().for_each(|entry| tx.record(entry));
                    tx.notify(super::TOPIC);
                }
                Ok(count)
            };
            let count = self.db.try_write(step).await?;
            if count == 0 {
                break;
            }
            // One entry of the audit trail for all of it.
            trail = None;
            replayed += count;
        }
        Ok(replayed)
    }

    /// Tries now what waits for another try, unless the platform asked to wait. Says how many
    /// conversations that concerns.
    pub async fn hurry(&self, connector: &ConnectorId, trail: Trail) -> Result<u64, ChannelError> {
        let (connector, now) = (connector.clone(), self.clock.now());
        let hurry = move |tx: &mut Tx<'_>| -> Result<u64, ChannelError> {
            known_queue(tx, &connector)?;
            let waiting = outbox_lanes::waiting_to_retry(tx, &connector, now, MAX_REPLAYED)?;
            let mut count = 0;
            for (conversation, envelope, part) in waiting {
                let part = u32::try_from(part).unwrap_or(u32::MAX);
                let key = EntryKey { connector: connector.clone(), envelope, part };
                let Some(mut stored) = outbox::lock(tx, &key)? else { continue };
                // Nothing but the wait is cut short: an attempt that is under way has no due time.
                if stored.entry.due_at.is_some_and(|due| due > now) {
                    stored.entry.due_at = Some(now);
                    outbox::save(tx, &stored)?;
                    outbox_lanes::refresh(tx, &connector, &conversation, 0)?;
                    count += 1;
                }
            }
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            tx.notify(super::TOPIC);
            Ok(count)
        };
        self.db.try_write(hurry).await
    }
}
