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
/// waits at the end, or was given up or is unknown by then.
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
    let before = client.channel(id).await?.channel;
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
            break detail.map(|detail| detail.channel);
        }
        progress.set_message(waiting.to_string());
        tokio::time::sleep(PAUSE).await;
    };
    progress.finish_and_clear();
    let left = left?;
    let given_up = left.dead.saturating_sub(before.dead);
    let unknown = left.unknown.saturating_sub(before.unknown);
    let waiting = left.waiting;
    let told = json!({
        "channel": id, "hurried": hurried, "waiting": waiting, "given_up": given_up, "unknown": unknown,
    });
    let name = printable(id.as_str());
    context.out().show(&told, |_, _| {
        let waits = match waiting {
            0 => format!("The queue of {name} is empty.\n"),
            waiting => format!(
                "{} in {name}; `palyra channels show {name}` says why.\n",
                count::of(waiting, "message still waits", "messages still wait"),
            ),
        };
        let given_up = (given_up > 0).then(|| {
            let what = count::of(given_up, "message was given up", "messages were given up");
            format!("{what}; `palyra channels dead-letters list {name}` says why.\n")
        });
        let unknown = (unknown > 0).then(|| {
            let what = count::of(unknown, "message may have arrived", "messages may have arrived");
            format!("{what}; `palyra channels unknown list {name}` tells which.\n")
        });
        [Some(waits), given_up, unknown].into_iter().flatten().collect()
    })?;
    match (waiting, given_up, unknown) {
        (0, 0, 0) => Ok(()),
        _ => Err(Failure::Faults),
    }
}
