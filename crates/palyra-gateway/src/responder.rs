//! Who answers.

use palyra_common::ids::{AgentId, EnvelopeId};
use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::Input;
use palyra_common::time::Timestamp;
use palyra_connector_core::{ChannelError, InboundEvent, Outgoing};
use palyra_storage::Tx;

use crate::engine::{Hands, NewInput, Place, submit};
use crate::error::GatewayError;
use crate::reply::reply_envelope;
use crate::sessions::MAX_INPUT_BYTES;

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
    /// Takes a message on, and names its answer if one is to go back.
    fn respond(
        &self,
        tx: &mut Tx<'_>,
        routed: &Routed<'_>,
        now: Timestamp,
    ) -> Result<Option<EnvelopeId>, ChannelError>;
}

/// Has agents answer: each message becomes a run, or part of one, in the transaction in which it
/// comes in.
pub struct Agency {
    hands: Hands,
}

/// Where people talk who come through a channel.
const SURFACE: &str = "channel";

impl Agency {
    /// Agents answer what comes in through channels, at once where one of `hands` is free.
    pub fn new(hands: Hands) -> Self {
        Self { hands }
    }
}

impl Responder for Agency {
    fn respond(
        &self,
        tx: &mut Tx<'_>,
        routed: &Routed<'_>,
        now: Timestamp,
    ) -> Result<Option<EnvelopeId>, ChannelError> {
        let event = routed.event;
        let agent = routed.agent.parse::<AgentId>();
        let agent = agent.map_err(|error| ChannelError::Invalid(error.to_string()))?;
        let new = NewInput {
            place: Place::Key {
                key: routed.session_key,
                agent: &agent,
                surface: SURFACE,
                reply_to: Some((&event.connector, &event.conversation)),
            },
            input: Input {
                text: bounded(&event.content.text),
                sender: event.sender.clone(),
                trust: Trust::Untrusted,
                connector: Some(event.connector.clone()),
            },
            answers: Some(event.message.as_str()),
            parent: None,
            worker: self.hands.take(),
        };
        let answered = submit(tx, &new, now).and_then(|taken| reply_envelope(taken.run));
        match answered {
            Ok(reply) => Ok(Some(reply)),
            Err(GatewayError::Storage(error)) => Err(error.into()),
            Err(error) => Err(ChannelError::Invalid(error.to_string())),
        }
    }
}

/// As much of a message as an agent takes; whoever reads it sees that there was more.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_INPUT_BYTES {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(MAX_INPUT_BYTES);
    format!("{}\n[the message was cut here: it has {} bytes]", &text[..cut], text.len())
}
