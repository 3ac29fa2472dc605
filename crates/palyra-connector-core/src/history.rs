//! What was said where: what came in, and what was delivered.

use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::runtime_contracts::{InboundState, RouteReason};
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::{Database, StorageError};

use crate::inbound::Content;
use crate::operation::Operation;
use crate::store::{inbound_events, outbox};

/// So many messages are looked at together, which is more than are said in one moment,
const PAGE: u32 = 500;
/// and so many times, before whoever asked is told where to go on.
const PAGES: u32 = 4;

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

impl Said {
    fn text(&self) -> Option<&str> {
        match &self.what {
            What::In { content, .. } => Some(&content.text),
            What::Out { operation: Operation::Send { text, .. }, .. }
            | What::Out { operation: Operation::Edit { text, .. }, .. } => Some(text.as_str()),
            What::Out {
                operation:
                    Operation::Delete { .. } | Operation::React { .. } | Operation::Unreact { .. },
                ..
            } => None,
        }
    }
}

/// What of a conversation is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Nothing after this.
    pub until: Timestamp,
    /// Only what contains this text, whether in capitals or not.
    pub containing: Option<String>,
    /// So many messages, and those of the same moment as the last.
    pub limit: u32,
}

/// Messages that were wanted, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Them.
    pub said: Vec<Said>,
    /// Until when to ask for those before them, unless there is none.
    pub more: Option<Timestamp>,
}

/// Reads back in a conversation. What is looked for may be far away: then it is told where to go on,
/// with nothing found.
pub async fn remember(
    db: &Database,
    connector: &ConnectorId,
    conversation: &ConversationId,
    wanted: Wanted,
) -> Result<Remembered, StorageError> {
    let Wanted { mut until, containing, limit } = wanted;
    let containing = containing.unwrap_or_default().to_lowercase();
    let is_wanted = |said: &Said| {
        containing.is_empty()
            || said.text().is_some_and(|text| text.to_lowercase().contains(&containing))
    };
    let mut said: Vec<Said> = Vec::new();
    for _ in 0..PAGES {
        let read = history(db, connector, conversation, until, PAGE).await?;
        let oldest = read.last().map(|said| said.at);
        let is_full = u32::try_from(read.len()) == Ok(PAGE);
        for one in read {
            // Not all of its moment may be here, but they are on the next page.
            let is_cut = is_full && Some(one.at) == oldest && one.at < until;
            if is_cut || !is_wanted(&one) {
                continue;
            }
            let is_enough = u32::try_from(said.len()).is_ok_and(|found| found >= limit);
            if is_enough && said.last().is_none_or(|last| one.at < last.at) {
                return Ok(Remembered { said, more: Some(one.at) });
            }
            said.push(one);
        }
        match oldest {
            Some(oldest) if is_full && oldest < until => until = oldest,
            // A page of a single moment: whoever stays there never gets any further.
            Some(oldest) if is_full => until = oldest - Duration::from_millis(1),
            _ => return Ok(Remembered { said, more: None }),
        }
    }
    Ok(Remembered { said, more: Some(until) })
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
