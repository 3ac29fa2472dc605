//! `agent.delegate`.

use futures_util::future::BoxFuture;
use palyra_common::ids::AgentId;
use palyra_common::runtime_contracts::{RiskLevel, ToolEffect, ToolReach};
use palyra_storage::{Database, describe};
use serde::Deserialize;
use serde_json::json;

use super::ask::arguments;
use super::show::cut;
use crate::engine::MOST_DEPTH;
use crate::sessions::MAX_INPUT_BYTES;
use crate::store::agents;
use crate::tool::{Delegated, Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};

#[cfg(test)]
mod tests;

/// Gives work to another agent. The run that does it is made in the transaction that follows, in a
/// conversation named after this call: making the call again finds it there. What that run does is
/// decided about in that run, which trusts its task as far as this one is trusted.
pub(super) struct Delegate(pub(super) Database);

#[derive(Deserialize)]
struct Wanted {
    agent: String,
    task: String,
}

impl Tool for Delegate {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: super::DELEGATE,
            description: "Gives a task to another agent and waits for its answer. It sees nothing \
                          of this conversation: say all that it needs to know.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "agent": {
                        "type": "string", "minLength": 1, "maxLength": 128,
                        "description": "The agent.",
                    },
                    "task": {
                        "type": "string", "minLength": 1,
                        "description": "What it is to do, and what to answer.",
                    },
                },
                "required": ["agent", "task"],
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let Delegated { agent, task } = self.delegated(call).await?;
            Ok(Weighed {
                effect: ToolEffect::Idempotent,
                risk: RiskLevel::Low,
                reach: ToolReach::OwnData,
                summary: format!("let the agent {agent} do this: {}", cut(&task, 1_000)),
                bindings: Vec::new(),
                with_result: true,
            })
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let delegated = Some(self.delegated(call).await?);
            Ok(ToolDone { delegated, ..ToolDone::own("") })
        })
    }
}

impl Delegate {
    async fn delegated(&self, call: &Invocation) -> Result<Delegated, ToolFault> {
        let Wanted { agent, task } = arguments(call)?;
        if call.depth >= MOST_DEPTH {
            let what =
                format!("tasks are given on at most {MOST_DEPTH} times: do this one yourself");
            return Err(ToolFault::new(what));
        }
        if task.trim().is_empty() || task.len() > MAX_INPUT_BYTES {
            let what = format!("a task is not empty, and has at most {MAX_INPUT_BYTES} bytes");
            return Err(ToolFault::new(what));
        }
        let agent: AgentId = agent.parse().map_err(|error| ToolFault::new(format!("{error}")))?;
        let wanted = agent.clone();
        let found = self.0.read(move |tx| agents::one(tx, &wanted)).await;
        match found.map_err(|error| ToolFault::new(describe(&error)))? {
            Some(_) => Ok(Delegated { agent, task }),
            None => Err(ToolFault::new(format!("there is no agent {agent}"))),
        }
    }
}
