//! `palyra auth tokens list`

use palyra_client::{Client, ClientError};
use palyra_common::Timestamp;
use palyra_common::api::{Page, Token};

use super::super::joined;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};
use crate::when;

/// List API tokens, never their secret
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra auth tokens list\n  palyra auth tokens list --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    context.out().show(&all(&context.client()?).await?, text)
}

/// All tokens, however many pages they are on.
pub(super) async fn all(client: &Client) -> Result<Page<Token>, ClientError> {
    let mut all = Page { items: Vec::new(), next: None };
    loop {
        let page = client.tokens(all.next.take()).await?;
        all.items.extend(page.items);
        all.next = page.next;
        if all.next.is_none() {
            return Ok(all);
        }
    }
}

fn text(out: &Output, page: &Page<Token>) -> String {
    if page.items.is_empty() {
        return "There is no API token; make one with `palyra auth tokens create`.\n".into();
    }
    let mut table = Table::new(["ID", "NAME", "OF", "MADE", "STATE", "LAST USED", "SCOPES"]);
    for token in &page.items {
        table.row([
            token.id.to_string().into(),
            token.name.as_str().into(),
            token.principal.as_str().into(),
            token.created_at.to_string().into(),
            state(token, when::now()),
            token.last_used_at.map_or("never".into(), |at| at.to_string()).into(),
            joined(&token.scopes).into(),
        ]);
    }
    table.render(out)
}

fn state(token: &Token, now: Timestamp) -> Cell {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => Cell::toned(Tone::Bad, format!("revoked {at}")),
        (None, Some(at)) if at <= now => Cell::toned(Tone::Bad, format!("ended {at}")),
        (None, Some(at)) => Cell::toned(Tone::Good, format!("until {at}")),
        (None, None) => Cell::toned(Tone::Good, "without end"),
    }
}
