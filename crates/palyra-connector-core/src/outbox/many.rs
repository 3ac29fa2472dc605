//! What humans decide about many entries at once.

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxEventKind};
use palyra_policy::outbox::{Event, Repeat};
use palyra_storage::Tx;

use super::Outbox;
use super::attempt::known_queue;
use super::change::Note;
use crate::operation::EntryKey;
use crate::store::{connectors, outbox, outbox_lanes};
use crate::{ChannelError, Trail, feed};

/// Decided in one transaction.
const STEP: usize = 100;

/// The most that may be replayed at once.
pub const MAX_REPLAYED: u32 = 10_000;

impl Outbox {
    /// Sends dead entries after all, oldest first and at most `cap`, those that died for `reason` or
    /// all. Says how many. What dies again meanwhile is not sent a second time.
    pub async fn replay_many(
        &self,
        connector: &ConnectorId,
        reason: Option<DeadLetterReason>,
        cap: u32,
        mut trail: Trail,
    ) -> Result<u64, ChannelError> {
        let (cap, mut replayed) = (u64::from(cap.min(MAX_REPLAYED)), 0);
        let dead = self.dead_now(connector, reason).await?;
        for step in dead.chunks(STEP) {
            if replayed >= cap {
                break;
            }
            let count = self.replay_step(connector, step, cap - replayed, trail.clone()).await?;
            // One entry of the audit trail for all of it.
            trail = trail.filter(|_| count == 0);
            replayed += count;
        }
        Ok(replayed)
    }

    async fn dead_now(
        &self,
        connector: &ConnectorId,
        reason: Option<DeadLetterReason>,
    ) -> Result<Vec<(EntryKey, i64)>, ChannelError> {
        let id = connector.clone();
        let dead = move |tx: &mut Tx<'_>| match connectors::queue(tx, &id)? {
            Some(_) => outbox::aside::dead(tx, &id, reason, MAX_REPLAYED).map(Some),
            None => Ok(None),
        };
        let found = self.db.read(dead).await?;
        found.ok_or_else(|| ChannelError::NoConnector(connector.clone()))
    }

    /// Replays those of some dead entries that are as they were found, and says how many.
    async fn replay_step(
        &self,
        connector: &ConnectorId,
        dead: &[(EntryKey, i64)],
        most: u64,
        trail: Trail,
    ) -> Result<u64, ChannelError> {
        let (connector, dead) = (connector.clone(), dead.to_vec());
        let (now, queues) = (self.clock.now(), self.clone());
        let step = move |tx: &mut Tx<'_>| -> Result<u64, ChannelError> {
            let queue = known_queue(tx, &connector)?;
            let mut count = 0;
            for (key, version) in &dead {
                if count >= most {
                    break;
                }
                // A part that died with one before it was replayed with that.
                let is = outbox::one(tx, key)?.filter(|is| is.version == *version);
                let Some(is) = is else { continue };
                let key = outbox::aside::first_dead_part(tx, &is.key)?;
                let Some(stored) = outbox::lock(tx, &key)? else { continue };
                let changing = queues.deciding(&queue, Repeat::Never, now);
                let changed = changing.apply(tx, &stored, Event::Replayed, &Note::default())?;
                count += u64::from(changed.is_some());
            }
            if count > 0 {
                feed::entries(tx, &connector, OutboxEventKind::Replayed, count, now);
                trail.clone().into_iter().for_each(|entry| tx.record(entry));
                tx.notify(super::TOPIC);
            }
            Ok(count)
        };
        self.db.try_write(step).await
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
