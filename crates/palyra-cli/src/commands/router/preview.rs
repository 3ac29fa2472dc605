//! `palyra router preview`

use palyra_common::api::{RouteDecision, RoutePreview};
use palyra_common::ids::{ConnectorId, ConversationId};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone, printable};

/// Say what would become of a message; nothing is sent
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra router preview echo:default general --sender ann \"hello\"
  palyra router preview echo:default dm-ann --sender ann --direct \"hello\""
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// Where it is said
    #[arg(value_name = "CONVERSATION")]
    conversation: ConversationId,
    /// What is said
    #[arg(value_name = "TEXT")]
    text: String,
    /// Who says it, by the platform's name
    #[arg(long, value_name = "SENDER")]
    sender: String,
    /// Only the sender and the bot are there
    #[arg(long)]
    direct: bool,
    /// It names the bot
    #[arg(long)]
    mention: bool,
    /// It addresses everyone
    #[arg(long)]
    everyone: bool,
    /// Another program says it
    #[arg(long)]
    bot: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let preview = RoutePreview {
        channel: arguments.channel,
        conversation: arguments.conversation,
        sender: arguments.sender,
        text: arguments.text,
        direct: arguments.direct,
        mentions_bot: arguments.mention,
        addresses_all: arguments.everyone,
        bot: arguments.bot,
        rule: None,
    };
    let decision = context.client()?.preview(&preview).await?;
    context.out().show(&decision, |out, decision| text(out, decision, &preview.channel))
}

fn text(out: &Output, decision: &RouteDecision, channel: &ConnectorId) -> String {
    let reason = decision.reason.as_str();
    match (&decision.agent, &decision.session_key) {
        (Some(agent), Some(session)) => format!(
            "{}: {reason}\n  agent    {}\n  session  {}\n",
            out.paint(Tone::Good, "It reaches an agent"),
            printable(agent),
            printable(session),
        ),
        _ => format!(
            "{}: {reason}\n`palyra router rules list --channel {}` tells who is heard.\n",
            out.paint(Tone::Doubtful, "Nobody gets it"),
            printable(channel.as_str()),
        ),
    }
}
