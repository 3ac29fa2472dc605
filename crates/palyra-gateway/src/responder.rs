//! Who answers.

use palyra_common::ids::AgentId;
use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::Input;
use palyra_common::time::Timestamp;
use palyra_connector_core::{
    ChannelError, CleanText, Envelope, InboundEvent, Operation, Outgoing, Release, enqueue,
};
use palyra_storage::Tx;

use crate::engine::{NewInput, Place, submit};
use crate::error::GatewayError;
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

/// Has agents answer: each message becomes a run, or part of one, in the transaction in which it
/// comes in.
pub struct Agency {
    surface: &'static str,
}

impl Agency {
    /// Agents answer what comes in through channels.
    pub fn new() -> Self {
        Self { surface: "channel" }
    }
}

impl Default for Agency {
    fn default() -> Self {
        Self::new()
    }
}

impl Responder for Agency {
    fn respond(
        &self,
        tx: &mut Tx<'_>,
        routed: &Routed<'_>,
        now: Timestamp,
    ) -> Result<(), ChannelError> {
        let event = routed.event;
        let agent = routed.agent.parse::<AgentId>();
        let agent = agent.map_err(|error| ChannelError::Invalid(error.to_string()))?;
        let new = NewInput {
            place: Place::Key {
                key: routed.session_key,
                agent: &agent,
                surface: self.surface,
                reply_to: Some((&event.connector, &event.conversation)),
            },
            input: Input {
                text: event.content.text.clone(),
                sender: event.sender.clone(),
                trust: Trust::Untrusted,
                connector: Some(event.connector.clone()),
            },
            answers: Some(event.message.as_str()),
            parent: None,
            worker: None,
        };
        match submit(tx, &new, now) {
            Ok(_) => Ok(()),
            Err(GatewayError::Storage(error)) => Err(error.into()),
            Err(error) => Err(ChannelError::Invalid(error.to_string())),
        }
    }
}
