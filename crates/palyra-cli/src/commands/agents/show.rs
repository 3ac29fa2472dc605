//! `palyra agents show`

use palyra_common::ids::AgentId;

use super::spec;
use crate::context::Context;
use crate::failure::Outcome;

/// Show what an agent is told, what it thinks with, and what it may do
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra agents show default\n  palyra agents show default --json"
)]
pub(crate) struct Arguments {
    /// The agent
    #[arg(value_name = "AGENT")]
    agent: AgentId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let agent = context.client()?.agent(&arguments.agent).await?;
    context.out().show(&agent, spec::text)
}
