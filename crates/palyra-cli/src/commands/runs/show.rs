//! `palyra runs show`

use palyra_common::api::Run;
use palyra_common::ids::RunId;

use super::list::tone;
use crate::context::Context;
use crate::failure::Outcome;
use crate::money::dollars;
use crate::output::Output;
use crate::table::Table;

/// Show where a run is, and what it took
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs show 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct Arguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let found = context.client()?.run(arguments.run).await?;
    context.out().show(&found, text)
}

pub(super) fn text(out: &Output, run: &Run) -> String {
    let phase = out.paint(tone(run.phase), run.phase.as_str());
    let end = run.end.map(|end| format!(": {}", end.as_str())).unwrap_or_default();
    let mut table = Table::of_fields();
    if let Some(detail) = &run.detail {
        table.field("because", detail.as_str());
    }
    if let Some(hint) = &run.hint {
        table.field("what to do", hint.as_str());
    }
    table.field("session", run.session.to_string());
    table.field("agent", run.agent.as_str());
    if let Some(parent) = run.parent {
        table.field("for the run", parent.to_string());
    }
    table.field("began", run.created_at.to_string());
    table.field("last event", format!("{}, of {}", run.last_seq, run.changed_at));
    if let Some(due) = run.due_at.filter(|_| run.end.is_none()) {
        table.field("goes on", due.to_string());
    }
    table.field("worked for", run.active.to_string());
    table.field("tokens", run.tokens.to_string());
    table.field("cost", dollars(run.cost_micros));
    let id = run.id;
    format!("{id} is {phase}{end}\n{}What happened: `palyra runs tail {id}`\n", table.render(out))
}
