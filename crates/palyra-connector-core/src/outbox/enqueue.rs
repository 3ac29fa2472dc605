use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_policy::outbox::{Entry, Repeat, Rules};
use palyra_storage::Tx;

use super::{Outbox, TOPIC};
use crate::ChannelError;
use crate::operation::{EntryKey, Envelope, Release};
use crate::store::outbox::Stored;
use crate::store::{connectors, outbox, outbox_lanes};

/// More parts than any text has a reason to be cut into.
const MAX_PARTS: usize = 64;

/// What became of the wish to send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits in the queue.
    Now,
    /// It was enqueued before, and this is where its first part is, or the first that is known yet.
    Before(OutboxState),
}

/// Puts a message into the queue, as part of the transaction that wants it sent. The same envelope
/// twice is one message.
pub fn enqueue(
    tx: &mut Tx<'_>,
    envelope: &Envelope,
    now: Timestamp,
) -> Result<Enqueued, ChannelError> {
    let count = match envelope.parts.len() {
        parts @ 1..=MAX_PARTS => u32::try_from(parts).unwrap_or(u32::MAX),
        parts => return Err(ChannelError::Parts { parts, most: MAX_PARTS }),
    };
    let (connector, conversation) = (&envelope.connector, &envelope.conversation);
    let nobody = || ChannelError::NoConnector(connector.clone());
    let (entry, first_seq, exceeded) = match envelope.release {
        Release::AfterApproval => {
            let queue = connectors::queue(tx, connector)?.ok_or_else(nobody)?;
            (Entry::held(&rules(&queue.settings)), None, None)
        }
        Release::AtOnce => {
            // This locks the lane: of two who enqueue the same, the second sees the first.
            let places = outbox_lanes::append(tx, connector, conversation, count, now)?;
            let places = places.ok_or_else(nobody)?;
            let most = places.settings.max_waiting;
            // An empty lane takes any message: one with more parts than may wait would else never go.
            let was_empty = places.depth <= i64::from(count);
            let is_full = !was_empty && places.depth > i64::from(most);
            let entry = Entry::pending(&rules(&places.settings), places.clock.moment(now));
            (entry, Some(places.first), is_full.then_some(most))
        }
    };
    let known = add_parts(tx, envelope, entry, first_seq, now)?;
    match (known, first_seq, exceeded) {
        (Some(state), Some(_), _) => {
            outbox_lanes::refresh(tx, connector, conversation, -i64::from(count))?;
            Ok(Enqueued::Before(state))
        }
        (Some(state), None, _) => Ok(Enqueued::Before(state)),
        (None, _, Some(most)) => {
            Err(ChannelError::LaneFull { conversation: conversation.clone(), most })
        }
        (None, _, None) => {
            tx.notify(TOPIC);
            Ok(Enqueued::Now)
        }
    }
}

/// Refuses another message than the one that was enqueued under this name, as far as that one is
/// remembered.
pub fn check_same(tx: &mut Tx<'_>, envelope: &Envelope) -> Result<(), ChannelError> {
    let kept = outbox::ended::content(tx, &envelope.connector, &envelope.id)?;
    let place = |part| usize::try_from(part).unwrap_or(usize::MAX);
    let is_same = kept.iter().all(|kept| {
        kept.conversation == envelope.conversation
            && envelope.parts.get(place(kept.part)) == Some(&kept.operation)
    });
    let is_whole = kept.last().is_none_or(|last| place(last.part) + 1 == envelope.parts.len());
    match is_same && is_whole {
        true => Ok(()),
        false => Err(ChannelError::OtherMessage(envelope.id.clone())),
    }
}

/// Only what an attempt does depends on the platform.
fn rules(queue: &QueueSettings) -> Rules {
    Rules::of(queue, Repeat::Never)
}

/// The state of the first part if it was there already, or some part of it still is.
fn add_parts(
    tx: &mut Tx<'_>,
    envelope: &Envelope,
    entry: Entry,
    first_seq: Option<i64>,
    now: Timestamp,
) -> Result<Option<OutboxState>, ChannelError> {
    let count = u32::try_from(envelope.parts.len()).unwrap_or(u32::MAX);
    // Parts end, and are forgotten, one after the other: the first may be gone before the others.
    if envelope.parts.len() > 1
        && let Some(known) = outbox::ended::find(tx, &envelope.connector, &envelope.id)?
    {
        return Ok(Some(known));
    }
    for (part, operation) in (0_u32..).zip(&envelope.parts) {
        let key =
            EntryKey { connector: envelope.connector.clone(), envelope: envelope.id.clone(), part };
        let stored = Stored {
            key,
            conversation: envelope.conversation.clone(),
            lane_seq: first_seq.map(|first| first + i64::from(part)),
            aside: first_seq.is_none(),
            late: first_seq.is_none(),
            entry,
            attempt_token: None,
            operation: operation.clone(),
            is_last: part + 1 == count,
            death: None,
            last_class: None,
            last_error: None,
            created_at: now,
            changed_at: now,
            version: 0,
        };
        if !outbox::add(tx, &stored)? {
            // Enqueued before, or just now by somebody else.
            let found = outbox::ended::find(tx, &envelope.connector, &envelope.id)?;
            return Ok(Some(found.unwrap_or(entry.state)));
        }
    }
    Ok(None)
}

impl Outbox {
    /// Puts a message into the queue.
    pub async fn enqueue(&self, envelope: Envelope) -> Result<Enqueued, ChannelError> {
        let now = self.clock.now();
        self.db.try_write(move |tx| enqueue(tx, &envelope, now)).await
    }
}
