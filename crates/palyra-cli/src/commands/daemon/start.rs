//! `palyra daemon start`

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use palyra_common::api::Status;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use serde_json::json;

use super::kept::{self, Variables};
use super::running::{self, POLL};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::{files, log_file, palyrad};

const TOLD_LINES: usize = 20;

/// Start the daemon in the background, and wait until it is ready
///
/// Its log is in the folder `log` of the data directory. A daemon that runs already is left alone;
/// exits with 6 when it has other options than those after --.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra daemon start
  palyra daemon start -- --log-level debug     what follows -- goes to palyrad"
)]
pub(crate) struct Arguments {
    /// How many seconds to wait
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = running::wait())]
    pub(super) wait: u64,
    /// Options of palyrad
    #[arg(last = true, value_name = "OPTIONS")]
    pub(super) options: Vec<OsString>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let data_dir = context.own_data_dir("daemon start")?;
    if let Some(status) = running::status(context).await? {
        respect_options(&status, &arguments.options)?;
        return context.out().show(&status, |out, status| {
            format!("It runs already.\n{}", crate::commands::status::text(out, status))
        });
    }
    let status = begin(context, &data_dir, arguments, Variables::new()).await?;
    context.out().show(&status, crate::commands::status::text)
}

/// A daemon that runs is left alone, so other options than it has would silently do nothing.
fn respect_options(status: &Status, options: &[OsString]) -> Outcome {
    let here = std::env::current_dir().unwrap_or_default();
    let asked = kept::resolved(options.to_vec(), &here);
    if options.is_empty() || kept::options(status.pid).is_some_and(|has| has == asked) {
        return Ok(());
    }
    Err(Failure::conflict(format!(
        "a daemon runs already as process {}, with other options; `palyra daemon restart -- \
         OPTIONS` gives it these",
        status.pid
    )))
}

/// Starts a daemon where none runs, with `variables` beside those of this program.
pub(super) async fn begin(
    context: &Context,
    data_dir: &Path,
    arguments: Arguments,
    variables: Variables,
) -> Result<Status, Failure> {
    palyrad::find()?;
    files::private_folder(data_dir)?;
    launch(context, data_dir, arguments, variables).await
}

async fn launch(
    context: &Context,
    data_dir: &Path,
    arguments: Arguments,
    variables: Variables,
) -> Result<Status, Failure> {
    let log_path = log_file::path(data_dir);
    let (log, begins) = log_file::open_for_start(&log_path)?;
    let again = log.try_clone().map_err(|error| Failure::file(&log_path, error))?;
    // Through this program, which leaves the terminal behind and becomes palyrad.
    let own = std::env::current_exe()
        .map_err(|error| Failure::machine(format!("this program cannot be found: {error}")))?;
    let mut command = Command::new(&own);
    command.arg("--data-dir").arg(data_dir).args(["daemon", "run", "--detached", "--"]);
    command.args(arguments.options).envs(variables).stdin(Stdio::null()).stdout(log).stderr(again);
    let mut child = command.spawn().map_err(|error| Failure::file(&own, error))?;
    let progress = context.out().progress("{spinner} waiting for palyrad, {elapsed}");
    let limit = Duration::from_secs(arguments.wait);
    let ready = ready(context, &mut child, limit).await;
    progress.finish_and_clear();
    ready.map_err(|why| failed(context, &log_path, begins, why))
}

/// Why it is not ready.
enum NotReady {
    Ended(String),
    Slow(Duration),
    Failed(Failure),
}

async fn ready(context: &Context, child: &mut Child, limit: Duration) -> Result<Status, NotReady> {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(ended)) => return Err(NotReady::Ended(ended.to_string())),
            Err(error) => return Err(NotReady::Ended(error.to_string())),
        }
        // While it starts it may break off an answer; only its end or the limit is final.
        match running::status(context).await {
            Ok(Some(status)) if status.ready => return Ok(status),
            Err(failure) if Instant::now() >= deadline => return Err(NotReady::Failed(failure)),
            Ok(_) | Err(_) => {}
        }
        if Instant::now() >= deadline {
            return Err(NotReady::Slow(limit));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Tells it with the last lines of the log, under the code that palyrad gave if it gave one.
fn failed(context: &Context, log: &Path, begins: u64, why: NotReady) -> Failure {
    let lines = log_file::last_lines(log, begins, TOLD_LINES).map(|(lines, _)| lines);
    let lines = lines.unwrap_or_default();
    let own = |message| StableErrorEnvelope::new(ErrorCode::ClientPalyradFailed, message);
    let envelope = match why {
        NotReady::Ended(status) => palyrad::told(&lines.join("\n"))
            .unwrap_or_else(|| own(format!("palyrad ended before it was ready ({status})"))),
        NotReady::Slow(limit) => {
            own(format!("palyrad is not ready after {} s; it goes on starting", limit.as_secs()))
        }
        NotReady::Failed(failure) => return failure,
    };
    for line in &lines {
        context.out().note(&format!("  | {}", crate::output::printable(line)));
    }
    envelope.with_details(json!({ "log": log.display().to_string(), "last_lines": lines })).into()
}
