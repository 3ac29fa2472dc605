//! `palyra sessions list`

use palyra_common::api::{AgentSession, Page};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::page::{self, Paging};
use crate::table::Table;

/// List conversations that were not put away, the one with the newest message first
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra sessions list\n  palyra sessions list --limit 5 --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    page: Paging,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Paging { limit, after } = arguments.page;
    let found = context.client()?.sessions(after, limit).await?;
    context.out().show(&found, text)
}

fn text(out: &Output, page: &Page<AgentSession>) -> String {
    if page.items.is_empty() {
        return "There is none. `palyra chat` begins one.\n".into();
    }
    let mut table = Table::new(["SESSION", "AGENT", "WHERE", "LAST", "RUN", "TITLE"]);
    for session in &page.items {
        table.row([
            session.id.to_string().into(),
            session.agent.as_str().into(),
            place(session).into(),
            session.changed_at.to_string().into(),
            session.run.map_or_else(|| "–".to_owned(), |run| run.to_string()).into(),
            session.title.as_str().into(),
        ]);
    }
    table.render(out) + &page::more(page)
}

/// Where people talk.
pub(super) fn place(session: &AgentSession) -> String {
    match (&session.channel, &session.conversation) {
        (Some(channel), Some(conversation)) => format!("{channel} {conversation}"),
        _ => session.surface.clone(),
    }
}
