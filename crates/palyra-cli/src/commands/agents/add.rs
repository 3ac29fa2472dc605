//! `palyra agents add`

use palyra_common::agent::AgentSpec;
use palyra_common::api::NewAgent;
use palyra_common::ids::AgentId;

use super::spec::{self, SpecArguments};
use crate::context::Context;
use crate::failure::Outcome;

/// Make an agent
///
/// FIELD=VALUE says what differs from the default: a helpful assistant that thinks with the models of
/// models.default, may use all tools, and has no budget. VALUE is JSON, or a text; models and tools are
/// lists with commas. Money is in millionths of a dollar.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra agents add ops models=gpt,offline 'tools=fs.*, time.now'
  palyra agents add ops --instructions-file ops.md limits.turns=8 budgets.day.micros=2000000"
)]
pub(crate) struct Arguments {
    /// Its id
    #[arg(value_name = "AGENT")]
    agent: AgentId,
    #[command(flatten)]
    spec: SpecArguments,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { agent: id, spec } = arguments;
    let spec = spec.of(&AgentSpec { name: id.to_string(), ..AgentSpec::default() })?;
    let added = context.client()?.add_agent(&NewAgent { id, spec }).await?;
    context.out().show(&added, spec::text)
}
