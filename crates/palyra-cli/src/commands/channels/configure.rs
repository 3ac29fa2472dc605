//! `palyra channels configure`

use palyra_common::api::ChannelSettings;
use palyra_common::ids::ConnectorId;
use palyra_common::queue::QueueSettings;
use serde_json::Value;

use super::show;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Give a channel other settings
///
/// What is given replaces the settings, or the settings of the queue, as a whole. The channel is
/// started anew with them; what waits in its queue is kept.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra channels configure echo:default --settings '{\"faults\": {\"request\": \"reject\"}}'
  palyra channels configure echo:default --settings '{}'
  palyra channels configure echo:default --queue '{\"max_attempts\": 3}'"
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
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
    let Arguments { channel, settings, queue } = arguments;
    if settings.is_none() && queue.is_none() {
        return Err(Failure::asked("say what to change, with --settings or --queue"));
    }
    let change = ChannelSettings { settings, queue: queue.map(queue_settings).transpose()? };
    let changed = context.client()?.configure_channel(&channel, &change).await?;
    context.out().show(&changed, show::text)
}

pub(super) fn queue_settings(queue: Value) -> Result<QueueSettings, Failure> {
    serde_json::from_value(queue)
        .map_err(|error| Failure::asked(format!("queue cannot be used: {error}")))
}

pub(super) fn json_object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err("this is JSON, but no object".into()),
        Err(error) => Err(format!("this is not JSON: {error}")),
    }
}
