//! `palyra channels drain`

use std::time::{Duration, Instant};

use palyra_common::ids::ConnectorId;
use palyra_common::queue::COUNTED;
use serde_json::json;

use crate::context::Context;
use crate::count;
use crate::failure::{Failure, Outcome};
use crate::output::printable;

const PAUSE: Duration = Duration::from_millis(200);

/// Try now what waits for another try, and wait until the queue is empty
///
/// Where the platform itself asked to wait, that is respected. Exits with 7 when something still
/// waits at the end, or was given up or is unknown by then; also where so many are that new ones are
/// not counted.
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
    let given_up = Grown::between(before.dead, left.dead);
    let unknown = Grown::between(before.unknown, left.unknown);
    let waiting = left.waiting;
    let told = json!({
        "channel": id, "hurried": hurried, "waiting": waiting,
        "given_up": given_up.by, "unknown": unknown.by,
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
        let given_up = given_up
            .told("message was given up", "messages were given up")
            .map(|what| format!("{what}; `palyra channels dead-letters list {name}` says why.\n"));
        let unknown = unknown.told("message may have arrived", "messages may have arrived");
        let unknown = unknown
            .map(|what| format!("{what}; `palyra channels unknown list {name}` tells which.\n"));
        [Some(waits), given_up, unknown].into_iter().flatten().collect()
    })?;
    match waiting == 0 && given_up.is_nothing() && unknown.is_nothing() {
        true => Ok(()),
        false => Err(Failure::Faults),
    }
}

/// By how much a number has grown that stops at [`COUNTED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grown {
    by: u64,
    /// There may be more: nobody has counted them.
    at_least: bool,
}

impl Grown {
    fn between(before: u64, after: u64) -> Self {
        Self { by: after.saturating_sub(before), at_least: after >= COUNTED }
    }

    fn is_nothing(self) -> bool {
        self.by == 0 && !self.at_least
    }

    fn told(self, one: &str, many: &str) -> Option<String> {
        let what = count::of(self.by, one, many);
        match (self.by, self.at_least) {
            (0, false) => None,
            (0, true) => Some(format!("{COUNTED} or more {many}, by now or before")),
            (_, true) => Some(format!("at least {what}")),
            (_, false) => Some(what),
        }
    }
}

#[cfg(test)]
mod tests;
