//! `palyra agents remove`

use palyra_common::ids::AgentId;
use serde_json::json;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::printable;
use crate::prompt;

/// Remove an agent; the default one stays
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = "Examples:\n  palyra agents remove ops --yes")]
pub(crate) struct Arguments {
    /// The agent
    #[arg(value_name = "AGENT")]
    agent: AgentId,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let (out, client) = (context.out(), context.client()?);
    let id = printable(arguments.agent.as_str());
    let question = format!("Remove the agent {id}? Conversations with it get no answers any more.");
    prompt::confirm(out, &question, arguments.yes)?;
    client.remove_agent(&arguments.agent).await?;
    let removed = json!({ "id": arguments.agent, "removed": true });
    out.show(&removed, |_, _| format!("The agent {id} is removed.\n"))
}
