//! `palyra daemon status`

use palyra_common::Timestamp;
use serde::Serialize;

use super::running;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone};
use crate::table::Table;
use crate::{log_file, service};

/// Show whether the daemon of this machine runs, and how it was started
///
/// Exits with 3 when it does not run, and with 7 when it is not ready.
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
    pid: Option<u32>,
    version: Option<String>,
    started_at: Option<Timestamp>,
    http: Option<String>,
    data_dir: String,
    log: String,
    /// The unit, where it is installed.
    unit: Option<String>,
    /// Whether systemd runs it.
    managed: bool,
}

pub(super) async fn run(context: &Context) -> Outcome {
    let data_dir = context.own_data_dir("daemon status")?;
    let status = running::status(context).await?;
    let unit = service::unit_path()?;
    let found = DaemonStatus {
        running: status.is_some(),
        ready: status.as_ref().is_some_and(|status| status.ready),
        pid: status.as_ref().map(|status| status.pid),
        version: status.as_ref().map(|status| status.version.clone()),
        started_at: status.as_ref().map(|status| status.started_at),
        http: status.as_ref().map(|status| status.http.clone()),
        log: log_file::path(&data_dir).display().to_string(),
        data_dir: data_dir.display().to_string(),
        managed: status.is_some_and(|status| service::manages(status.pid)),
        unit: unit.exists().then(|| unit.display().to_string()),
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
        (Some(pid), false) => {
            out.paint(Tone::Doubtful, &format!("palyrad runs as process {pid} and is not ready"))
        }
        (None, _) => {
            out.paint(Tone::Bad, "palyrad does not run; start it with `palyra daemon start`")
        }
    };
    let mut table = Table::of_fields();
    if let Some(at) = found.started_at {
        table.field("since", at.to_string());
    }
    table.field("data", found.data_dir.as_str());
    table.field("log", found.log.as_str());
    table.field("service", found.unit.as_deref().unwrap_or("not installed"));
    format!("{head}\n{}", table.render(out))
}
