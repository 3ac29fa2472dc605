//! `palyra channels pause` and `resume`

use palyra_common::api::PauseReason;
use palyra_common::ids::ConnectorId;

use super::show;
use crate::context::Context;
use crate::failure::Outcome;

/// Keep what is in the queue of a channel from going out
///
/// Messages are still taken in and answered; the answers wait.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels pause echo:default --reason \"the platform is down\""
)]
pub(crate) struct PauseArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// Why, for whoever wonders
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Let what is in the queue of a channel go out again
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = "Examples:\n  palyra channels resume echo:default")]
pub(crate) struct ResumeArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
}

pub(super) async fn pause(context: &Context, arguments: PauseArguments) -> Outcome {
    let reason = PauseReason { reason: arguments.reason };
    let paused = context.client()?.pause_channel(&arguments.channel, &reason).await?;
    context.out().show(&paused, show::text)
}

pub(super) async fn resume(context: &Context, arguments: ResumeArguments) -> Outcome {
    let resumed = context.client()?.resume_channel(&arguments.channel).await?;
    context.out().show(&resumed, show::text)
}
