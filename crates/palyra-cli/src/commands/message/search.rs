//! `palyra message search`

use palyra_common::ids::{ConnectorId, ConversationId};

use super::read::{Back, text};
use crate::context::Context;
use crate::failure::Outcome;

/// Search what was said in a conversation, as far as Palyra remembers it
///
/// Capitals do not matter. Up to 2,000 messages are looked through at a time; if there are more, it is
/// told where to go on. Texts are remembered for 30 days.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra message search echo:default general \"the invoice\""
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// Which conversation
    #[arg(value_name = "CONVERSATION")]
    conversation: ConversationId,
    /// What to look for
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    back: Back,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { channel, conversation, text: sought, back } = arguments;
    let page = back.messages(context, &channel, &conversation, Some(&sought)).await?;
    context.out().show(&page, |_, page| text(page, "Nothing that was found says that.\n"))
}
