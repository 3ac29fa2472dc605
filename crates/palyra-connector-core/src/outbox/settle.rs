//! What came of attempts.

use palyra_common::ids::{ConnectorId, NativeMessageId};
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_policy::outbox::{Event, Reconciled, Repeat};
use palyra_storage::lease::Lease;
use palyra_storage::{StorageError, Tx, crash_point};

use super::Outbox;
use super::attempt::{Begun, Report, Settled, known_queue, split};
use super::change::Note;
use crate::store::outbox::{Stored, Whose};
use crate::store::{outbox, outbox_lanes};
use crate::{ChannelError, Deliveries, Delivery};

impl Outbox {
    /// Writes down what came of attempts. One whose entry somebody else has by now is left alone. If
    /// one was delivered under the name of another message, all are refused: a message of the platform
    /// settles one entry.
    pub async fn settle(&self, repeat: Repeat, settled: Vec<Settled>) -> Result<(), ChannelError> {
        crash_point!("outbox.before_settle_commit");
        let (now, queues) = (self.clock.now(), self.clone());
        let settle = move |tx: &mut Tx<'_>| -> Result<(), ChannelError> {
            let messages = settled.iter().map(|settled| &settled.begun.stored.key.envelope);
            queues.deliveries.lock(tx, &messages.collect::<Vec<_>>())?;
            let (mut queue, mut delivered) = (None, Vec::with_capacity(settled.len()));
            for Settled { begun, report } in &settled {
                if let Report::Delivered { native } = report {
                    delivered.push((begun, native.as_ref()));
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
                let changing = queues.changing(queue, &stored, repeat, now);
                changing.apply(tx, &stored, report.event(), &report.note())?;
            }
            Ok(deliver(tx, delivered, &*queues.deliveries, now)?)
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
        crash_point!("outbox.before_recover_commit");
        let whose = Whose::BeforeUs(lease.token());
        let recovered = self.take_over(whose, lease, repeat, connector).await?;
        crash_point!("outbox.after_recover_commit");
        Ok(recovered)
    }

    /// The same with what the holder itself has written down as begun and is not making: it failed
    /// before it knew that it was written down, or had begun. Called while it makes no attempt.
    pub async fn recover_own(
        &self,
        lease: &Lease,
        repeat: Repeat,
        connector: &ConnectorId,
    ) -> Result<u64, ChannelError> {
        crash_point!("outbox.before_recover_own_commit");
        let whose = Whose::Ours(lease.token());
        let recovered = self.take_over(whose, lease, repeat, connector).await?;
        crash_point!("outbox.after_recover_own_commit");
        Ok(recovered)
    }

    async fn take_over(
        &self,
        whose: Whose,
        lease: &Lease,
        repeat: Repeat,
        connector: &ConnectorId,
    ) -> Result<u64, ChannelError> {
        /// In one transaction.
        const STEP: u32 = 256;
        let mut recovered = 0;
        loop {
            let (lease, connector) = (lease.clone(), connector.clone());
            let (now, queues) = (self.clock.now(), self.clone());
            let recover = move |tx: &mut Tx<'_>| -> Result<u64, ChannelError> {
                lease.fence(tx)?;
                let queue = known_queue(tx, &connector)?;
                let left = outbox::left_behind(tx, &connector, whose, STEP)?;
                let mut count = 0;
                for left in left {
                    let Some(stored) = outbox::lock(tx, &left.key)? else { continue };
                    let changing = queues.changing(&queue, &stored, repeat, now);
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

    /// Writes down what the platform said became of an entry, asked for as it was when it was
    /// `looked` at. What it said of an earlier attempt, or has been written down already, says nothing
    /// of where the entry is now; nor does a message that has settled another one.
    pub async fn reconciled(
        &self,
        lease: &Lease,
        repeat: Repeat,
        looked: &Stored,
        found: Reconciled,
        native: Option<NativeMessageId>,
    ) -> Result<(), ChannelError> {
        let (lease, key, asked) = (lease.clone(), looked.key.clone(), looked.entry);
        let (now, queues) = (self.clock.now(), self.clone());
        let write = move |tx: &mut Tx<'_>| -> Result<(), ChannelError> {
            lease.fence(tx)?;
            let queue = known_queue(tx, &key.connector)?;
            let Some(stored) = outbox::lock(tx, &key)? else { return Ok(()) };
            let is = stored.entry;
            if (is.attempts, is.looks) != (asked.attempts, asked.looks) {
                return Ok(());
            }
            let found = match &native {
                Some(native) if outbox::ended::is_taken(tx, &stored, native)? => {
                    Reconciled::StillUnknown
                }
                Some(_) | None => found,
            };
            let changing = queues.changing(&queue, &stored, repeat, now);
            let note = Note { native: native.clone(), ..Note::default() };
            changing.apply(tx, &stored, Event::Reconciled(found), &note)?;
            Ok(())
        };
        crash_point!("outbox.before_reconciled_commit");
        self.db.try_write(write).await?;
        crash_point!("outbox.after_reconciled_commit");
        Ok(())
    }
}

/// The usual end, in as few statements as there can be.
fn deliver(
    tx: &mut Tx<'_>,
    delivered: Vec<(&Begun, Option<&NativeMessageId>)>,
    deliveries: &dyn Deliveries,
    now: Timestamp,
) -> Result<(), StorageError> {
    let attempts = delivered.iter();
    let attempts = attempts.map(|(begun, native)| (&begun.stored, begun.token, *native));
    let delivered_now = outbox::ended::deliver(tx, &attempts.collect::<Vec<_>>(), now)?;
    let (ended, _others) = split(delivered, delivered_now);
    let ended: Vec<_> = ended.into_iter().map(|(begun, _)| &begun.stored).collect();
    let Some(connector) = ended.first().map(|stored| &stored.key.connector) else {
        return Ok(());
    };
    for Stored { key, .. } in ended.iter().filter(|stored| stored.is_last) {
        let (envelope, state) = (&key.envelope, OutboxState::Delivered);
        deliveries.settled(tx, Delivery { connector, envelope, state }, now)?;
    }
    let lanes: Vec<_> = ended.iter().map(|stored| &stored.conversation).collect();
    outbox_lanes::refresh_locked(tx, connector, &lanes, -1)
}
