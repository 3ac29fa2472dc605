//! `palyra sessions reset`

use palyra_common::api::AgentSession;
use palyra_common::api::acp::params::SessionOf;
use palyra_common::ids::SessionId;

use super::show;
use crate::context::Context;
use crate::failure::Outcome;
use crate::patience::{self, patiently};

/// Let a conversation go on without what was said in it
///
/// That can still be read, and is not shown to the agent any more. A run that is under way goes on.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra sessions reset 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct Arguments {
    /// The session
    #[arg(value_name = "SESSION")]
    session: SessionId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let of = SessionOf { session: arguments.session };
    let (client, key) = (context.client()?, patience::name::<String>("reset")?);
    let reset: AgentSession =
        patiently(context.out(), async || client.command("session.reset", &of, &key).await).await?;
    context.out().show(&reset, show::fields)?;
    context
        .out()
        .note("the agent is not shown any more what was said so far; it can still be read");
    Ok(())
}
