//! `palyra sessions fork`

use palyra_common::api::acp::params::SessionFork;
use palyra_common::api::{AgentSession, SessionSurface};
use palyra_common::ids::{RunId, SessionId};

use super::show;
use crate::context::Context;
use crate::failure::Outcome;
use crate::patience::{self, patiently};

/// Begin a conversation that knows what was said in another one
///
/// The other one stays as it is. What is said there from now on is not known here.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra sessions fork 01HZ3V9K8M2QF6T7Y4W5X6A7B8
  palyra sessions fork 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --through 01HZ3VB5XN4R8T2Q6W9Y1Z3K5M --title \"Plan B\""
)]
pub(crate) struct Arguments {
    /// The session
    #[arg(value_name = "SESSION")]
    session: SessionId,
    /// The last run of it that is known; without it, the last that has ended
    #[arg(long, value_name = "RUN")]
    through: Option<RunId>,
    /// The name of the new one; without it, the same
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { session, through, title } = arguments;
    let fork = SessionFork { session, through, title, surface: Some(SessionSurface::Cli) };
    let (client, key) = (context.client()?, patience::name::<String>("fork")?);
    let forked: AgentSession =
        patiently(context.out(), async || client.command("session.fork", &fork, &key).await)
            .await?;
    context.out().show(&forked, show::fields)
}
