//! `palyra runs abort`, `pause` and `resume`

use palyra_client::RunWish;
use palyra_common::ids::RunId;

use super::show;
use crate::context::Context;
use crate::failure::Outcome;

/// Stop a run at once
///
/// A tool that was at work is interrupted; if nobody knows what it did, its run says so.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs abort 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct AbortArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

/// Let a run wait until it is resumed
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs pause 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct PauseArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

/// Let a run go on that was paused
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs resume 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct ResumeArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

pub(super) async fn abort(context: &Context, arguments: AbortArguments) -> Outcome {
    wish(context, arguments.run, RunWish::Abort).await
}

pub(super) async fn pause(context: &Context, arguments: PauseArguments) -> Outcome {
    wish(context, arguments.run, RunWish::Pause).await
}

pub(super) async fn resume(context: &Context, arguments: ResumeArguments) -> Outcome {
    wish(context, arguments.run, RunWish::Resume).await
}

async fn wish(context: &Context, run: RunId, wish: RunWish) -> Outcome {
    let now = context.client()?.wish(run, wish).await?;
    context.out().show(&now, show::text)
}
