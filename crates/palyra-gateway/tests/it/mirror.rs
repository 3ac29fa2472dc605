//! Says back what was said, at once, which shows that the way there and back works.

use palyra_common::ids::{EnvelopeId, NativeMessageId};
use palyra_common::time::Timestamp;
use palyra_connector_core::{ChannelError, CleanText, Envelope, Operation, Release, enqueue};
use palyra_gateway::{Responder, Routed};
use palyra_storage::Tx;

pub(crate) struct Mirror;

/// What every platform takes in one message.
const MAX_TEXT: usize = 2_000;

/// The name of what is said back to a message.
pub(crate) fn reply_to(message: &NativeMessageId) -> EnvelopeId {
    format!("re-{message}").parse().unwrap()
}

impl Responder for Mirror {
    fn respond(
        &self,
        tx: &mut Tx<'_>,
        routed: &Routed<'_>,
        now: Timestamp,
    ) -> Result<Option<EnvelopeId>, ChannelError> {
        let event = routed.event;
        let said = format!("You said: {}", event.content.text.trim());
        let texts = CleanText::pieces(&said, MAX_TEXT, routed.outgoing).into_iter();
        let reply = Some(event.message.clone());
        let parts = texts.map(|text| Operation::Send { text, reply_to: reply.clone() });
        let envelope = Envelope {
            connector: event.connector.clone(),
            id: reply_to(&event.message),
            conversation: event.conversation.clone(),
            parts: parts.collect(),
            release: Release::AtOnce,
        };
        enqueue(tx, &envelope, now)?;
        Ok(Some(envelope.id))
    }
}
