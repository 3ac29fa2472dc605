//! `palyra runs tail`

use palyra_client::Followed;
use palyra_common::ids::RunId;
use palyra_common::tape::{TapeEntry, TapeEvent};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::patience::{self, PATIENCE};
use crate::tape_line;

/// Show what happens in a run, event by event, until it and its deliveries have ended
///
/// A run that has ended is shown as a whole. With --json each event is one line, as it is on the tape,
/// pieces of answers included; people see an answer when it is whole. Waits for a daemon that
/// restarts, and goes on where it was.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra runs tail 01HZ3V9K8M2QF6T7Y4W5X6A7B8
  palyra runs tail 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --after 17 --json"
)]
pub(crate) struct Arguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
    /// Begin behind the event of this number
    #[arg(long, value_name = "SEQ", default_value = "0", value_parser = clap::value_parser!(i64).range(0..))]
    after: i64,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let (out, client) = (context.out(), context.client()?);
    // A daemon that is not there in the beginning is not waited for.
    client.run(arguments.run).await?;
    let mut follower = client.follow_run(arguments.run, arguments.after, PATIENCE);
    while let Some(followed) = follower.next().await? {
        match followed {
            Followed::Event(entry) => {
                // Whoever reads has seen enough when the pipe is closed.
                if !out.show_next(&entry, text)? {
                    return Ok(());
                }
            }
            Followed::Lost => patience::lost(out, PATIENCE),
            Followed::Back => patience::back(out),
        }
    }
    Ok(())
}

fn text(out: &Output, entry: &TapeEntry) -> String {
    if matches!(entry.event, TapeEvent::ModelDelta(_)) {
        return String::new();
    }
    let (at, kind) = (entry.at.to_string(), entry.event.kind());
    let head = out.paint(Tone::Quiet, &format!("{:>4}  {at}", entry.seq));
    let line = format!("{head}  {:<18}  {}\n", kind.as_str(), tape_line::said(entry));
    match &entry.event {
        TapeEvent::RunFinished(finished) => {
            let hint = finished.hint.iter().map(|hint| format!("{hint}\n"));
            std::iter::once(line).chain(hint).collect()
        }
        _ => line,
    }
}
