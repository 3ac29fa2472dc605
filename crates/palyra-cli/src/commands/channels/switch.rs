//! `palyra channels enable` and `disable`

use palyra_common::ids::ConnectorId;

use super::show;
use crate::context::Context;
use crate::failure::Outcome;

/// Switch a channel on, or try one again that lacked something
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = "Examples:\n  palyra channels enable echo:default")]
pub(crate) struct EnableArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
}

/// Switch a channel off
///
/// What waits in its queue is kept, and does not grow old.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = "Examples:\n  palyra channels disable echo:default")]
pub(crate) struct DisableArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
}

pub(super) async fn enable(context: &Context, arguments: EnableArguments) -> Outcome {
    switch(context, &arguments.channel, true).await
}

pub(super) async fn disable(context: &Context, arguments: DisableArguments) -> Outcome {
    switch(context, &arguments.channel, false).await
}

async fn switch(context: &Context, channel: &ConnectorId, on: bool) -> Outcome {
    let switched = context.client()?.switch_channel(channel, on).await?;
    context.out().show(&switched, show::text)
}
