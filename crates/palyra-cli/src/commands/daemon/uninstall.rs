//! `palyra daemon uninstall`

use palyra_common::ErrorCode;
use serde::Serialize;

use super::last_key;
use super::running::{self, Seen};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};
use crate::prompt;
use crate::service::{self, Unit, variables};

/// Stop the service of your systemd and remove its unit
///
/// The data stays where it is; a key for S3 that was kept for the service is removed. Exits with 1 when systemd did not do its part.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra daemon uninstall\n  palyra daemon uninstall --yes"
)]
pub(crate) struct Arguments {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Serialize)]
struct Uninstalled {
    unit: String,
    stopped: bool,
    /// What is left to do, and why.
    not_done: Vec<String>,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let data_dir = context.own_data_dir("daemon uninstall")?;
    let unit = Unit::of(&data_dir)?;
    let path = unit.path().display();
    if !unit.is_installed() {
        let why = match unit.taken_by() {
            Some(other) => format!("{path} is for the daemon on {}", other.display()),
            None => format!("{path} is not there"),
        };
        let told = format!(
            "there is no service to uninstall, because {why}; a daemon that was started otherwise \
             is stopped by `palyra daemon stop`"
        );
        return Err(Failure::new(ErrorCode::CommonNotFound, told));
    }
    // One that cannot be reached cannot be asked.
    let seen = running::seen(context, &data_dir).await.unwrap_or(Seen::Nobody);
    if seen.pid().is_some_and(|pid| unit.manages(pid)) {
        // That the unit may go does not say that the secrets may.
        last_key::respect(&seen, "To give them up run `palyra daemon stop --yes` first")?;
    }
    let whose = if unit.is_ours() { "" } else { ", which was written by somebody else" };
    let question = format!("Stop the service and remove {path}{whose}? The data stays.");
    prompt::confirm(context.out(), &question, arguments.yes)?;
    let uninstalled = remove(&unit)?;
    variables::remove(&data_dir)?;
    context.out().show(&uninstalled, text)?;
    if uninstalled.not_done.is_empty() { Ok(()) } else { Err(Failure::ToldAlready(Exit::Failed)) }
}

fn remove(unit: &Unit) -> Result<Uninstalled, Failure> {
    let mut not_done = Vec::new();
    let stopped = service::systemctl(&["disable", "--now", unit.name()]);
    if let Err(why) = &stopped {
        not_done.push(format!("it may still run (see `palyra daemon status`; {why})"));
    }
    let path = unit.path();
    std::fs::remove_file(path).map_err(|error| Failure::file(path, error))?;
    if let Err(why) = service::systemctl(&["daemon-reload"]) {
        not_done.push(format!("systemd was not told that the unit is gone ({why})"));
    }
    Ok(Uninstalled { unit: path.display().to_string(), stopped: stopped.is_ok(), not_done })
}

fn text(out: &Output, uninstalled: &Uninstalled) -> String {
    let mut text = format!("{} is removed. The data stays.\n", printable(&uninstalled.unit));
    for left in &uninstalled.not_done {
        text.push_str(&format!("{} {}\n", out.paint(Tone::Doubtful, "not done:"), printable(left)));
    }
    text
}
