//! `palyra audit list`

use std::collections::VecDeque;

use palyra_client::{Client, ClientError, EventQuery};
use palyra_common::api::{AuditEvent, Page};
use palyra_common::{Duration, Timestamp};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};
use crate::when::{self, When};

/// How far back is looked for the newest entries before all of them are: most trails are long, and
/// pages begin with the oldest.
const LOOK_BACK: [Duration; 3] =
    [Duration::from_hours(1), Duration::from_days(1), Duration::from_days(30)];
const PAGE: u32 = 500;

/// List who did what
///
/// Without --after these are the newest entries that match, the newest last.
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
    /// Only this action, or with a final dot all that begin so, as token.
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
    /// Go on where a page ended: the `next` that --json has shown
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let now = when::now();
    let query = EventQuery {
        after: arguments.after,
        limit: None,
        actor: arguments.actor,
        action: arguments.action,
        subject: arguments.subject,
        since: arguments.since.map(|when| when.seen_from(now)),
        until: arguments.until.map(|when| when.seen_from(now)),
    };
    let client = context.client()?;
    let page = if query.after.is_some() {
        client.events(&EventQuery { limit: Some(arguments.limit), ..query }).await?
    } else {
        Page { items: newest(&client, &query, arguments.limit, now).await?, next: None }
    };
    context.out().show(&page, text)
}

/// The newest `limit` entries that match `query`, the newest last.
pub(crate) async fn newest(
    client: &Client,
    query: &EventQuery,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<AuditEvent>, ClientError> {
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    if query.since.is_none() {
        for length in LOOK_BACK {
            let recent = EventQuery { since: Some(now - length), ..query.clone() };
            let found = last(client, recent, wanted).await?;
            if found.len() == wanted {
                return Ok(found.into());
            }
        }
    }
    Ok(last(client, query.clone(), wanted).await?.into())
}

async fn last(
    client: &Client,
    mut query: EventQuery,
    wanted: usize,
) -> Result<VecDeque<AuditEvent>, ClientError> {
    query.limit = Some(PAGE);
    let mut kept = VecDeque::new();
    loop {
        let page = client.events(&query).await?;
        kept.extend(page.items);
        kept.drain(..kept.len().saturating_sub(wanted));
        query.after = page.next;
        if query.after.is_none() {
            return Ok(kept);
        }
    }
}

fn text(out: &Output, page: &Page<AuditEvent>) -> String {
    if page.items.is_empty() {
        return "No entry matches.\n".into();
    }
    let mut table = Table::new(["SEQ", "AT", "ACTOR", "ACTION", "OUTCOME", "SUBJECT", "FROM"]);
    for event in &page.items {
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
