//! `palyra channels unknown`

use palyra_client::Waiting;
use palyra_common::api::{ResolveUnknown, UnknownResolution};
use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::OutboxState;

use super::entries::{Entry, PageArguments, decided, list};
use crate::context::Context;
use crate::failure::Outcome;

/// Look at messages of which nobody knows whether they arrived, and say what is the case
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Resolve(ResolveArguments),
}

/// List messages of which nobody knows whether they arrived, the longest ago first
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels unknown list echo:default"
)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    page: PageArguments,
}

/// Say whether a message arrived
///
/// Look on the platform first: --resend sends it again, and if it had arrived it is there twice.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    group(clap::ArgGroup::new("what").required(true).args(["delivered", "resend"])),
    after_help = "\
Examples:
  palyra channels unknown resolve echo:default send-01HZ --delivered
  palyra channels unknown resolve echo:default send-01HZ --resend"
)]
pub(crate) struct ResolveArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// The message, or MESSAGE/PART; without one, the first part of which nobody knows
    #[arg(value_name = "MESSAGE")]
    message: Entry,
    /// It arrived
    #[arg(long)]
    delivered: bool,
    /// It did not arrive: send it again
    #[arg(long)]
    resend: bool,
}

pub(super) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list(context, Waiting::Unknown, arguments.page).await,
        Command::Resolve(arguments) => resolve(context, arguments).await,
    }
}

async fn resolve(context: &Context, arguments: ResolveArguments) -> Outcome {
    use OutboxState::{Delivered, Pending, Sending, Unknown};
    let (resolution, states) = match arguments.resend {
        true => (UnknownResolution::Resend, &[Unknown, Pending, Sending][..]),
        false => (UnknownResolution::MarkDelivered, &[Unknown, Delivered][..]),
    };
    let (channel, message, client) = (&arguments.channel, &arguments.message, context.client()?);
    let part = message.part(&client, channel, states).await?;
    let resolve = ResolveUnknown { resolution };
    let done = client.resolve_unknown(channel, &message.envelope, part, &resolve).await?;
    context.out().show(&done, decided)
}
