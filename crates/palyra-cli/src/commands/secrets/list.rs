//! `palyra secrets list`

use palyra_common::api::{Page, Secret};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::table::Table;

/// List secrets by name, never their value
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra secrets list\n  palyra secrets list --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    let client = context.client()?;
    let mut all = Page { items: Vec::new(), next: None };
    loop {
        let page = client.secrets(all.next.take()).await?;
        all.items.extend(page.items);
        all.next = page.next;
        if all.next.is_none() {
            return context.out().show(&all, text);
        }
    }
}

fn text(out: &Output, page: &Page<Secret>) -> String {
    if page.items.is_empty() {
        return "There is no secret; store one with `palyra secrets set NAME`.\n".into();
    }
    let mut table = Table::new(["SECRET", "VERSION", "KEPT", "SET AT", "SET BY"]);
    for secret in &page.items {
        let current = secret.versions.first();
        table.row([
            format!("{}/{}", secret.scope, secret.name).into(),
            current.map_or("none".into(), |version| version.version.to_string()).into(),
            secret.versions.len().to_string().into(),
            current.map_or(String::new(), |version| version.created_at.to_string()).into(),
            current.map_or("", |version| version.created_by.as_str()).into(),
        ]);
    }
    table.render(out)
}
