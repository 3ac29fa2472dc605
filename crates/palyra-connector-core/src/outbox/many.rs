//! What humans decide about many entries at once.

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxEventKind};
use palyra_common::time::Timestamp;
use palyra_policy::outbox::{Event, Repeat};
use palyra_storage::Tx;

use super::Outbox;
use super::attempt::known_queue;
use super::change::Note;
use crate::operation::EntryKey;
use crate::store::outbox_lanes::WaitsToRetry;
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
        let (id, now) = (connector.clone(), self.clock.now());
        let waiting =
            move |tx: &mut Tx<'_>| outbox_lanes::waiting_to_retry(tx, &id, now, MAX_REPLAYED);
        let waiting = self.db.read(waiting).await?;
        let (first, others) = waiting.split_at(waiting.len().min(STEP));
        // That somebody wanted it is kept where nothing waits, too.
        let mut hurried = self.hurry_step(connector, first, trail, now).await?;
        for step in others.chunks(STEP) {
            hurried += self.hurry_step(connector, step, None, now).await?;
        }
        Ok(hurried)
    }

    /// Lets those be due that still wait as they were found, and says how many.
    async fn hurry_step(
        &self,
        connector: &ConnectorId,
        waiting: &[WaitsToRetry],
        trail: Trail,
        now: Timestamp,
    ) -> Result<u64, ChannelError> {
        let (connector, waiting) = (connector.clone(), waiting.to_vec());
        let step = move |tx: &mut Tx<'_>| -> Result<u64, ChannelError> {
            known_queue(tx, &connector)?;
            let mut count = 0;
            for WaitsToRetry { conversation, envelope, part, version } in &waiting {
                let (connector, envelope) = (connector.clone(), envelope.clone());
                let key = EntryKey { connector, envelope, part: *part };
                // Locking it makes the next version of it.
                let stored = outbox::lock(tx, &key)?.filter(|is| is.version == *version + 1);
                let Some(mut stored) = stored else { continue };
                stored.entry.due_at = Some(now);
                outbox::save(tx, &stored)?;
                outbox_lanes::refresh(tx, &key.connector, conversation, 0)?;
                count += 1;
            }
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            tx.notify(super::TOPIC);
            Ok(count)
        };
        self.db.try_write(step).await
    }
}
