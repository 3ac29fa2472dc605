//! `palyra agents set`

use palyra_common::api::AgentChange;
use palyra_common::ids::AgentId;

use super::spec::{self, SpecArguments};
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Change what an agent is; fields that are not named stay as they are
///
/// Runs that begin from now on go by it, and those that wait when they go on.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra agents set default models=gpt,offline
  palyra agents set default 'instructions=Answer in one sentence.'
  palyra agents set default limits.turns=8 budgets.day.micros=2000000"
)]
pub(crate) struct Arguments {
    /// The agent
    #[arg(value_name = "AGENT")]
    agent: AgentId,
    #[command(flatten)]
    spec: SpecArguments,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    if arguments.spec.is_empty() {
        return Err(Failure::asked("say what to change, with FIELD=VALUE or --instructions-file"));
    }
    let client = context.client()?;
    let was = client.agent(&arguments.agent).await?;
    // Only if nobody else changes it meanwhile: what they said would be undone.
    let change = AgentChange { spec: arguments.spec.of(&was.spec)?, version: Some(was.version) };
    context.out().show(&client.change_agent(&was.id, &change).await?, spec::text)
}
