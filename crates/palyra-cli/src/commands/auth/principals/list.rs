//! `palyra auth principals list`

use palyra_common::api::{Member, Page};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};

/// List who has a role
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra auth principals list\n  palyra auth principals list --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    let client = context.client()?;
    let mut all = Page { items: Vec::new(), next: None };
    loop {
        let page = client.principals(all.next.take()).await?;
        all.items.extend(page.items);
        all.next = page.next;
        if all.next.is_none() {
            return context.out().show(&all, text);
        }
    }
}

fn text(out: &Output, page: &Page<Member>) -> String {
    if page.items.is_empty() {
        return "Nobody has a role yet; the first login makes the owner.\n".into();
    }
    let mut table = Table::new(["PRINCIPAL", "ROLE", "STATE", "SINCE"]);
    for member in &page.items {
        let state = match member.disabled_at {
            Some(at) => Cell::toned(Tone::Bad, format!("disabled {at}")),
            None => Cell::toned(Tone::Good, "active"),
        };
        table.row([
            member.principal.as_str().into(),
            member.role.as_str().into(),
            state,
            member.created_at.to_string().into(),
        ]);
    }
    table.render(out)
}
