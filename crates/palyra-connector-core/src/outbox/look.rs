//! What there is to see of a queue.

use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::queue::COUNTED;
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_policy::connector::{Flow, QueueFacts};
use palyra_storage::{StorageError, Tx};

use super::Outbox;
use crate::ChannelError;
use crate::store::connectors::Connector;
use crate::store::{outbox, outbox_lanes};

/// How the queue of a connector does. What has stepped aside is counted up to [`COUNTED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueView {
    /// Entries that wait for their turn or for another try, or are being sent.
    pub waiting: u64,
    /// Conversations that they are in.
    pub lanes: u64,
    /// Attempts under way.
    pub sending: u64,
    /// Entries that wait for an approval.
    pub held: u64,
    /// Parts that have stepped aside with one before them that is unknown.
    pub parked: u64,
    /// When the longest waiting first entry of a conversation was enqueued.
    pub oldest: Option<Timestamp>,
    /// Until when the platform asked to wait, at most.
    pub rate_limited_until: Option<Timestamp>,
    /// What its state follows from.
    pub facts: QueueFacts,
}

/// Where one part of an envelope is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartView {
    /// Which part.
    pub part: u32,
    /// Where it is in its life.
    pub state: OutboxState,
    /// How many real tries it had.
    pub attempts: u32,
    /// The name that the platform gave it.
    pub native: Option<String>,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When it is tried again.
    pub due_at: Option<Timestamp>,
    /// When it last changed.
    pub changed_at: Timestamp,
}

impl Outbox {
    /// How the queue of a connector does: from one row per conversation in which something waits,
    /// and from indexes.
    pub async fn view(&self, connector: &Connector) -> Result<QueueView, StorageError> {
        let (now, connector) = (self.clock.now(), connector.clone());
        self.db.read(move |tx| view(tx, &connector, now)).await
    }

    /// The parts of an envelope, ended or not, in order.
    pub async fn envelope(
        &self,
        connector: &ConnectorId,
        envelope: &EnvelopeId,
    ) -> Result<Vec<PartView>, ChannelError> {
        let (connector, envelope) = (connector.clone(), envelope.clone());
        let parts = self.db.read(move |tx| parts(tx, &connector, &envelope));
        Ok(parts.await?)
    }
}

/// Whether a message waits for its turn or is being sent, as far as anybody knows: nothing that has
/// ended or waits for a human is.
pub fn is_under_way(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<bool, StorageError> {
    outbox::is_under_way(tx, connector, envelope)
}

fn view(tx: &mut Tx<'_>, connector: &Connector, now: Timestamp) -> Result<QueueView, StorageError> {
    let waiting = outbox_lanes::waiting(tx, &connector.id, now)?;
    let most = u32::try_from(COUNTED).unwrap_or(u32::MAX);
    let mut aside = |state| outbox::aside::count(tx, &connector.id, state, most);
    let (held, unknown) = (aside(OutboxState::Held)?, aside(OutboxState::Unknown)?);
    let (dead, parked) = (aside(OutboxState::Dead)?, aside(OutboxState::Pending)?);
    let count = |number: i64| number.max(0).unsigned_abs();
    let facts = QueueFacts {
        readiness: connector.readiness,
        flow: if connector.paused_at.is_some() { Flow::Paused } else { Flow::Open },
        deepest_lane: count(waiting.deepest),
        lane_limit: u64::from(connector.queue.max_waiting),
        rate_limited: count(waiting.rate_limited),
        retrying: count(waiting.retrying),
        dead: count(dead),
        unknown: count(unknown),
    };
    Ok(QueueView {
        waiting: count(waiting.entries),
        lanes: count(waiting.lanes),
        sending: count(waiting.sending),
        held: count(held),
        parked: count(parked),
        oldest: waiting.oldest,
        rate_limited_until: waiting.rate_limited_until,
        facts,
    })
}

fn parts(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    envelope: &EnvelopeId,
) -> Result<Vec<PartView>, StorageError> {
    let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    let parts = outbox::ended::envelope(tx, connector, envelope)?;
    let view = |part: outbox::ended::Part| PartView {
        part: number(part.part),
        state: part.state,
        attempts: number(part.attempts),
        native: part.native,
        // What failed on the way says nothing about what has arrived.
        last_error: part.last_error.filter(|_| part.state != OutboxState::Delivered),
        due_at: part.due_at,
        changed_at: part.changed_at,
    };
    Ok(parts.into_iter().map(view).collect())
}
