//! What is sent.

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, NativeMessageId};
use serde::{Deserialize, Serialize};

use crate::outgoing::CleanText;

/// One thing to do on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Operation {
    /// Say something.
    Send {
        /// What.
        text: CleanText,
        /// The message that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<NativeMessageId>,
    },
    /// Say something else instead of what was said.
    Edit {
        /// The message.
        message: NativeMessageId,
        /// What it says from now on.
        text: CleanText,
    },
    /// Take a message back.
    Delete {
        /// The message.
        message: NativeMessageId,
    },
    /// Put a reaction on a message.
    React {
        /// The message.
        message: NativeMessageId,
        /// The reaction, in the platform's own words.
        reaction: CleanText,
    },
    /// Take a reaction back.
    Unreact {
        /// The message.
        message: NativeMessageId,
        /// The reaction, in the platform's own words.
        reaction: CleanText,
    },
}

impl Operation {
    /// Whether doing it twice is doing it once, whatever the platform remembers.
    pub fn is_idempotent(&self) -> bool {
        match self {
            Self::Send { .. } => false,
            Self::Edit { .. } | Self::Delete { .. } | Self::React { .. } | Self::Unreact { .. } => {
                true
            }
        }
    }
}

/// Which entry of the outbox: a part of an envelope of a connector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    /// Through which connector it goes out.
    pub connector: ConnectorId,
    /// The message.
    pub envelope: EnvelopeId,
    /// Which part of it, from 0.
    pub part: u32,
}

/// A message to be sent. What a platform takes only in pieces is cut before it comes here, and the
/// pieces go out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Through which connector.
    pub connector: ConnectorId,
    /// Its name.
    pub id: EnvelopeId,
    /// Where to.
    pub conversation: ConversationId,
    /// Its parts, in order; at least one.
    pub parts: Vec<Operation>,
    /// Whether it has to be approved first.
    pub release: Release,
}

/// Whether a message has to be approved before it goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// It goes out when it is its turn.
    AtOnce,
    /// It waits for a human.
    AfterApproval,
}
