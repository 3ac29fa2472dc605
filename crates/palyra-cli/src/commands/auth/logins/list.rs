//! `palyra auth logins list`

use palyra_common::Timestamp;
use palyra_common::api::{Login, Page};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};
use crate::when;

/// List logins of browsers: your own, as the owner those of all
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra auth logins list\n  palyra auth logins list --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    let client = context.client()?;
    let mut all = Page { items: Vec::new(), next: None };
    loop {
        let page = client.logins(all.next.take()).await?;
        all.items.extend(page.items);
        all.next = page.next;
        if all.next.is_none() {
            return context.out().show(&all, text);
        }
    }
}

fn text(out: &Output, page: &Page<Login>) -> String {
    if page.items.is_empty() {
        return "Nobody has logged in; get a link with `palyra dashboard`.\n".into();
    }
    let mut table = Table::new(["ID", "PRINCIPAL", "STATE", "LAST SEEN", "MADE BY"]);
    for login in &page.items {
        table.row([
            login.id.to_string().into(),
            login.principal.as_str().into(),
            state(login, when::now()),
            login.last_seen_at.to_string().into(),
            login.made_by.map_or("local".into(), |maker| maker.to_string()).into(),
        ]);
    }
    table.render(out)
}

fn state(login: &Login, now: Timestamp) -> Cell {
    match (login.ended_at, login.expires_at) {
        (Some(at), _) => Cell::toned(Tone::Bad, format!("ended {at}")),
        (None, at) if at <= now => Cell::toned(Tone::Bad, format!("expired {at}")),
        (None, at) => Cell::toned(Tone::Good, format!("until {at}")),
    }
}
