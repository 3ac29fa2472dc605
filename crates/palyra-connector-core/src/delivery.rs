//! Telling whoever has sent a message what became of it.

use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Through which connector it went.
    pub connector: &'a ConnectorId,
    /// The message.
    pub envelope: &'a EnvelopeId,
    /// `delivered` once its last part is; `dead`, `cancelled` or `unknown` if the rest of it waits
    /// for a human, or for nothing. It may be sent after all, and is told again then.
    pub state: OutboxState,
}

/// Whoever keeps a record of the messages that it sends.
///
/// Both are called for every message, whoever has sent it, and do nothing about those of others: they
/// know their own by name. They are part of the transaction in which it is written down what became of
/// the message, so that neither is there without the other, and may be run more than once.
pub trait Deliveries: Send + Sync {
    /// Locks what is about to be written for messages, before they are locked themselves: whoever sends
    /// locks in that order, too.
    fn lock(&self, tx: &mut Tx<'_>, messages: &[&EnvelopeId]) -> Result<(), StorageError>;

    /// Writes down what became of a message.
    fn settled(
        &self,
        tx: &mut Tx<'_>,
        delivery: Delivery<'_>,
        at: Timestamp,
    ) -> Result<(), StorageError>;
}
