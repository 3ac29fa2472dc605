//! `channel.read`.

use futures_util::future::BoxFuture;
use palyra_common::time::Timestamp;
use palyra_connector_core::{AuthorKind, Operation, Said, What, history};
use palyra_storage::{Database, describe};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Target, properties};
use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::ask::{arguments, reads};

const LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 50;
/// So much is shown of one message.
const MAX_CHARS: usize = 4_000;

pub(in crate::tools) struct Read(pub(in crate::tools) Database);

#[derive(Deserialize)]
struct Wanted {
    connector: Option<String>,
    conversation: Option<String>,
    limit: Option<u32>,
}

impl Tool for Read {
    fn info(&self) -> ToolInfo {
        let (connector, conversation) = properties();
        ToolInfo {
            name: "channel.read",
            description: "Reads the last messages of a conversation in a channel, the newest last, \
                          one JSON object per line.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "connector": connector,
                    "conversation": conversation,
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
                },
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let target = self.target(call, &arguments(call)?).await?;
            Ok(reads(target.reach, format!("read what was said {}", target.place())))
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            let Target { connector, conversation, .. } = self.target(call, &wanted).await?;
            let limit = wanted.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT);
            let said = history(&self.0, &connector, &conversation, Timestamp::MAX, limit).await;
            let said = said.map_err(|error| ToolFault::new(describe(&error)))?;
            let lines: Vec<_> = said.iter().rev().map(|said| line(said).to_string()).collect();
            Ok(ToolDone::untrusted(match lines.is_empty() {
                true => "[nothing was said there, or it is not kept any more]".to_owned(),
                false => lines.join("\n"),
            }))
        })
    }
}

impl Read {
    async fn target(&self, call: &Invocation, wanted: &Wanted) -> Result<Target, ToolFault> {
        let (connector, conversation) = (&wanted.connector, &wanted.conversation);
        Target::find(&self.0, call, connector.as_deref(), conversation.as_deref()).await
    }
}

/// As JSON, so that no message can look like two.
fn line(said: &Said) -> Value {
    let (at, id) = (said.at.to_string(), &said.native);
    match &said.what {
        What::In { sender, content, .. } => {
            let from = match content.author {
                AuthorKind::Own => "you",
                AuthorKind::Person | AuthorKind::Bot => sender,
            };
            json!({"at": at, "id": id, "from": from, "text": short(&content.text)})
        }
        What::Out { operation: Operation::Send { text, .. }, .. } => {
            json!({"at": at, "id": id, "from": "you", "text": short(text.as_str())})
        }
        What::Out { operation, .. } => {
            json!({"at": at, "id": id, "from": "you", "did": operation})
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
