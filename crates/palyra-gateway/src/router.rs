//! Decides which messages reach an agent.

use std::sync::Arc;

use palyra_common::runtime_contracts::RouteReason;
use palyra_common::time::Timestamp;
use palyra_connector_core::{ChannelError, InboundEvent, InboundSink, Outgoing, Taken, connector};
use palyra_policy::route::{Decision, Message, Pairing, Place, Switch, route};
use palyra_storage::{Database, Tx};

use crate::responder::{Responder, Routed};
use crate::rules::canonical;
use crate::store::router_rules;

/// Takes messages for agents, by the rules that there are.
pub struct ChannelRouter {
    responder: Arc<dyn Responder>,
}

impl ChannelRouter {
    /// Hands what is routed to `responder`.
    pub fn new(responder: Arc<dyn Responder>) -> Self {
        Self { responder }
    }
}

impl InboundSink for ChannelRouter {
    fn accept(
        &self,
        tx: &mut Tx<'_>,
        event: &InboundEvent,
        outgoing: &dyn Outgoing,
        now: Timestamp,
    ) -> Result<Taken, ChannelError> {
        match decide(tx, event, None)? {
            Decision::Route { agent, session_key, reason } => {
                let routed = Routed { event, agent: &agent, session_key: &session_key, outgoing };
                let reply = self.responder.respond(tx, &routed, now)?;
                Ok(Taken::Routed { reason, session_key, reply })
            }
            // Nobody can be paired yet, so nobody is offered it.
            Decision::Pair => Ok(Taken::Ignored(RouteReason::PairingNeeded)),
            Decision::Ignore(reason) => Ok(Taken::Ignored(reason)),
        }
    }
}

/// Looks what would become of messages.
pub struct Preview {
    db: Database,
}

impl Preview {
    /// By the rules in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// What would become of a message, by the rules that there are or by `instead`. Nothing is
    /// written and nobody answers.
    pub async fn of(
        &self,
        event: InboundEvent,
        instead: Option<palyra_common::route::Rule>,
    ) -> Result<Decision, ChannelError> {
        let read = move |tx: &mut Tx<'_>| match decide(tx, &event, instead.as_ref()) {
            Err(ChannelError::Storage(error)) => Err(error),
            decided => Ok(decided),
        };
        self.db.read(read).await?
    }
}

fn decide(
    tx: &mut Tx<'_>,
    event: &InboundEvent,
    instead: Option<&palyra_common::route::Rule>,
) -> Result<Decision, ChannelError> {
    let found = connector(tx, &event.connector)?;
    let found = found.ok_or_else(|| ChannelError::NoConnector(event.connector.clone()))?;
    let conversation = event.conversation.as_str();
    let rules = match instead {
        Some(rule) => vec![
            canonical(&found.kind, rule)
                .map_err(|error| ChannelError::Invalid(error.to_string()))?,
        ],
        None => router_rules::covering(tx, &event.connector, conversation)?,
    };
    let place = match event.content.direct {
        true => Place::Direct { conversation },
        false => Place::Shared { conversation },
    };
    let message = Message {
        place,
        thread: event.thread.as_deref(),
        sender: &event.sender,
        author: event.content.author(),
        pairing: Pairing::None,
        text_bytes: event.content.text.trim().len(),
        attachments: event.content.attachments,
        mention: event.content.mention(),
        audience: event.content.audience(),
    };
    let switch = if found.enabled { Switch::On } else { Switch::Off };
    Ok(route(event.connector.as_str(), switch, &message, &rules))
}
