//! `palyra runs tasks`

use palyra_client::TaskQuery;
use palyra_common::api::{AuxiliaryTask, Page};
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::AuxiliaryTaskState;

use crate::context::Context;
use crate::failure::Outcome;
use crate::money::dollars;
use crate::output::{Output, Tone};
use crate::page::{self, Paging};
use crate::table::{Cell, Table};

/// List what models were asked on the side, such as summaries and titles, the newest first
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra runs tasks
  palyra runs tasks --state failed
  palyra runs tasks --session 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --json"
)]
pub(crate) struct Arguments {
    /// Only those that are a part of this run
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// Only those about this session
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// Only those in this state: pending, running, succeeded, failed or cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<AuxiliaryTaskState>,
    #[command(flatten)]
    page: Paging,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { run, session, state, page: Paging { limit, after } } = arguments;
    let query = TaskQuery { run, session, state, after };
    let found = context.client()?.auxiliary_tasks(&query, limit).await?;
    context.out().show(&found, text)
}

fn text(out: &Output, page: &Page<AuxiliaryTask>) -> String {
    if page.items.is_empty() {
        return "There is none.\n".into();
    }
    let mut table = Table::new(["TASK", "KIND", "FOR", "STATE", "WHY", "BEGAN", "TOKENS", "COST"]);
    for task in &page.items {
        let why = task.reason.map(|reason| reason.as_str()).unwrap_or_default();
        table.row([
            task.id.to_string().into(),
            task.kind.as_str().into(),
            task.purpose.as_str().into(),
            Cell::toned(tone(task.state), task.state.as_str()),
            why.into(),
            task.created_at.to_string().into(),
            task.tokens.to_string().into(),
            dollars(task.cost_micros).into(),
        ]);
    }
    table.render(out) + &page::more(page)
}

fn tone(state: AuxiliaryTaskState) -> Tone {
    match state {
        AuxiliaryTaskState::Succeeded => Tone::Good,
        AuxiliaryTaskState::Pending
        | AuxiliaryTaskState::Running
        | AuxiliaryTaskState::Cancelled => Tone::Doubtful,
        AuxiliaryTaskState::Failed => Tone::Bad,
    }
}
