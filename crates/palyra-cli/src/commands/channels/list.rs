//! `palyra channels list`

use palyra_common::api::{Channel, Page};
use palyra_common::runtime_contracts::{ConnectorContact, ConnectorSaturation};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};

/// List channels and how they do
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels list\n  palyra channels list --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    let page = context.client()?.channels().await?;
    context.out().show(&page, text)
}

fn text(out: &Output, page: &Page<Channel>) -> String {
    let mut table =
        Table::new(["CHANNEL", "ON", "TASK", "QUEUE", "WAITING", "GIVEN UP", "UNKNOWN", "WHY"]);
    for channel in &page.items {
        table.row([
            channel.id.as_str().into(),
            if channel.enabled { "yes".into() } else { Cell::toned(Tone::Quiet, "no") },
            task(channel),
            Cell::toned(tone(channel.saturation), channel.saturation.as_str()),
            channel.waiting.to_string().into(),
            channel.dead.to_string().into(),
            channel.unknown.to_string().into(),
            channel.reasons.first().map_or("", String::as_str).into(),
        ]);
    }
    table.render(out)
}

/// A task that runs while nobody answers it is of no use.
pub(super) fn task(channel: &Channel) -> Cell {
    match channel.contact {
        ConnectorContact::Silent => Cell::toned(Tone::Bad, channel.contact.as_str()),
        ConnectorContact::None | ConnectorContact::Heard => channel.liveness.as_str().into(),
    }
}

pub(super) fn tone(saturation: ConnectorSaturation) -> Tone {
    match saturation {
        ConnectorSaturation::Healthy => Tone::Good,
        ConnectorSaturation::Retrying
        | ConnectorSaturation::RateLimited
        | ConnectorSaturation::Paused
        | ConnectorSaturation::Backpressure => Tone::Doubtful,
        ConnectorSaturation::DeadLettered | ConnectorSaturation::AuthFailed => Tone::Bad,
    }
}
