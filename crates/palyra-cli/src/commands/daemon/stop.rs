//! `palyra daemon stop`

use std::time::Duration;

use serde_json::json;

use super::running::{self, Seen};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::service::{self, Unit};

/// Stop the daemon, and wait for its end
///
/// It finishes what it is doing. It is found also where its socket or its data directory was
/// removed. That none runs is no failure.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra daemon stop\n  palyra daemon stop --wait 120"
)]
pub(crate) struct Arguments {
    /// How many seconds to wait
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = running::wait())]
    pub(super) wait: u64,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let stopped = stop(context, arguments.wait).await?;
    let told = match stopped {
        Some(pid) => format!("palyrad (process {pid}) has stopped.\n"),
        None => "No daemon runs.\n".into(),
    };
    context.out().show(&json!({ "stopped": stopped.is_some(), "pid": stopped }), |_, _| told)
}

/// Stops it, and says which process it was.
pub(super) async fn stop(context: &Context, seconds: u64) -> Result<Option<u32>, Failure> {
    let data_dir = context.own_data_dir("daemon stop")?;
    let (number, pid) = match running::seen(context, &data_dir).await? {
        Seen::Nobody => return Ok(None),
        Seen::Answers(status) => (status.pid, running::process(&data_dir, &status).await?),
        Seen::Silent(pid) => match running::process_id(pid) {
            Some(process) => (pid, process),
            None => return Ok(None),
        },
    };
    let unit = Unit::of(&data_dir)?;
    if unit.manages(number) {
        // systemd would take an end that it did not ask for as a reason to start it again.
        service::systemctl(&["stop", unit.name()]).map_err(Failure::machine)?;
    }
    running::terminate(pid, Duration::from_secs(seconds)).await?;
    Ok(Some(number))
}
