//! `palyra daemon start`

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use palyra_common::api::Status;
use palyra_common::{ErrorCode, StableErrorEnvelope, shapes};
use serde_json::json;

use super::kept::{self, Variables};
use super::preflight::{self, Hindrance};
use super::running::{self, POLL, Seen};
use crate::argument::refuse_passwords;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::printable;
use crate::service::{self, Unit};
use crate::{files, log_file, palyrad};

const TOLD_LINES: usize = 20;
/// Each time a program is run for it.
const ASK_SYSTEMD_EVERY: Duration = Duration::from_millis(500);

/// Start the daemon in the background, and wait until it is ready
///
/// Its log is in the folder `log` of the data directory. A daemon that runs already is left alone;
/// exits with 6 when it has other options than those after --. Where it is installed as a service,
/// systemd starts it. After a crash it gets the options that it had, unless others are given.
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
    refuse_passwords(&arguments.options)?;
    match running::seen(context, &data_dir).await? {
        Seen::Answers(status) => {
            respect_options(&status, &arguments.options)?;
            return context.out().show(&*status, |out, status| {
                format!("It runs already.\n{}", crate::commands::status::text(out, status))
            });
        }
        Seen::Silent(pid) => return Err(running::in_the_way(pid, &data_dir)),
        Seen::Nobody => {}
    }
    let unit = Unit::of(&data_dir)?;
    let by_systemd = arguments.options.is_empty() && unit.is_installed() && service::answers();
    let status = if by_systemd {
        by_service(context, &data_dir, &unit, "start", &arguments).await?
    } else {
        let options = or_left_behind(context, &data_dir, arguments.options);
        let arguments = Arguments { options, ..arguments };
        begin(context, &data_dir, arguments, Variables::new()).await?
    };
    context.out().show(&status, crate::commands::status::text)
}

/// The options that were given, or those of a daemon that has ended without being stopped.
pub(super) fn or_left_behind(
    context: &Context,
    data_dir: &Path,
    options: Vec<OsString>,
) -> Vec<OsString> {
    let Some(left) = running::left_behind(data_dir).filter(|_| options.is_empty()) else {
        return options;
    };
    if !left.options.is_empty() {
        // An address may hold a password.
        let told = shapes::redact_suspects(&left.options.join(" ")).into_owned();
        context.out().note(&format!(
            "The daemon has ended without being stopped. It gets the options that it had: {}",
            printable(&told)
        ));
    }
    let unset = |name: &&String| std::env::var_os(name.as_str()).is_none();
    let unset: Vec<_> = left.variables.iter().filter(unset).map(String::as_str).collect();
    if !unset.is_empty() {
        context.out().note(&format!(
            "It had variables that are not set here, and gets none of them: {}",
            printable(&unset.join(" "))
        ));
    }
    left.options.into_iter().map(OsString::from).collect()
}

/// Has systemd do `verb` with the unit, and waits until the daemon is ready.
pub(super) async fn by_service(
    context: &Context,
    data_dir: &Path,
    unit: &Unit,
    verb: &str,
    arguments: &Arguments,
) -> Result<Status, Failure> {
    let before = Before::now(context, data_dir).await?;
    service::systemctl(&[verb, unit.name()]).map_err(Failure::machine)?;
    ready_by_service(context, before, unit, Duration::from_secs(arguments.wait)).await
}

/// What was there before systemd was told.
pub(super) struct Before {
    pid: Option<u32>,
    log: PathBuf,
    /// Where the part of the log begins that is about what comes.
    begins: u64,
}

impl Before {
    pub(super) async fn now(context: &Context, data_dir: &Path) -> Result<Self, Failure> {
        let log = log_file::path(data_dir);
        let begins = std::fs::metadata(&log).map_or(0, |log| log.len());
        Ok(Self { pid: running::seen(context, data_dir).await?.pid(), log, begins })
    }
}

