//! `channel.*`: messages of conversations.

mod read;
mod send;
#[cfg(test)]
mod tests;

use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::runtime_contracts::ToolReach;
use palyra_storage::{Database, describe};
use serde_json::{Value, json};

use crate::tool::{Invocation, ToolFault};

pub(super) use read::Read;
pub(super) use send::Send;

/// A conversation on a platform.
struct Target {
    connector: ConnectorId,
    conversation: ConversationId,
    reach: ToolReach,
}

/// How a schema describes one.
fn properties() -> (Value, Value) {
    let id = |what: &str| json!({"type": "string", "minLength": 1, "maxLength": 128, "description": what});
    (
        id("The connector; without it and the conversation, where you were asked."),
        id("The conversation there."),
    )
}

impl Target {
    /// The conversation that asked, or the one that is named.
    async fn find(
        db: &Database,
        call: &Invocation,
        connector: Option<&str>,
        conversation: Option<&str>,
    ) -> Result<Self, ToolFault> {
        let here = call.place.reply_to.as_ref();
        let target = match (connector, conversation) {
            (None, None) => {
                let (connector, conversation) = here.cloned().ok_or_else(|| {
                    ToolFault::new(
                        "you were not asked in a channel: name connector and conversation, or just \
                         answer",
                    )
                })?;
                Self { connector, conversation, reach: ToolReach::Here }
            }
            (Some(connector), Some(conversation)) => {
                let wrong = |error| ToolFault::new(format!("{error}"));
                let named =
                    (connector.parse().map_err(wrong)?, conversation.parse().map_err(wrong)?);
                let reach =
                    if here == Some(&named) { ToolReach::Here } else { ToolReach::Elsewhere };
                Self { connector: named.0, conversation: named.1, reach }
            }
            (Some(_), None) | (None, Some(_)) => {
                return Err(ToolFault::new("name both connector and conversation, or neither"));
            }
        };
        let wanted = target.connector.clone();
        let found = db.read(move |tx| palyra_connector_core::connector(tx, &wanted)).await;
        match found.map_err(|error| ToolFault::new(describe(&error)))? {
            Some(_) => Ok(target),
            None => Err(ToolFault::new(format!("there is no connector {}", target.connector))),
        }
    }

    fn place(&self) -> String {
        match self.reach {
            ToolReach::Here | ToolReach::OwnData => "in this conversation".to_owned(),
            ToolReach::Elsewhere => format!("in {} of {}", self.conversation, self.connector),
        }
    }
}
