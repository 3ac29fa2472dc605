//! Dead letters: what was given up, and all that is known of why.

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId};
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxState, RetryClass};
use palyra_common::time::Timestamp;
use palyra_storage::StorageError;

use super::Outbox;
use crate::ChannelError;
use crate::operation::{EntryKey, Operation};
use crate::store::outbox::{self, Stored};

/// An entry that was given up. It is not sent unless a human replays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterRecord {
    /// Which entry.
    pub key: EntryKey,
    /// Where to.
    pub conversation: ConversationId,
    /// Why it was given up.
    pub reason: DeadLetterReason,
    /// Why the last attempt failed, if there was one.
    pub class: Option<RetryClass>,
    /// How many real tries it had.
    pub attempts: u32,
    /// Why the last attempt failed, in words.
    pub last_error: Option<String>,
    /// What was to be done.
    pub operation: Operation,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it was given up.
    pub died_at: Timestamp,
}

impl TryFrom<Stored> for DeadLetterRecord {
    type Error = StorageError;

    fn try_from(stored: Stored) -> Result<Self, StorageError> {
        let Some(reason) = stored.death else {
            let what = format!("the dead message {} has no reason", stored.key.envelope);
            return Err(StorageError::InvalidValue { what });
        };
        Ok(Self {
            key: stored.key,
            conversation: stored.conversation,
            reason,
            class: stored.last_class,
            attempts: stored.entry.attempts,
            last_error: stored.last_error,
            operation: stored.operation,
            created_at: stored.created_at,
            died_at: stored.changed_at,
        })
    }
}

impl Outbox {
    /// Dead letters of a connector, the longest ago first, behind `after`.
    pub async fn dead_letters(
        &self,
        connector: &ConnectorId,
        after: Option<(Timestamp, EntryKey)>,
        limit: u32,
    ) -> Result<Vec<DeadLetterRecord>, StorageError> {
        let found = self.waiting_for_human(connector, OutboxState::Dead, after, limit).await?;
        found.into_iter().map(DeadLetterRecord::try_from).collect()
    }

    /// The parts of an envelope that were given up, in order; at least one.
    pub async fn dead_letter(
        &self,
        connector: &ConnectorId,
        envelope: &EnvelopeId,
    ) -> Result<Vec<DeadLetterRecord>, ChannelError> {
        let (id, name) = (connector.clone(), envelope.clone());
        let found = self.db.read(move |tx| outbox::aside::dead_parts(tx, &id, &name)).await?;
        if found.is_empty() {
            let (connector, envelope) = (connector.clone(), envelope.clone());
            return Err(ChannelError::NoDeadLetter { connector, envelope });
        }
        let records = found.into_iter().map(DeadLetterRecord::try_from);
        Ok(records.collect::<Result<_, _>>()?)
    }
}
