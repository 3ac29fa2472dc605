//! `palyra message read`

use palyra_common::api::{Page, SaidMessage};
use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::runtime_contracts::InboundState;
use palyra_common::time::Timestamp;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::printable;
use crate::when::{self, When};

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
    #[command(flatten)]
    back: Back,
}

/// How far back.
#[derive(Debug, clap::Args)]
pub(super) struct Back {
    /// Nothing after this: how long ago, as 24h, or a moment, as 2026-01-31T08:00:00Z
    #[arg(long, value_name = "TIME")]
    until: Option<When>,
    /// How many; those of the same moment as the last are there as well
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { channel, conversation, back } = arguments;
    let page = back.messages(context, &channel, &conversation, None).await?;
    context.out().show(&page, |_, page| text(page, "Nothing was said there.\n"))
}

impl Back {
    pub(super) async fn messages(
        self,
        context: &Context,
        channel: &ConnectorId,
        conversation: &ConversationId,
        containing: Option<&str>,
    ) -> Result<Page<SaidMessage>, Failure> {
        let until = self.until.map(|until| until.seen_from(when::now()));
        let client = context.client()?;
        Ok(client.messages(channel, conversation, containing, until, self.limit).await?)
    }
}

/// The newest at the end, or what to say if there is none.
pub(super) fn text(page: &Page<SaidMessage>, none: &str) -> String {
    let more = page.next.as_deref().and_then(|next| next.parse().ok());
    let before =
        more.map(|until| format!("Before that: --until {}\n", Timestamp::from_unix_millis(until)));
    let before = before.unwrap_or_default();
    if page.items.is_empty() {
        return format!("{before}{none}");
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
    std::iter::once(before).chain(page.items.iter().rev().map(line)).collect()
}
