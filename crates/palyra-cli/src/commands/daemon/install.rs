//! `palyra daemon install`

use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_common::data_dir::Outside;
use serde::Serialize;

use super::running::Seen;
use super::start::{self, Before};
use super::{kept, last_key, running};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};
use crate::service::variables::{self, S3Key};
use crate::service::{self, Content, Unit};
use crate::{files, log_file, palyrad, prompt};

/// A passphrase is no option, since those can be shown.
const PASSPHRASE_VARIABLE: &str = "PALYRA_VAULT_PASSPHRASE";

const WITHOUT_SYSTEMD: &str = "Where no systemd of yours answers, `palyra daemon start` starts the \
                               daemon without it.";

/// Install the daemon as a service of your systemd, start it, and wait until it is ready
///
/// Writes a hardened user unit, one for each data directory, which may write only there and to the
/// folders that the configuration names; run it again when those change. Where systemd does not
/// answer, the unit is written all the same, and what is left to do is told; it exits with 1 then.
/// Options in the environment are refused, since the service would not have them. A key for blobs
/// on S3 in AWS_ variables is kept for the service in service.env of the data directory, which only
/// you can read, for as long as blobs are there.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra daemon install
  palyra --data-dir /srv/palyra daemon install --no-start"
)]
pub(crate) struct Arguments {
    /// Do not start it now
    #[arg(long)]
    no_start: bool,
    /// How many seconds to wait
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = running::wait())]
    wait: u64,
    /// Replace a unit that was written by somebody else
    #[arg(long)]
    yes: bool,
}

/// What was done, and what was not.
#[derive(Debug, Serialize)]
struct Installed {
    unit: String,
    /// Whether it starts with the user's session.
    enabled: bool,
    started: bool,
    ready: bool,
    /// The names of the variables that are kept for it, and where.
    kept: Vec<&'static str>,
    kept_in: String,
    /// What is left to do, and why.
    not_done: Vec<String>,
    /// What runs the daemon where systemd cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    if cfg!(target_os = "macos") {
        return Err(Failure::asked(
            "there is no systemd on this system; use `palyra daemon start`",
        ));
    }
    let data_dir = context.own_data_dir("daemon install")?;
    let program = palyrad::find()?;
    let program =
        std::fs::canonicalize(&program).map_err(|error| Failure::file(&program, error))?;
    let unit = Unit::of(&data_dir)?;
    refuse_variables(&kept::own_names())?;
    let seen = running::seen(context, &data_dir).await?;
    refuse_if_started_by_hand(&seen, &unit)?;
    if !arguments.no_start {
        last_key::respect(&seen, "With --no-start it is not started again")?;
    }
    respect_others(context, &unit, arguments.yes)?;
    let outside = palyrad::outside(context)?;
    let key = if outside.s3 { S3Key::own()? } else { S3Key::default() };
    write(&unit, &program, &data_dir, &outside)?;
    if !outside.s3 {
        variables::forget_s3_key(&data_dir)?;
    }
    let kept = key.keep(&data_dir)?;
    let before = Before::now(context, &data_dir).await?;
    let mut installed = Installed { kept, ..enable(&unit, &data_dir, !arguments.no_start) };
    if outside.s3 && !variables::has_key(&data_dir) {
        installed.not_done.push(format!("{}. {}", variables::NO_KEY, variables::HOW));
    }
    if installed.started {
        let limit = Duration::from_secs(arguments.wait);
        match start::ready_by_service(context, before, &unit, limit).await {
            Ok(_) => installed.ready = true,
            Err(Failure::Told(told)) => installed.not_done.push(told.to_string()),
            Err(other @ (Failure::Faults | Failure::ToldAlready(_) | Failure::Interrupted)) => {
                return Err(other);
            }
        }
    }
    // Programs are told of the same data directory as people.
    let next = installed.next_step.take();
    installed.next_step = next.map(|step| context.out().complete(&step).into_owned());
    context.out().show(&installed, text)?;
    if installed.not_done.is_empty() { Ok(()) } else { Err(Failure::ToldAlready(Exit::Failed)) }
}

/// systemd starts the daemon with an environment of its own, so it would run on other data, or
/// without its key.
fn refuse_variables(names: &[String]) -> Outcome {
    if names.is_empty() {
        return Ok(());
    }
    let told: Vec<_> = names.iter().map(|name| format!("{name}: {}", instead_of(name))).collect();
    Err(Failure::asked(format!(
        "the service would not see what the environment says; unset it and use instead, of {}",
        told.join("; of ")
    )))
}

