//! `palyra channels show`

use palyra_common::api::{Channel, ChannelDetail};
use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{ConnectorContact, ConnectorReadiness};
use palyra_common::time::Timestamp;

use super::list::tone;
use crate::context::Context;
use crate::count;
use crate::failure::Outcome;
use crate::output::{Output, Tone, printable};
use crate::table::{Cell, Table};

/// Show a channel, its queue and its connection
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra channels show echo:default
  palyra channels show echo:default --json"
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let detail = context.client()?.channel(&arguments.channel).await?;
    context.out().show(&detail, text)
}

pub(super) fn text(out: &Output, detail: &ChannelDetail) -> String {
    let (channel, queue, connection) = (&detail.channel, &detail.queue, &detail.connection);
    let (tone, state) = state(channel);
    let mut text = format!("{} is {}\n", printable(channel.id.as_str()), out.paint(tone, state));
    // It is switched off because somebody wanted that, whatever else there is.
    let joined = if channel.enabled { "because" } else { "and" };
    for reason in &channel.reasons {
        text.push_str(&format!("  {joined} {}\n", printable(reason)));
    }
    let mut table = Table::of_fields();
    table.field("switched on", if channel.enabled { "yes" } else { "no" });
    let readiness = match &channel.readiness_reason {
        Some(reason) => Cell::toned(Tone::Bad, format!("{}: {reason}", channel.readiness.as_str())),
        None => channel.readiness.as_str().into(),
    };
    table.field("readiness", readiness);
    table.field("task", channel.liveness.as_str());
    table.field("connected since", when(connection.connected_since));
    table.field("last answered", when(connection.last_ack_at));
    table.field("last event", when(connection.last_event_at));
    table.field("started again", count::of(connection.restarts, "time", "times"));
    if let Some(error) = &connection.last_error {
        let at = when(connection.last_error_at);
        table.field("last ended", format!("{at}: {error}"));
    }
    let conversations = |lanes| count::of(lanes, "conversation", "conversations");
    table.field("waiting", format!("{} in {}", channel.waiting, conversations(queue.lanes)));
    table.field("oldest", when(queue.oldest));
    table.field("being sent", queue.sending.to_string());
    table.field("tried again", conversations(queue.retrying));
    if let Some(until) = queue.rate_limited_until {
        let limited = conversations(queue.rate_limited);
        table.field("asked to wait", format!("{limited}, until {until}"));
    }
    if let (Some(at), Some(reason)) = (queue.paused_at, &queue.pause_reason) {
        table.field("paused", format!("since {at}: {reason}"));
    }
    table.field("held", queue.held.to_string());
    table.field("given up", channel.dead.to_string());
    table.field("unknown", channel.unknown.to_string());
    table.field("behind unknown parts", queue.parked.to_string());
    table.field("settings", detail.settings.to_string());
    text + &table.render(out)
}

/// How a channel does: first whether it works at all, and then how its queue does.
fn state(channel: &Channel) -> (Tone, &'static str) {
    match (channel.enabled, channel.readiness, channel.contact) {
        (false, ..) => (Tone::Doubtful, "switched off"),
        (true, ConnectorReadiness::Ready, ConnectorContact::None) => (Tone::Bad, "not connected"),
        (true, _, ConnectorContact::Silent) => (Tone::Bad, channel.contact.as_str()),
        (true, _, ConnectorContact::None | ConnectorContact::Heard) => {
            (tone(channel.saturation), channel.saturation.as_str())
        }
    }
}

fn when(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "–".to_owned(), |at| at.to_string())
}
