//! Messages that wait for somebody, as a list.

use palyra_client::{Client, ClientError, Waiting};
use palyra_common::api::{Decided, OutboxEntry, Page};
use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxState, RetryClass};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, printable};
use crate::page::{self, Paging};
use crate::table::Table;

/// A message, and which part of it if somebody has said so: ENVELOPE or ENVELOPE/PART.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) envelope: EnvelopeId,
    part: Option<u32>,
}

impl Entry {
    /// The part that is meant. Where nobody has said: the first in the first of these states that there
    /// is one in, which are those that wait for a decision and then those that have had it; else the
    /// first of all.
    pub(super) async fn part(
        &self,
        client: &Client,
        channel: &ConnectorId,
        states: &[OutboxState],
    ) -> Result<u32, ClientError> {
        if let Some(part) = self.part {
            return Ok(part);
        }
        let parts = client.message_state(channel, &self.envelope).await?.parts;
        let first = |state: &OutboxState| parts.iter().find(|part| part.state == *state);
        Ok(states.iter().find_map(first).map_or(0, |part| part.part))
    }
}

impl std::str::FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (envelope, part) = match text.rsplit_once('/') {
            Some((envelope, part)) => {
                (envelope, Some(part.parse().map_err(|_| format!("{part:?} is not a part"))?))
            }
            None => (text, None),
        };
        let envelope = envelope.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { envelope, part })
    }
}

/// Where a list goes on, and how long it is.
#[derive(Debug, clap::Args)]
pub(super) struct PageArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    #[command(flatten)]
    page: Paging,
}

pub(super) async fn list(context: &Context, which: Waiting, page: PageArguments) -> Outcome {
    let PageArguments { channel, page: Paging { limit, after } } = page;
    let found = context.client()?.waiting_messages(&channel, which, after, limit).await?;
    context.out().show(&found, text)
}

fn text(out: &Output, page: &Page<OutboxEntry>) -> String {
    if page.items.is_empty() {
        return "There is none.\n".into();
    }
    let mut table =
        Table::new(["MESSAGE", "CONVERSATION", "SINCE", "TRIES", "REASON", "LAST", "MORE"]);
    for entry in &page.items {
        table.row([
            format!("{}/{}", entry.envelope, entry.part).into(),
            entry.conversation.as_str().into(),
            entry.changed_at.to_string().into(),
            entry.attempts.to_string().into(),
            entry.reason.map_or("", DeadLetterReason::as_str).into(),
            entry.class.map_or("", RetryClass::as_str).into(),
            entry.last_error.as_deref().unwrap_or_default().into(),
        ]);
    }
    table.render(out) + &page::more(page)
}

pub(super) fn decided(_: &Output, decided: &Decided) -> String {
    let Decided { envelope, part, state } = decided;
    format!("{}/{part} is {}.\n", printable(envelope.as_str()), state.as_str())
}
