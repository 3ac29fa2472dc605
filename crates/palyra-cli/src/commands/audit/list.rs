//! `palyra audit list`

use palyra_client::{Client, ClientError, EventQuery, Order};
use palyra_common::api::{AuditEvent, Page};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};
use crate::when::{self, When};

/// The most that the daemon gives at once.
const PAGE: u32 = 1_000;

/// List who did what
///
/// Without --oldest-first these are the newest entries that match. People see them with the newest at
/// the end; with --json they come in the order in which --after goes on.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra audit list
  palyra audit list --action token. --since 7d
  palyra audit list --actor operator:owner --since 2026-01-31T08:00:00Z --until 1h
  palyra audit list --limit 500 --json"
)]
pub(crate) struct Arguments {
    /// Only what this one did, as operator:owner
    #[arg(long, value_name = "PRINCIPAL")]
    actor: Option<String>,
    /// Only this action, as token.created, or with a final dot all that begin so: `token.`
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only what was done to this
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only from then on: 7d for seven days ago, or a moment
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Only before then
    #[arg(long, value_name = "WHEN")]
    until: Option<When>,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Begin with the oldest
    #[arg(long)]
    oldest_first: bool,
    /// Go on where a page ended: the `next` that --json has shown
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let now = when::now();
    let order = if arguments.oldest_first { Order::OldestFirst } else { Order::NewestFirst };
    let query = EventQuery {
        after: arguments.after,
        limit: Some(arguments.limit),
        order,
        actor: arguments.actor,
        action: arguments.action,
        subject: arguments.subject,
        since: arguments.since.map(|when| when.seen_from(now)),
        until: arguments.until.map(|when| when.seen_from(now)),
    };
    let page = collect(&context.client()?, query).await?;
    context.out().show(&page, |out, page| text(out, page, order))
}

/// As many entries as `query` wants, however many pages they are on.
pub(crate) async fn collect(
    client: &Client,
    mut query: EventQuery,
) -> Result<Page<AuditEvent>, ClientError> {
    let mut left = query.limit.unwrap_or(PAGE);
    let mut found = Vec::new();
    loop {
        query.limit = Some(left.min(PAGE));
        let page = client.events(&query).await?;
        left = left.saturating_sub(u32::try_from(page.items.len()).unwrap_or(u32::MAX));
        found.extend(page.items);
        query.after = page.next;
        if left == 0 || query.after.is_none() {
            return Ok(Page { items: found, next: query.after });
        }
    }
}

fn text(out: &Output, page: &Page<AuditEvent>, order: Order) -> String {
    if page.items.is_empty() {
        return "No entry matches.\n".into();
    }
    let mut table = Table::new(["SEQ", "AT", "ACTOR", "ACTION", "OUTCOME", "SUBJECT", "FROM"]);
    let mut events: Vec<_> = page.items.iter().collect();
    if order == Order::NewestFirst {
        events.reverse();
    }
    for event in events {
        let tone = if event.outcome == "ok" { Tone::Good } else { Tone::Doubtful };
        table.row([
            event.seq.to_string().into(),
            event.at.to_string().into(),
            event.actor.as_str().into(),
            event.action.as_str().into(),
            Cell::toned(tone, &event.outcome),
            event.subject.as_str().into(),
            event.origin.as_str().into(),
        ]);
    }
    table.render(out)
}
