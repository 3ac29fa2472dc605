//! `palyra message read`

use palyra_common::api::{Page, SaidMessage};
use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::runtime_contracts::InboundState;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, printable};

/// Read what was said in a conversation, as far as Palyra remembers it
///
/// People see the newest at the end; with --json it comes first. Texts are remembered for 30 days. Of
/// what nobody answers it is told why.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra message read echo:default general --limit 20"
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// Which conversation
    #[arg(value_name = "CONVERSATION")]
    conversation: ConversationId,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { channel, conversation, limit } = arguments;
    let page = context.client()?.messages(&channel, &conversation, limit).await?;
    context.out().show(&page, text)
}

fn text(_: &Output, page: &Page<SaidMessage>) -> String {
    if page.items.is_empty() {
        return "Nothing was said there.\n".into();
    }
    let line = |said: &SaidMessage| {
        let who = said.sender.as_deref().unwrap_or("palyra");
        let what = said.text.clone().unwrap_or_else(|| {
            said.operation.as_ref().map(ToString::to_string).unwrap_or_default()
        });
        let fate = match (said.state, said.reason) {
            (Some(InboundState::Ignored), Some(reason)) => format!("  (not answered: {reason})"),
            (Some(InboundState::Received), _) => "  (not decided yet)".to_owned(),
            (Some(InboundState::Ignored | InboundState::Routed) | None, _) => String::new(),
        };
        format!("{}  {}: {}{fate}\n", said.at, printable(who), printable(&what))
    };
    page.items.iter().rev().map(line).collect()
}
