//! `palyra runs list`

use palyra_client::RunQuery;
use palyra_common::api::{Page, Run};
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase};

use crate::context::Context;
use crate::failure::Outcome;
use crate::money::dollars;
use crate::output::{Output, Tone};
use crate::page::{self, Paging};
use crate::table::{Cell, Table};

/// List runs, the newest first
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra runs list
  palyra runs list --phase waiting_for_approval
  palyra runs list --session 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --json"
)]
pub(crate) struct Arguments {
    /// Only those of this session
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// Only those in this phase: queued, running, waiting_for_approval, paused, completed, failed,
    /// aborted or expired
    #[arg(long, value_name = "PHASE")]
    phase: Option<RunLifecyclePhase>,
    #[command(flatten)]
    page: Paging,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { session, phase, page: Paging { limit, after } } = arguments;
    let found = context.client()?.runs(&RunQuery { session, phase, after }, limit).await?;
    context.out().show(&found, text)
}

fn text(out: &Output, page: &Page<Run>) -> String {
    if page.items.is_empty() {
        return "There is none.\n".into();
    }
    let mut table =
        Table::new(["RUN", "SESSION", "AGENT", "PHASE", "END", "BEGAN", "TOKENS", "COST"]);
    for run in &page.items {
        table.row([
            run.id.to_string().into(),
            run.session.to_string().into(),
            run.agent.as_str().into(),
            Cell::toned(tone(run.phase), run.phase.as_str()),
            run.end.map_or("", RunEnd::as_str).into(),
            run.created_at.to_string().into(),
            run.tokens.to_string().into(),
            dollars(run.cost_micros).into(),
        ]);
    }
    table.render(out) + &page::more(page)
}

pub(super) fn tone(phase: RunLifecyclePhase) -> Tone {
    match phase {
        RunLifecyclePhase::Completed => Tone::Good,
        RunLifecyclePhase::Queued
        | RunLifecyclePhase::Running
        | RunLifecyclePhase::WaitingForApproval
        | RunLifecyclePhase::Paused => Tone::Doubtful,
        RunLifecyclePhase::Failed | RunLifecyclePhase::Aborted | RunLifecyclePhase::Expired => {
            Tone::Bad
        }
    }
}
