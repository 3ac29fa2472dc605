//! `palyra channels events`

use palyra_common::api::{ChannelEvent, Page};
use palyra_common::ids::ConnectorId;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::table::Table;

/// List what happened to a channel
///
/// People see the newest at the end; with --json they come newest first.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra channels events echo:default
  palyra channels events echo:default --limit 200 --json"
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Go on where a page ended: the `next` that --json has shown
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { channel, limit, after } = arguments;
    let page = context.client()?.channel_events(&channel, after, limit).await?;
    context.out().show(&page, text)
}

fn text(out: &Output, page: &Page<ChannelEvent>) -> String {
    let mut table = Table::new(["AT", "EVENT", "MORE"]);
    for event in page.items.iter().rev() {
        table.row([
            event.at.to_string().into(),
            event.kind.as_str().into(),
            event.detail.as_deref().unwrap_or_default().into(),
        ]);
    }
    table.render(out)
}
