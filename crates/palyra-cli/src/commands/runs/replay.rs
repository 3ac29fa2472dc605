//! `palyra runs replay`

use std::ffi::OsStr;
use std::path::PathBuf;

use palyra_common::api::Replayed;
use palyra_common::ids::RunId;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};
use crate::{palyrad, tape_line};

/// Decide anew what a run has decided, and say whether it is the same
///
/// What people, models and tools have said is taken from the tape of the run, and so is what no tape
/// tells, such as how late it was or what else was spent that day. What Palyra made of it is decided
/// again, step by step. Nothing is asked, called or sent. With --file it is the tape that `palyra runs
/// export` has written, and no daemon is needed.
///
/// Exits with 7 when it is not the same, and names the first event that would be another one today.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra runs replay 01HZ3V9K8M2QF6T7Y4W5X6A7B8
  palyra runs replay --file tape.jsonl --json"
)]
pub(crate) struct Arguments {
    /// The run
    #[arg(value_name = "RUN", required_unless_present = "file")]
    run: Option<RunId>,
    /// A tape that was exported
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    file: Option<PathBuf>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let replayed: Replayed = match (arguments.run, &arguments.file) {
        (Some(run), _) => context.client()?.replay(run).await?,
        (None, Some(file)) => {
            palyrad::ask(context, &[OsStr::new("replay-tape"), OsStr::new("--"), file.as_os_str()])?
        }
        (None, None) => return Err(Failure::asked("name a run, or a file with --file")),
    };
    context.out().show(&replayed, text)?;
    if replayed.same { Ok(()) } else { Err(Failure::Faults) }
}

fn text(out: &Output, replayed: &Replayed) -> String {
    let Replayed { run, events, .. } = replayed;
    let Some(difference) = &replayed.difference else {
        let same = out.paint(Tone::Good, "the same");
        let end = replayed.end.map_or_else(
            || "it has not ended yet".to_owned(),
            |end| format!("it ended with {end}"),
        );
        return format!("{run}: {same} in {events} events; {end}\n");
    };
    let recorded = &difference.recorded;
    let (seq, kind) = (recorded.seq, recorded.event.kind());
    let other = out.paint(Tone::Bad, "not the same");
    format!(
        "{run}: {other} from event {seq} on\n  recorded  {kind}  {}\n  today     {}\n",
        tape_line::said(recorded),
        printable(&difference.today),
    )
}
