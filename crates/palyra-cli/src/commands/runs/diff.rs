//! `palyra runs diff`

use palyra_common::api::{Compared, RunTotals};
use palyra_common::ids::RunId;
use palyra_common::tape::TapeEntry;

use crate::context::Context;
use crate::failure::Outcome;
use crate::money::dollars;
use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tape_line;

/// Show where two runs part, and what each of them came to
///
/// Their decisions and results are compared step by step, whatever their ids, times and digests are.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra runs diff 01HZ3V9K8M2QF6T7Y4W5X6A7B8 01HZ3VAT1R5N0D3E8J6C2G4K9M"
)]
pub(crate) struct Arguments {
    /// A run
    #[arg(value_name = "RUN")]
    run: RunId,
    /// Another one
    #[arg(value_name = "OTHER")]
    other: RunId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let compared = context.client()?.compare_runs(arguments.run, arguments.other).await?;
    context.out().show(&compared, text)
}

fn text(out: &Output, compared: &Compared) -> String {
    let steps = compared.steps;
    let head = match &compared.parting {
        None => format!("{} in {steps} steps\n", out.paint(Tone::Good, "The same")),
        Some(parting) => format!(
            "The same in {steps} steps, and then {}:\n  {}\n  {}\n",
            out.paint(Tone::Doubtful, "they part"),
            step(parting.left.as_ref()),
            step(parting.right.as_ref()),
        ),
    };
    format!("{head}{}{}", totals(out, &compared.left), totals(out, &compared.right))
}

fn step(entry: Option<&TapeEntry>) -> String {
    entry.map_or_else(
        || "nothing more".to_owned(),
        |entry| format!("{:>4}  {}  {}", entry.seq, entry.event.kind(), tape_line::said(entry)),
    )
}

fn totals(out: &Output, totals: &RunTotals) -> String {
    let mut table = Table::of_fields();
    table.field("agent", totals.agent.as_str());
    table.field("ended with", totals.end.map_or("nothing yet", |end| end.as_str()));
    table.field("turns", totals.turns.to_string());
    table.field("calls of tools", totals.tool_calls.to_string());
    table.field("tokens", totals.tokens.to_string());
    table.field("cost", dollars(totals.cost_micros));
    format!("{}\n{}", totals.run, table.render(out))
}
