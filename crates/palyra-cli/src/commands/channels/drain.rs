//! `palyra channels drain`

use std::time::{Duration, Instant};

use palyra_common::ids::ConnectorId;
use serde_json::json;

use crate::context::Context;
use crate::count;
use crate::failure::{Failure, Outcome};
use crate::output::printable;

const PAUSE: Duration = Duration::from_millis(200);

/// Try now what waits for another try, and wait until the queue is empty
///
/// Where the platform itself asked to wait, that is respected. Exits with 7 when something still
/// waits at the end.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra channels drain echo:default
  palyra channels drain echo:default --wait 5m"
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// How long to wait at most
    #[arg(long, value_name = "TIME", default_value = "30s")]
    wait: palyra_common::Duration,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let (client, id) = (context.client()?, &arguments.channel);
    let hurried = client.drain_channel(id).await?.changed;
    let until = Instant::now() + arguments.wait.into();
    let progress = context.out().progress("{spinner} waiting for the queue, {msg} left, {elapsed}");
    let left = loop {
        let detail = client.channel(id).await;
        let waiting = match &detail {
            Ok(detail) => detail.channel.waiting,
            Err(_) => 0,
        };
        if detail.is_err() || waiting == 0 || Instant::now() >= until {
            break detail.map(|_| waiting);
        }
        progress.set_message(waiting.to_string());
        tokio::time::sleep(PAUSE).await;
    };
    progress.finish_and_clear();
    let left = left?;
    let told = json!({ "channel": id, "hurried": hurried, "waiting": left });
    context.out().show(&told, |_, _| match left {
        0 => format!("The queue of {} is empty.\n", printable(id.as_str())),
        left => format!(
            "{} in {}; `palyra channels show {}` says why.\n",
            count::of(left, "message still waits", "messages still wait"),
            printable(id.as_str()),
            printable(id.as_str())
        ),
    })?;
    if left == 0 { Ok(()) } else { Err(Failure::Faults) }
}