/// Waits until what systemd was told to start is ready.
pub(super) async fn ready_by_service(
    context: &Context,
    before: Before,
    unit: &Unit,
    limit: Duration,
) -> Result<Status, Failure> {
    let progress = context.out().progress("{spinner} waiting for palyrad, {elapsed}");
    let mut asked_at = Instant::now();
    let has_ended = || {
        if asked_at.elapsed() < ASK_SYSTEMD_EVERY {
            return None;
        }
        asked_at = Instant::now();
        unit.has_ended()
    };
    let ready = ready(context, has_ended, before.pid, limit).await;
    progress.finish_and_clear();
    ready.map_err(|why| failed(context, &before.log, before.begins, why, &[]))
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
    files::private_folder(data_dir).map_err(|error| Failure::unwritable(data_dir, &error))?;
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
    command.args(&arguments.options).envs(variables).stdin(Stdio::null()).stdout(log).stderr(again);
    let mut child = command.spawn().map_err(|error| Failure::file(&own, error))?;
    let progress = context.out().progress("{spinner} waiting for palyrad, {elapsed}");
    let limit = Duration::from_secs(arguments.wait);
    let has_ended = || match child.try_wait() {
        Ok(None) => None,
        Ok(Some(ended)) => Some(ended.to_string()),
        Err(error) => Some(error.to_string()),
    };
    let ready = ready(context, has_ended, None, limit).await;
    progress.finish_and_clear();
    ready.map_err(|why| failed(context, &log_path, begins, why, &arguments.options))
}

/// Why it is not ready.
enum NotReady {
    Ended(String),
    /// It goes on starting, and waits for these parts.
    Slow(Duration, Vec<String>),
    Failed(Failure),
}

/// Waits until another process than `before` is ready.
async fn ready(
    context: &Context,
    mut has_ended: impl FnMut() -> Option<String>,
    before: Option<u32>,
    limit: Duration,
) -> Result<Status, NotReady> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(how) = has_ended() {
            return Err(NotReady::Ended(how));
        }
        let mut waits_for = Vec::new();
        // While it starts it may break off an answer; only its end or the limit is final.
        match running::status(context).await {
            Ok(Some(status)) if status.ready && Some(status.pid) != before => return Ok(status),
            Ok(Some(status)) => waits_for = status.waiting_for,
            Err(failure) if Instant::now() >= deadline => return Err(NotReady::Failed(failure)),
            Ok(None) | Err(_) => {}
        }
        if Instant::now() >= deadline {
            return Err(NotReady::Slow(limit, waits_for));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Tells it with the last lines of the log, under the code that palyrad gave if it gave one.
fn failed(
    context: &Context,
    log: &Path,
    begins: u64,
    why: NotReady,
    options: &[OsString],
) -> Failure {
    let lines = log_file::last_lines(log, begins, TOLD_LINES).map(|(lines, _)| lines);
    let lines = lines.unwrap_or_default();
    let own = |message| StableErrorEnvelope::new(ErrorCode::ClientPalyradFailed, message);
    let envelope = match why {
        NotReady::Ended(status) => {
            palyrad::told(&lines.join("\n")).unwrap_or_else(|| unsaid(context, options, &status))
        }
        NotReady::Slow(limit, parts) if parts.is_empty() => {
            own(format!("palyrad is not ready after {} s; it goes on starting", limit.as_secs()))
        }
        NotReady::Slow(limit, parts) => own(format!(
            "palyrad is not ready after {} s; it runs and waits for: {}",
            limit.as_secs(),
            parts.join(", ")
        )),
        NotReady::Failed(failure) => return failure,
    };
    for line in &lines {
        context.out().note(&format!("  | {}", printable(line)));
    }
    envelope.with_details(json!({ "log": log.display().to_string(), "last_lines": lines })).into()
}

/// What is said where palyrad could not say it: its log may be what the disk has no room for.
fn unsaid(context: &Context, options: &[OsString], status: &str) -> StableErrorEnvelope {
    let found = preflight::hindrance(context, options, &Variables::new()).ok().flatten();
    let (code, why) = match found {
        Some(Hindrance { code, told }) => (code, format!("; {told}")),
        None => (ErrorCode::ClientPalyradFailed, String::new()),
    };
    let what = format!("palyrad ended before it was ready ({status}){why}");
    StableErrorEnvelope::new(code, what)
}