fn instead_of(name: &str) -> String {
    let option = name.strip_prefix("PALYRA_").and_then(|rest| rest.split_once('_'));
    match (name, option) {
        (kept::CONFIG_VARIABLE, _) => "palyra.toml in the data directory".into(),
        (PASSPHRASE_VARIABLE, _) => "`palyra config set vault.passphrase_file FILE`".into(),
        (_, Some((section, option))) => {
            let key = format!("{section}.{option}").to_lowercase();
            format!("`palyra config set {key} VALUE`")
        }
        (_, None) => "nothing: it is no option".into(),
    }
}

/// systemd would start a second one, which is refused the data directory.
fn refuse_if_started_by_hand(seen: &Seen, unit: &Unit) -> Outcome {
    match seen.pid() {
        Some(pid) if !unit.manages(pid) => Err(Failure::conflict(format!(
            "a daemon runs already as process {pid}; stop it first with `palyra daemon stop`"
        ))),
        Some(_) | None => Ok(()),
    }
}

fn respect_others(context: &Context, unit: &Unit, yes: bool) -> Outcome {
    if let Some(other) = unit.taken_by() {
        let (path, other) = (unit.path().display(), other.display());
        return Err(Failure::conflict(format!(
            "{path} is for the daemon on {other}; take it away there first, with `palyra --data-dir \
             {other} daemon uninstall`"
        )));
    }
    if !unit.path().exists() || unit.is_ours() {
        return Ok(());
    }
    let question = format!("{} was written by somebody else. Replace it?", unit.path().display());
    prompt::confirm(context.out(), &question, yes)
}

fn write(unit: &Unit, program: &Path, data_dir: &Path, outside: &Outside) -> Outcome {
    let (name, unit) = (unit.name(), unit.path());
    let config = config_folder(unit);
    let writable: Vec<_> = config.into_iter().chain(outside.folders.iter().cloned()).collect();
    let folders = writable.iter().map(PathBuf::as_path);
    for path in [unit, program, data_dir].into_iter().chain(folders) {
        // A line end would begin another setting.
        if path.to_str().is_none_or(|text| text.contains(char::is_control)) {
            let told = format!("{} cannot stand in a unit", path.display());
            return Err(Failure::asked(printable(&told)));
        }
    }
    let log = log_file::path(data_dir);
    // Whatever the unit names must be there before systemd confines the daemon to it.
    let folders = writable.iter().map(PathBuf::as_path);
    for folder in [Some(data_dir), log.parent()].into_iter().flatten().chain(folders) {
        files::private_folder(folder).map_err(|error| Failure::file(folder, error))?;
    }
    if let Some(folder) = unit.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    }
    let variables = &variables::path(data_dir);
    let content = Content { name, program, data_dir, log: &log, variables, writable: &writable };
    files::replace(unit, service::text(&content).as_bytes())
}

/// The folder of the configuration, which holds the key file of the vault.
fn config_folder(unit: &Path) -> Option<PathBuf> {
    // <config>/systemd/user/palyra.service
    Some(unit.ancestors().nth(3)?.join("palyra"))
}

fn enable(unit: &Unit, data_dir: &Path, start: bool) -> Installed {
    let mut not_done = Vec::new();
    let mut step = |arguments: &[&str], what: &str| match service::systemctl(arguments) {
        Ok(_) => true,
        Err(why) => {
            not_done.push(format!("{what} (run: systemctl --user {}; {why})", arguments.join(" ")));
            false
        }
    };
    step(&["daemon-reload"], "systemd was not told about the unit");
    let enabled = step(&["enable", unit.name()], "it does not start by itself yet");
    let started = start && step(&["restart", unit.name()], "it was not started");
    let next_step = (start && !started && !service::answers()).then(|| WITHOUT_SYSTEMD.to_owned());
    Installed {
        unit: unit.path().display().to_string(),
        enabled,
        started,
        ready: false,
        kept: Vec::new(),
        kept_in: variables::path(data_dir).display().to_string(),
        not_done,
        next_step,
    }
}

fn text(out: &Output, installed: &Installed) -> String {
    let mut text = format!("{} is written.\n", printable(&installed.unit));
    if installed.enabled && installed.next_step.is_none() {
        text.push_str(
            "It starts when you log in; for a start without a login: loginctl enable-linger\n",
        );
    }
    if !installed.kept.is_empty() {
        let (names, file) = (installed.kept.join(", "), printable(&installed.kept_in));
        text.push_str(&format!("Kept for it in {file}, which only you can read: {names}\n"));
    }
    if installed.ready {
        text.push_str("It is ready; `palyra daemon status` shows how it is.\n");
    }
    for left in &installed.not_done {
        text.push_str(&format!("{} {}\n", out.paint(Tone::Doubtful, "not done:"), printable(left)));
    }
    text.extend(installed.next_step.iter().map(|step| format!("{step}\n")));
    text
}
