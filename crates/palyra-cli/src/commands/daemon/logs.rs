//! `palyra daemon logs`

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use palyra_common::ErrorCode;
use serde_json::json;

use super::holder;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::log_file::{self, Follower};
use crate::output::printable;

const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Show the log of the daemon
///
/// The lines are printed as they are, except that nothing in them commands the terminal. A daemon
/// that was run in the foreground has logged to its terminal instead.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra daemon logs
  palyra daemon logs -n 500
  palyra daemon logs -f             go on until Ctrl-C"
)]
pub(crate) struct Arguments {
    /// How many lines of the end
    #[arg(short = 'n', long = "lines", value_name = "COUNT", default_value = "100")]
    lines: usize,
    /// Go on with what is added
    #[arg(short, long)]
    follow: bool,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let data_dir = context.own_data_dir("daemon logs")?;
    let path = log_file::path(&data_dir);
    let wrong = |error: std::io::Error| missing(&path, error);
    let (lines, end) = log_file::last_lines(&path, 0, arguments.lines).map_err(wrong)?;
    if let Some(pid) = holder::find(&data_dir)
        && holder::logs_to(&path, pid) == Some(false)
    {
        context.out().note(&format!(
            "These lines are of an earlier daemon: process {pid} logs where it was started."
        ));
    }
    if !arguments.follow {
        if !context.out().is_json() {
            return context.out().print(&shown(&mut lines.iter().map(String::as_str)));
        }
        let document = json!({ "log": path.display().to_string(), "lines": lines });
        return context.out().show(&document, |_, _| String::new());
    }
    let shown = if context.out().is_json() { documents } else { shown };
    context.out().print(&shown(&mut lines.iter().map(String::as_str)))?;
    let mut follower = Follower::from(&path, end).map_err(wrong)?;
    loop {
        let added = follower.added().map_err(wrong)?;
        // Whoever reads has seen enough when the pipe is closed.
        let mut stdout = std::io::stdout().lock();
        if stdout
            .write_all(shown(&mut added.lines()).as_bytes())
            .and_then(|()| stdout.flush())
            .is_err()
        {
            return Ok(());
        }
        drop(stdout);
        if added.is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Each line without what would command a terminal; tabs stay.
fn shown(lines: &mut dyn Iterator<Item = &str>) -> String {
    let line = |line: &str| line.split('\t').map(printable).collect::<Vec<_>>().join("\t") + "\n";
    lines.map(line).collect()
}

/// Each line as a document of its own, for programs that read on.
fn documents(lines: &mut dyn Iterator<Item = &str>) -> String {
    lines.map(|line| format!("{}\n", json!({ "line": line }))).collect()
}

fn missing(path: &Path, error: std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        let told = format!(
            "there is no log at {}; no daemon was started in the background",
            path.display()
        );
        return Failure::new(ErrorCode::CommonNotFound, told);
    }
    Failure::file(path, error)
}
