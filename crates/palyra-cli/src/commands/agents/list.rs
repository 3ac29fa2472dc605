//! `palyra agents list`

use palyra_common::api::{Agent, Page};

use super::spec::{joined, models};
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::page::{self, Paging};
use crate::table::Table;

/// List agents
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra agents list\n  palyra agents list --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    page: Paging,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Paging { limit, after } = arguments.page;
    let found = context.client()?.agents(after, limit).await?;
    context.out().show(&found, text)
}

fn text(out: &Output, page: &Page<Agent>) -> String {
    let mut table = Table::new(["AGENT", "NAME", "MODELS", "TOOLS", "CHANGED"]);
    for agent in &page.items {
        table.row([
            agent.id.as_str().into(),
            agent.spec.name.as_str().into(),
            models(&agent.spec).into(),
            joined(&agent.spec.tools).into(),
            agent.changed_at.to_string().into(),
        ]);
    }
    table.render(out) + &page::more(page)
}
