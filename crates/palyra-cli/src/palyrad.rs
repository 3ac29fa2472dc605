//! The daemon's program, which does what must be done where the data is.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output as Ran, Stdio};

use palyra_common::data_dir::Outside;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use rustix::process::Signal;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::context::{Context, TOKEN_VARIABLE};
use crate::failure::Failure;

#[cfg(test)]
mod tests;

const NAME: &str = "palyrad";
/// The variable that names the program.
pub(crate) const VARIABLE: &str = "PALYRA_PALYRAD";

/// Where it is: named, beside this program, or in the path.
pub(crate) fn find() -> Result<PathBuf, Failure> {
    let missing = |what: String| Failure::new(ErrorCode::ClientPalyradMissing, what);
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        let told = format!("{VARIABLE} names {}, which is not a program", named.display());
        return if is_program(&named) { Ok(named) } else { Err(missing(told)) };
    }
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(NAME));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join(NAME));
    let found = beside.into_iter().chain(in_path).find(|candidate| is_program(candidate));
    found.ok_or_else(|| missing("palyrad is neither beside palyra nor in the PATH".into()))
}

/// Whether `path` is a file that may be run.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// A call of palyrad, on the data directory of this machine unless the daemon is elsewhere.
pub(crate) fn command(context: &Context) -> Result<Command, Failure> {
    let mut command = Command::new(find()?);
    if !context.is_remote() {
        command.arg("--data-dir").arg(context.data_dir()?);
    }
    forget_ours(&mut command);
    Ok(command)
}

/// Takes away what is ours: a token is not its business, and it refuses options that it does not
/// know.
pub(crate) fn forget_ours(command: &mut Command) {
    command.env_remove(TOKEN_VARIABLE).env_remove(VARIABLE);
}

/// Runs palyrad with `arguments` and reads the JSON that it prints. A check that finds faults
/// prints its report and fails, so a report counts whatever the status is.
pub(crate) fn ask<T: DeserializeOwned>(
    context: &Context,
    arguments: &[&OsStr],
) -> Result<T, Failure> {
    ask_with(context, arguments, &[])
}

/// As [`ask`], with `variables` beside those of this program.
pub(crate) fn ask_with<T: DeserializeOwned>(
    context: &Context,
    arguments: &[&OsStr],
    variables: &[(OsString, OsString)],
) -> Result<T, Failure> {
    answer(&run(context, arguments, variables)?)
}

/// As [`ask`], with `input` on standard input: what is to stay secret is no argument.
pub(crate) fn ask_reading<T: DeserializeOwned>(
    context: &Context,
    arguments: &[&OsStr],
    input: String,
) -> Result<T, Failure> {
    let mut command = command(context)?;
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = Path::new(command.get_program()).to_owned();
    let wrong = |error| Failure::file(&program, error);
    let mut child = command.spawn().map_err(wrong)?;
    // It reads all of it before it says anything, or refuses before it reads; then it says why.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    answer(&child.wait_with_output().map_err(wrong)?)
}

/// What a service on the data directory needs that is not in it. A service sees the file alone: what
/// the environment here says does not reach it.
pub(crate) fn outside(context: &Context) -> Result<Outside, Failure> {
    let mut command = command(context)?;
    let is_ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"PALYRA_");
    for name in std::env::vars_os().map(|(name, _)| name).filter(is_ours) {
        command.env_remove(name);
    }
    answer(&finish(command.args(["config", "outside"]))?)
}

fn answer<T: DeserializeOwned>(ran: &Ran) -> Result<T, Failure> {
    match serde_json::from_slice(&ran.stdout) {
        Ok(answer) => Ok(answer),
        Err(_) if !ran.status.success() => Err(failed(ran)),
        Err(error) => Err(Failure::new(
            ErrorCode::ClientUnexpectedAnswer,
            format!("palyrad answered with something else than was asked: {error}"),
        )),
    }
}

/// Runs palyrad with `arguments`; a bad status is an error.
pub(crate) fn done(context: &Context, arguments: &[&OsStr]) -> Result<Ran, Failure> {
    let ran = run(context, arguments, &[])?;
    if ran.status.success() { Ok(ran) } else { Err(failed(&ran)) }
}

fn run(
    context: &Context,
    arguments: &[&OsStr],
    variables: &[(OsString, OsString)],
) -> Result<Ran, Failure> {
    let mut command = command(context)?;
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    finish(command.args(arguments))
}

fn finish(command: &mut Command) -> Result<Ran, Failure> {
    let ran = command.stdin(Stdio::null()).output();
    ran.map_err(|error| Failure::file(Path::new(command.get_program()), error))
}

fn failed(ran: &Ran) -> Failure {
    // Ctrl-C reaches what this program has started, too.
    if ran.status.signal() == Some(Signal::INT.as_raw()) {
        return Failure::Interrupted;
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    told(&said).map_or_else(
        || {
            // What it says of its command line begins with the reason and ends with its help.
            let reason = said.lines().find_map(|line| line.strip_prefix("error: "));
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            if let Some(reason) = reason {
                return Failure::asked(format!("palyrad refuses its options: {reason}"));
            }
            let last = last.unwrap_or("no word");
            let what = format!("palyrad ended with {}: {last}", ran.status);
            Failure::new(ErrorCode::ClientPalyradFailed, what)
        },
        Failure::from,
    )
}

/// The last error in what palyrad said, in the form in which it tells one.
pub(crate) fn told(said: &str) -> Option<StableErrorEnvelope> {
    let start = said.rfind("palyrad: ")?;
    let told = said.get(start..)?;
    let (message, rest) = told.strip_prefix("palyrad: ")?.split_once("\n  code: ")?;
    let (code, rest) = rest.split_once("\n  what to do: ")?;
    let hint = rest.lines().next()?;
    let known = code.parse::<ErrorCode>().ok();
    let envelope = json!({
        "code": code,
        "message": message,
        "recovery_hint": hint,
        "retryable": known.is_some_and(ErrorCode::retryable),
    });
    serde_json::from_value(envelope).ok()
}
