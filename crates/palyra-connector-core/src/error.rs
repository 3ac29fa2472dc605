//! What can go wrong with channels.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId};
use palyra_common::runtime_contracts::OutboxState;
use palyra_storage::{StorageError, describe};

use crate::operation::EntryKey;

/// A failed operation. Unless storage says otherwise, nothing was changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// There is no such connector.
    #[error("there is no connector {0}")]
    NoConnector(ConnectorId),
    /// There is no such entry in the outbox.
    #[error("there is no message {} (part {}) in the outbox of {}", .0.envelope, .0.part, .0.connector)]
    NoEntry(EntryKey),
    /// The message is no dead letter, whether there is such a message or not.
    #[error("there is no dead letter {envelope} of {connector}")]
    NoDeadLetter {
        /// Of which connector.
        connector: ConnectorId,
        /// Which message.
        envelope: EnvelopeId,
    },
    /// The entry is not in a state in which that can be done to it.
    #[error("the message {} is {state}, so it cannot be {wanted}", .key.envelope)]
    NotNow {
        /// Which entry.
        key: EntryKey,
        /// Where it is in its life.
        state: OutboxState,
        /// What was wanted of it: `replayed`.
        wanted: &'static str,
    },
    /// A message without parts, or with too many.
    #[error("a message has from 1 to {most} parts, not {parts}")]
    Parts {
        /// How many it has.
        parts: usize,
        /// How many it may have.
        most: usize,
    },
    /// Too much waits in a conversation.
    #[error("as many messages as may ({most}) wait in the conversation {conversation}")]
    LaneFull {
        /// The conversation.
        conversation: ConversationId,
        /// How many may wait.
        most: u32,
    },
    /// Another message was enqueued under this name.
    #[error("another message was sent under the name {0}: a new message needs a name of its own")]
    OtherMessage(EnvelopeId),
    /// The connector does not run on this node, if it runs at all.
    #[error("{0} does not run here, so its platform cannot be asked")]
    NotHere(ConnectorId),
    /// The platform cannot do that.
    #[error("the platform of {connector} cannot {what}")]
    NotCapable {
        /// Whose platform.
        connector: ConnectorId,
        /// What it cannot do: `search what was said`.
        what: &'static str,
    },
    /// The platform was asked and has not done it.
    #[error("the platform of {connector} did not answer as it should: {reason}")]
    Platform {
        /// Whose platform.
        connector: ConnectorId,
        /// Why, in its words.
        reason: String,
    },
    /// It makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The database.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ChannelError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoConnector(_) | Self::NoEntry(_) | Self::NoDeadLetter { .. } => {
                ErrorCode::CommonNotFound
            }
            Self::NotNow { .. } | Self::OtherMessage(_) => ErrorCode::CommonConflict,
            Self::Parts { .. } | Self::Invalid(_) => ErrorCode::CommonInvalidInput,
            Self::LaneFull { .. } => ErrorCode::ChannelQueueFull,
            Self::NotHere(_) => ErrorCode::ChannelNotHere,
            Self::NotCapable { .. } => ErrorCode::ChannelNotCapable,
            Self::Platform { .. } => ErrorCode::ChannelPlatformFailed,
            Self::Storage(error) => error.code(),
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        match self {
            Self::Storage(error) => error.envelope(),
            Self::NoConnector(_)
            | Self::NoEntry(_)
            | Self::NoDeadLetter { .. }
            | Self::NotNow { .. }
            | Self::Parts { .. }
            | Self::OtherMessage(_)
            | Self::NotHere(_)
            | Self::NotCapable { .. }
            | Self::Platform { .. }
            | Self::Invalid(_)
            | Self::LaneFull { .. } => StableErrorEnvelope::new(self.code(), describe(self)),
        }
    }
}
