//! `palyra daemon restart`

use std::ffi::OsString;

use palyra_common::api::Status;
use palyra_common::shapes;
use serde::Serialize;

use super::kept::{self, Variables};
use super::preflight::{self, Hindrance};
use super::{last_key, running, start, stop};
use crate::argument::refuse_passwords;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, printable};
use crate::service::Unit;

/// Stop the daemon if it runs, and start it again
///
/// It gets the options that it runs with, or those after --, which replace all of them, and keeps
/// the PALYRA_ variables of its environment and its key for S3 where yours says nothing else.
/// Whether it can start again is checked first; if not, it is left running. A daemon that systemd
/// runs stays with systemd. One that alone still has the master key is not stopped, unless with
/// --yes.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra daemon restart
  palyra daemon restart -- --log-level debug     instead of the options that it has"
)]
pub(crate) struct Arguments {
    /// How many seconds to wait, for the end and for the start
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = running::wait())]
    wait: u64,
    /// Also if it alone still has the master key, and all secrets are lost with it
    #[arg(long)]
    yes: bool,
    /// Options of palyrad
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

/// The daemon that runs now, and how it came to.
#[derive(Debug, Serialize)]
struct Restarted {
    #[serde(flatten)]
    status: Status,
    /// The process that ran before.
    stopped: Option<u32>,
    options: Vec<String>,
    /// The names of what was kept of its environment.
    variables: Vec<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { wait, yes, options } = arguments;
    let data_dir = context.own_data_dir("daemon restart")?;
    refuse_passwords(&options)?;
    let seen = running::seen(context, &data_dir).await?;
    if !yes {
        last_key::respect(&seen, stop::ALL_THE_SAME)?;
    }
    let before = seen.pid();
    let unit = Unit::of(&data_dir)?;
    let managed = before.is_some_and(|pid| unit.manages(pid));
    if managed && !options.is_empty() {
        return Err(Failure::asked(format!(
            "systemd runs this daemon; put its options into the unit with `systemctl --user edit {}`",
            unit.name()
        )));
    }
    let options = match before {
        Some(pid) if options.is_empty() => options_of(context, pid),
        Some(_) => options,
        None => start::or_left_behind(context, &data_dir, options),
    };
    let variables = before.map(|pid| variables_of(context, pid)).unwrap_or_default();
    // Where none runs, the start itself tells why it fails.
    if before.is_some() {
        respect_hindrance(context, &options, &variables)?;
    }
    let stopped = if managed {
        before
    } else {
        stop::stop(context, &stop::Arguments { wait, force: false, yes }).await?
    };
    let told = options.iter().map(|option| {
        // An address may hold a password.
        shapes::redact_suspects(&option.to_string_lossy()).into_owned()
    });
    let told = told.collect();
    let names = variables.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let arguments = start::Arguments { wait, options };
    let started = if managed {
        start::by_service(context, &data_dir, &unit, "restart", &arguments).await
    } else {
        start::begin(context, &data_dir, arguments, variables).await
    };
    if let (Some(pid), Err(_), false) = (stopped, &started, managed) {
        context.out().note(&format!("palyrad (process {pid}) has stopped, and none runs now."));
    }
    let status = started?;
    context.out().show(&Restarted { status, stopped, options: told, variables: names }, text)
}

fn options_of(context: &Context, pid: u32) -> Vec<OsString> {
    kept::options(pid).unwrap_or_else(|| {
        context.out().note("Its options cannot be read on this system; it gets none.");
        Vec::new()
    })
}

fn variables_of(context: &Context, pid: u32) -> Variables {
    kept::variables(pid).unwrap_or_else(|| {
        context.out().note("Its environment cannot be read on this system; it gets yours.");
        Variables::new()
    })
}

/// Nothing is stopped for a start that fails.
fn respect_hindrance(context: &Context, options: &[OsString], variables: &Variables) -> Outcome {
    let Some(Hindrance { code, told }) = preflight::hindrance(context, options, variables)? else {
        return Ok(());
    };
    let told = format!("nothing was stopped, because the start would fail: {told}");
    Err(Failure::new(code, told))
}

fn text(out: &Output, restarted: &Restarted) -> String {
    let pid = restarted.status.pid;
    let did = match restarted.stopped {
        Some(stopped) => format!("palyrad has stopped as process {stopped} and runs as {pid}"),
        None => format!("No daemon ran; palyrad runs now as process {pid}"),
    };
    let with = match restarted.options.as_slice() {
        [] => ", without options".to_owned(),
        options => format!(", with: {}", printable(&options.join(" "))),
    };
    let kept = match restarted.variables.as_slice() {
        [] => String::new(),
        names => format!(", and from its environment: {}", printable(&names.join(" "))),
    };
    format!("{did}{with}{kept}.\n{}", crate::commands::status::text(out, &restarted.status))
}
