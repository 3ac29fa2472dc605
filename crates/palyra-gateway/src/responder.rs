//! Who answers.

use palyra_common::time::Timestamp;
use palyra_connector_core::{
    ChannelError, CleanText, Envelope, InboundEvent, Operation, Outgoing, Release, enqueue,
};
use palyra_storage::Tx;

use crate::router::reply_envelope;

/// A message that an agent is to have.
pub struct Routed<'a> {
    /// The message.
    pub event: &'a InboundEvent,
    /// The agent.
    pub agent: &'a str,
    /// The conversation that it continues.
    pub session_key: &'a str,
    /// Cleans what is answered.
    pub outgoing: &'a dyn Outgoing,
}

/// Answers messages. Called in the transaction in which they come in, which may be run again before
/// it is committed: what is to be done about a message is written down, and done later.
pub trait Responder: Send + Sync {
    /// Takes a message on.
    fn respond(
        &self,
        tx: &mut Tx<'_>,
        routed: &Routed<'_>,
        now: Timestamp,
    ) -> Result<(), ChannelError>;
}

/// Says back what was said, which shows that the way there and back works.
pub struct Mirror;

/// What every platform takes in one message.
const MAX_TEXT: usize = 2_000;
/// An answer that is longer is not worth reading.
const MAX_PARTS: usize = 16;

impl Responder for Mirror {
    fn respond(
        &self,
        tx: &mut Tx<'_>,
        routed: &Routed<'_>,
        now: Timestamp,
    ) -> Result<(), ChannelError> {
        let event = routed.event;
        let said = format!("You said: {}", event.content.text.trim());
        let texts = CleanText::pieces(&said, MAX_TEXT, routed.outgoing);
        let texts = texts.into_iter().take(MAX_PARTS);
        let reply_to = Some(event.message.clone());
        let parts = texts.map(|text| Operation::Send { text, reply_to: reply_to.clone() });
        let envelope = Envelope {
            connector: event.connector.clone(),
            id: reply_envelope(&event.connector, &event.message)?,
            conversation: event.conversation.clone(),
            parts: parts.collect(),
            release: Release::AtOnce,
        };
        enqueue(tx, &envelope, now).map(drop)
    }
}
