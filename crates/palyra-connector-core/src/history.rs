//! What was said where: what came in, and what was delivered.

use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::runtime_contracts::{InboundState, RouteReason};
use palyra_common::time::Timestamp;
use palyra_storage::{Database, StorageError};

use crate::inbound::Content;
use crate::operation::Operation;
use crate::store::{inbound_events, outbox};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// When it came in or was delivered.
    pub at: Timestamp,
    /// Its name on the platform, if that is known.
    pub native: Option<String>,
    /// What.
    pub what: What,
}

/// What was said, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Somebody said it.
    In {
        /// Who, by the platform's name.
        sender: String,
        /// What.
        content: Content,
        /// What became of it.
        state: InboundState,
        /// Why, once that is decided.
        reason: Option<RouteReason>,
    },
    /// We did it.
    Out {
        /// The envelope and its part.
        envelope: (palyra_common::ids::EnvelopeId, u32),
        /// What.
        operation: Operation,
    },
}

/// The last messages of a conversation until `until`, the newest first. Content is kept for a month.
pub async fn history(
    db: &Database,
    connector: &ConnectorId,
    conversation: &ConversationId,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<Said>, StorageError> {
    let (connector, conversation) = (connector.clone(), conversation.clone());
    let read = move |tx: &mut palyra_storage::Tx<'_>| {
        let came = inbound_events::said(tx, &connector, &conversation, until, limit)?;
        let went = outbox::ended::said(tx, &connector, &conversation, until, limit)?;
        let came = came.into_iter().map(|came| Said {
            at: came.received_at,
            native: Some(came.message),
            what: What::In {
                sender: came.sender,
                content: came.content,
                state: came.state,
                reason: came.reason,
            },
        });
        let went = went.into_iter().map(|went| Said {
            at: went.at,
            native: went.native,
            what: What::Out {
                envelope: (went.envelope, u32::try_from(went.part).unwrap_or(u32::MAX)),
                operation: went.operation,
            },
        });
        let mut all: Vec<_> = came.chain(went).collect();
        // Stable: of one moment, what came in is older than what answers it.
        all.sort_by_key(|said| (std::cmp::Reverse(said.at), matches!(said.what, What::In { .. })));
        all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(all)
    };
    db.read(read).await
}
