//! `channel.send`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::{RiskLevel, ToolEffect, ToolReach};
use palyra_connector_core::{CleanText, Envelope, Operation, Outgoing, Release};
use palyra_storage::Database;
use serde::Deserialize;
use serde_json::json;

use super::{Target, properties};
use crate::reply::call_envelope;
use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::ask::arguments;
use crate::tools::show::cut;

/// What every platform takes in one message.
const MAX_TEXT: usize = 2_000;
/// More is not worth reading.
const MAX_PARTS: usize = 16;

/// Sends nothing itself: the message is put into the queue in the transaction that writes the result
/// down, under a name that makes it the same message however often the call is made.
pub(in crate::tools) struct Send {
    pub(in crate::tools) db: Database,
    pub(in crate::tools) outgoing: Arc<dyn Outgoing>,
}

#[derive(Deserialize)]
struct Wanted {
    text: String,
    connector: Option<String>,
    conversation: Option<String>,
}

impl Tool for Send {
    fn info(&self) -> ToolInfo {
        let (connector, conversation) = properties();
        ToolInfo {
            name: "channel.send",
            description: "Puts a message into the queue of a channel. Not needed to answer: your \
                          answer goes to where you were asked by itself.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string", "minLength": 1, "description": "What to say."},
                    "connector": connector,
                    "conversation": conversation,
                },
                "required": ["text"],
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            let target = self.target(call, &wanted).await?;
            let parts = self.parts(&wanted.text)?.len();
            let parts = if parts > 1 { format!(" ({parts} messages)") } else { String::new() };
            Ok(Weighed {
                effect: ToolEffect::SideEffect,
                risk: match target.reach {
                    ToolReach::Here | ToolReach::OwnData => RiskLevel::Low,
                    ToolReach::Elsewhere => RiskLevel::Medium,
                },
                reach: target.reach,
                summary: format!("say {}{parts}: {}", target.place(), cut(&wanted.text, 1_000)),
                bindings: Vec::new(),
                with_result: true,
            })
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            let target = self.target(call, &wanted).await?;
            let id = call_envelope(call.run, &call.call);
            let envelope = Envelope {
                id: id.map_err(|error| ToolFault::new(error.to_string()))?,
                parts: self.parts(&wanted.text)?,
                release: Release::AtOnce,
                connector: target.connector,
                conversation: target.conversation,
            };
            let told = format!("enqueued as {}: it is sent when it is its turn", envelope.id);
            Ok(ToolDone { sends: vec![envelope], ..ToolDone::own(told) })
        })
    }
}

impl Send {
    async fn target(&self, call: &Invocation, wanted: &Wanted) -> Result<Target, ToolFault> {
        let (connector, conversation) = (&wanted.connector, &wanted.conversation);
        Target::find(&self.db, call, connector.as_deref(), conversation.as_deref()).await
    }

    fn parts(&self, text: &str) -> Result<Vec<Operation>, ToolFault> {
        let texts = CleanText::pieces(text, MAX_TEXT, &*self.outgoing);
        if texts.is_empty() {
            return Err(ToolFault::new("the text is empty: say something"));
        }
        if texts.len() > MAX_PARTS {
            let count = texts.len();
            let what = format!("this would be {count} messages: at most {MAX_PARTS} are sent");
            return Err(ToolFault::new(what));
        }
        Ok(texts.into_iter().map(|text| Operation::Send { text, reply_to: None }).collect())
    }
}
