//! `palyra doctor`

mod local;
pub(crate) mod report;

use std::path::Path;

use palyra_common::api::{Check, CheckState, Doctor, Status};
use serde::Serialize;

use crate::commands::daemon::holder::Unheard;
use crate::commands::daemon::running::{self, Seen};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::palyrad;

/// Check this machine and the daemon
///
/// Without a daemon the checks are made that it would make before it starts. Exits with 7 when one
/// fails; warnings are no failure.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra doctor
  palyra doctor --fix               put right what can be put right
  palyra doctor --json"
)]
pub(crate) struct Arguments {
    /// Put right what is marked as fixable
    #[arg(long)]
    fix: bool,
}

/// All checks, and what was put right before they were made.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) checks: Vec<Check>,
    pub(crate) fixed: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let fixed = if arguments.fix { local::fix(context)? } else { Vec::new() };
    let found = Report { checks: examine(context).await?, fixed };
    context.out().show(&found, |out, found| {
        let fixed: String = found.fixed.iter().map(|name| format!("Put right: {name}\n")).collect();
        format!("{fixed}{}", report::text(out, &found.checks))
    })?;
    report::outcome(&found.checks)
}

/// Every check, those of this machine first.
pub(crate) async fn examine(context: &Context) -> Result<Vec<Check>, Failure> {
    let mut checks = if context.is_remote() { Vec::new() } else { local::checks(context)? };
    let (client, found) = (context.client()?, look(context).await);
    match found {
        Ok(Seen::Answers(status)) => {
            checks.push(runs(&status));
            checks.push(version(&status));
            let inside = client.doctor().await?.checks;
            // What the daemon checks as well, it knows better.
            checks.retain(|check| inside.iter().all(|known| known.name != check.name));
            checks.extend(inside);
        }
        Ok(Seen::Nobody) => {
            checks.push(not_running());
            checks.extend(preflight(context));
        }
        Ok(Seen::Silent(pid)) => {
            checks.push(silent(pid, &context.data_dir()?));
            checks.extend(preflight(context));
        }
        Err(Failure::Told(told)) if !context.is_remote() => {
            let advice = Some(told.recovery_hint());
            checks.push(check("daemon", CheckState::Failed, told.to_string(), advice));
            checks.extend(preflight(context));
        }
        Err(failure) => return Err(failure),
    }
    for advice in checks.iter_mut().filter_map(|check| check.advice.as_mut()) {
        *advice = context.out().complete(advice).into_owned();
    }
    Ok(checks)
}

async fn look(context: &Context) -> Result<Seen, Failure> {
    if context.is_remote() {
        let status = context.waiting(context.client()?.status()).await?;
        return Ok(Seen::Answers(Box::new(status)));
    }
    running::seen(context, &context.data_dir()?).await
}

fn check(name: &str, state: CheckState, seen: String, advice: Option<&str>) -> Check {
    Check { name: name.into(), state, seen, advice: advice.map(Into::into), fixable: false }
}

fn runs(status: &Status) -> Check {
    check("daemon", CheckState::Ok, format!("runs as process {}", status.pid), None)
}

fn not_running() -> Check {
    let advice = "Start it with `palyra daemon start`.";
    check("daemon", CheckState::Failed, "does not run".into(), Some(advice))
}

fn silent(pid: u32, data_dir: &Path) -> Check {
    let Unheard { what, remedy } = Unheard::of(pid, data_dir);
    check("daemon", CheckState::Failed, what, Some(&format!("To do: {remedy}.")))
}

fn version(status: &Status) -> Check {
    let own = env!("CARGO_PKG_VERSION");
    if status.version == own {
        return check("version", CheckState::Ok, format!("{own}, as the daemon"), None);
    }
    let seen = format!("the command line is {own}, the daemon {}", status.version);
    let advice = "Install both in one version and run `palyra daemon restart`.";
    check("version", CheckState::Warning, seen, Some(advice))
}

/// What a start would check. That it cannot be asked is told as a check of its own.
fn preflight(context: &Context) -> Vec<Check> {
    match palyrad::ask::<Doctor>(context, &["preflight".as_ref(), "--json".as_ref()]) {
        Ok(found) => found.checks,
        Err(Failure::Told(told)) => {
            let advice = Some(told.recovery_hint());
            vec![check("preflight", CheckState::Failed, told.to_string(), advice)]
        }
        Err(Failure::Faults | Failure::ToldAlready(_) | Failure::Interrupted) => Vec::new(),
    }
}
