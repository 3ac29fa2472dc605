//! `palyra runs export`

use palyra_common::api::TapeHead;
use palyra_common::ids::RunId;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

const PAGE: u32 = 100;

/// Print the tape of a run without the values of secrets, for `palyra runs replay --file`
///
/// One JSON document per line: the first says what it is, the others are the events. What people have
/// said and their names are in it as they are on the tape.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs export 01HZ3V9K8M2QF6T7Y4W5X6A7B8 > tape.jsonl"
)]
pub(crate) struct Arguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let (out, client) = (context.out(), context.client()?);
    let (mut after, mut lines) = (None, Vec::new());
    let head = TapeHead { palyra_tape: TapeHead::VERSION, run: arguments.run };
    loop {
        let page = client.export_tape(arguments.run, after, PAGE).await?;
        // A run that is not there is an error, and no file.
        if lines.is_empty() {
            lines.push(line(&head)?);
        } else {
            lines.clear();
        }
        for event in &page.items {
            lines.push(line(event)?);
        }
        out.print(&lines.concat())?;
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

fn line(value: &impl serde::Serialize) -> Result<String, Failure> {
    let line = serde_json::to_string(value);
    Ok(line.map_err(|error| Failure::machine(format!("a line is no JSON: {error}")))? + "\n")
}
