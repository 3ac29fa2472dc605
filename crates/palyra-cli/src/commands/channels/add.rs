//! `palyra channels add`

use palyra_common::api::NewChannel;
use palyra_common::ids::ConnectorId;
use serde_json::Value;

use super::configure::{json_object, queue_settings};
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::printable;

/// Set a channel up
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra channels add echo:second
  palyra channels add echo:broken --settings '{\"faults\": {\"request\": \"transient\"}}'"
)]
pub(crate) struct Arguments {
    /// Its name: the kind, a colon, and what tells it from others
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// What it is set to, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    settings: Option<Value>,
    /// How its queue is set, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    queue: Option<Value>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let new = NewChannel {
        id: arguments.channel,
        settings: arguments.settings.unwrap_or_default(),
        queue: arguments.queue.map(queue_settings).transpose()?.unwrap_or_default(),
    };
    let added = context.client()?.add_channel(&new).await?;
    context.out().show(&added, |_, added| {
        let id = printable(added.channel.id.as_str());
        format!("{id} is set up. Say who is heard with `palyra router rules add {id}`.\n")
    })
}
