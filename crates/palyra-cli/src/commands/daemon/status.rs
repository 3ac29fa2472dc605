//! `palyra daemon status`

use palyra_common::Timestamp;
use serde::Serialize;

use super::holder::{self, Unheard};
use super::running::{self, Seen};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::log_file;
use crate::output::{Output, Tone, printable};
use crate::service::Unit;
use crate::table::Table;

/// Show whether the daemon of this machine runs, and how it was started
///
/// Exits with 3 when it does not run, and with 7 when it is not ready or does not
/// answer.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra daemon status\n  palyra daemon status --json"
)]
pub(crate) struct Arguments {}

/// The process, rather than what it does: that is `palyra status`.
#[derive(Debug, Serialize)]
struct DaemonStatus {
    running: bool,
    ready: bool,
    /// Whether it answers on its socket.
    answers: bool,
    /// The parts that are not ready.
    waiting_for: Vec<String>,
    pid: Option<u32>,
    version: Option<String>,
    started_at: Option<Timestamp>,
    http: Option<String>,
    data_dir: String,
    /// Where it logs, if that is the log of a daemon in the background; otherwise whoever started
    /// it has chosen.
    log: Option<String>,
    /// The unit, where it is installed.
    unit: Option<String>,
    /// Whether systemd runs it.
    managed: bool,
    #[serde(skip)]
    unheard: Option<String>,
}

pub(super) async fn run(context: &Context) -> Outcome {
    let data_dir = context.own_data_dir("daemon status")?;
    let seen = running::seen(context, &data_dir).await?;
    let (pid, answers) = (seen.pid(), matches!(seen, Seen::Answers(_)));
    let status = match seen {
        Seen::Answers(status) => Some(status),
        Seen::Silent(_) | Seen::Nobody => None,
    };
    let (unit, log) = (Unit::of(&data_dir)?, log_file::path(&data_dir));
    let found = DaemonStatus {
        running: pid.is_some(),
        ready: status.as_ref().is_some_and(|status| status.ready),
        answers,
        waiting_for: status.as_ref().map(|it| it.waiting_for.clone()).unwrap_or_default(),
        pid,
        version: status.as_ref().map(|status| status.version.clone()),
        started_at: status.as_ref().map(|status| status.started_at),
        http: status.as_ref().map(|status| status.http.clone()),
        log: pid
            .is_none_or(|pid| holder::logs_to(&log, pid) != Some(false))
            .then(|| log.display().to_string()),
        unheard: pid.filter(|_| !answers).map(|pid| Unheard::of(pid, &data_dir).to_string()),
        data_dir: data_dir.display().to_string(),
        managed: pid.is_some_and(|pid| unit.manages(pid)),
        unit: unit.is_installed().then(|| unit.path().display().to_string()),
    };
    context.out().show(&found, text)?;
    match (found.running, found.ready) {
        (true, true) => Ok(()),
        (true, false) => Err(Failure::Faults),
        (false, _) => Err(Failure::ToldAlready(Exit::NoDaemon)),
    }
}

fn text(out: &Output, found: &DaemonStatus) -> String {
    let head = match (found.pid, found.ready) {
        (Some(pid), true) => out.paint(Tone::Good, &format!("palyrad runs as process {pid}")),
        (Some(pid), false) if found.answers => {
            let parts = printable(&found.waiting_for.join(", ")).into_owned();
            let told =
                format!("palyrad runs as process {pid} and is not ready, it waits for: {parts}");
            out.paint(Tone::Doubtful, &told)
        }
        (Some(_), false) => out.paint(Tone::Bad, found.unheard.as_deref().unwrap_or_default()),
        (None, _) => {
            out.paint(Tone::Bad, "palyrad does not run; start it with `palyra daemon start`")
        }
    };
    let mut table = Table::of_fields();
    if let Some(at) = found.started_at {
        table.field("since", at.to_string());
    }
    table.field("data", found.data_dir.as_str());
    let elsewhere = "where whoever started it has its output, as a terminal";
    table.field("log", found.log.as_deref().unwrap_or(elsewhere));
    table.field("service", found.unit.as_deref().unwrap_or("not installed"));
    format!("{head}\n{}", table.render(out))
}
