//! `palyra message send`

use palyra_common::api::NewMessage;
use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId};

use crate::commands::channels::follow;
use crate::context::Context;
use crate::failure::Outcome;

/// Send a message in the name of the bot, and wait until it has arrived
///
/// It is in the queue when this command could be interrupted, and goes out whatever becomes of the
/// command. Exits with 7 when it has not arrived in time.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra message send echo:default general \"The build is green.\"
  palyra message send echo:default general \"Once only.\" --envelope nightly-2026-11-16"
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// Where to
    #[arg(value_name = "CONVERSATION")]
    conversation: ConversationId,
    /// What to say
    #[arg(value_name = "TEXT")]
    text: String,
    /// Name it: sent again under the same name, it is one message
    #[arg(long, value_name = "NAME")]
    envelope: Option<EnvelopeId>,
    /// How long to wait at most
    #[arg(long, value_name = "TIME", default_value = "30s")]
    wait: palyra_common::Duration,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { channel, conversation, text, envelope, wait } = arguments;
    let (out, client) = (context.out(), context.client()?);
    let new = NewMessage { conversation, text, envelope };
    let state = follow::send(out, &client, &channel, new, wait).await?;
    out.show(&state, follow::text)?;
    follow::outcome(out, &client, &channel, &state).await
}
