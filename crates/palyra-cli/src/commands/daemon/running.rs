//! The daemon of this machine: whether it runs, and as which process.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::builder::RangedU64ValueParser;
use palyra_client::ClientError;
use palyra_common::api::Status;
use palyra_common::data_dir::{RUNTIME_FILE, Running};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::holder::{self, Unheard};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::files;

const RUNTIME_FILE_BYTES: u64 = 64 << 10;
/// How long a daemon that answers may take to write its runtime file.
const FILE_LIMIT: Duration = Duration::from_secs(2);
pub(super) const POLL: Duration = Duration::from_millis(50);
/// How long a daemon that was killed may take to be gone.
const BREAKS_OFF_LIMIT: Duration = Duration::from_secs(2);
const LOOK_FOR_HALTED_EVERY: Duration = Duration::from_secs(1);
/// How long the system may take to end a process that was killed.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// A day: no start or stop takes longer, and clocks cannot count to every number of seconds.
const LONGEST_WAIT: u64 = 86_400;

/// How a number of seconds to wait is read.
pub(super) fn wait() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(..=LONGEST_WAIT)
}

/// What the daemon says about itself; none if no daemon runs.
pub(super) async fn status(context: &Context) -> Result<Option<Status>, Failure> {
    match context.client()?.status().await {
        Ok(status) => Ok(Some(status)),
        Err(ClientError::NotRunning { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What is seen of the daemon of a data directory.
pub(crate) enum Seen {
    Answers(Box<Status>),
    /// The process runs and cannot be reached: it starts, hangs, or its socket is gone.
    Silent(u32),
    Nobody,
}

impl Seen {
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Answers(status) => Some(status.pid),
            Self::Silent(pid) => Some(*pid),
            Self::Nobody => None,
        }
    }
}

/// Looks for the daemon on `data_dir`, first on its socket and then among the processes.
pub(crate) async fn seen(context: &Context, data_dir: &Path) -> Result<Seen, Failure> {
    let client = context.client()?;
    let silent = || holder::find(data_dir).map(Seen::Silent);
    let deadline = Instant::now() + BREAKS_OFF_LIMIT;
    loop {
        let asked = tokio::select! {
            asked = context.waiting(client.status()) => asked,
            pid = halted(data_dir) => return Ok(Seen::Silent(pid)),
        };
        match asked {
            Ok(status) => return Ok(Seen::Answers(Box::new(status))),
            Err(ClientError::NotRunning { .. }) => return Ok(silent().unwrap_or(Seen::Nobody)),
            // One that was just killed breaks off what it is asked before its socket is closed.
            Err(ClientError::Unreachable { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(POLL).await;
            }
            Err(error @ ClientError::Unreachable { .. }) => {
                return silent().ok_or_else(|| error.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until the daemon on `data_dir` is seen to be halted, which no answer comes of.
async fn halted(data_dir: &Path) -> u32 {
    loop {
        tokio::time::sleep(LOOK_FOR_HALTED_EVERY).await;
        if let Some(pid) = holder::find(data_dir).filter(|pid| holder::is_halted(*pid)) {
            return pid;
        }
    }
}

/// What is said where a daemon that cannot be reached is in the way.
pub(super) fn in_the_way(pid: u32, data_dir: &Path) -> Failure {
    Failure::conflict(Unheard::of(pid, data_dir).to_string())
}

/// The process of the daemon on `data_dir` that has answered with `status`.
///
/// The runtime file could be left from a daemon that was killed, and its number be another's by
/// now. So the number must be the one that the daemon says on its socket. A daemon that has just
/// started may answer a moment before it has written the file.
pub(super) async fn process(data_dir: &Path, status: &Status) -> Result<Pid, Failure> {
    let deadline = Instant::now() + FILE_LIMIT;
    loop {
        match named(data_dir, status) {
            Err(_) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
            found => return found,
        }
    }
}

fn named(data_dir: &Path, status: &Status) -> Result<Pid, Failure> {
    let path = data_dir.join(RUNTIME_FILE);
    let wrong = |what: String| Failure::conflict(format!("{}: {what}", path.display()));
    // Where somebody has removed the file, the process itself says whose it is.
    if !path.exists() && holder::find(data_dir) == Some(status.pid) {
        return process_id(status.pid)
            .ok_or_else(|| wrong(format!("{} is no process", status.pid)));
    }
    let text = files::read_bounded(&path, RUNTIME_FILE_BYTES)?;
    let file: Running = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if file.pid != status.pid {
        return Err(wrong(format!(
            "it names process {}, but process {} answers; nothing was stopped",
            file.pid, status.pid
        )));
    }
    process_id(file.pid).ok_or_else(|| wrong(format!("{} is no process", file.pid)))
}

pub(super) fn process_id(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// What a daemon that has ended without being stopped has left about itself.
pub(super) fn left_behind(data_dir: &Path) -> Option<Running> {
    let text = files::read_bounded(&data_dir.join(RUNTIME_FILE), RUNTIME_FILE_BYTES).ok()?;
    serde_json::from_str(&text).ok()
}

/// Asks the process to stop, and waits for its end.
pub(super) async fn terminate(pid: Pid, limit: Duration) -> Outcome {
    match kill_process(pid, Signal::TERM) {
        Ok(()) => {}
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => {
            return Err(Failure::machine(format!("process {pid} could not be told: {error}")));
        }
    }
    ended(pid, limit).await
}

/// Waits for the end of a process that was asked to stop.
pub(super) async fn ended(pid: Pid, limit: Duration) -> Outcome {
    if ends(pid, limit).await {
        return Ok(());
    }
    Err(Failure::conflict(format!(
        "process {pid} was told to stop and still runs after {} s; `palyra daemon logs` shows what \
         it does, `palyra daemon stop --force` ends it",
        limit.as_secs()
    )))
}

/// Ends the process without asking it, if it still is the palyrad on `data_dir`: its number may be
/// another's by now.
pub(super) async fn kill(data_dir: &Path, number: u32, pid: Pid) -> Outcome {
    if !is_alive(pid) {
        return Ok(());
    }
    if !holder::is_on(data_dir, number) {
        let what = format!("process {number} is no palyrad on {}", data_dir.display());
        return Err(Failure::conflict(format!("{what}; it was not ended")));
    }
    match kill_process(pid, Signal::KILL) {
        Ok(()) if ends(pid, KILL_LIMIT).await => Ok(()),
        Err(rustix::io::Errno::SRCH) => Ok(()),
        Ok(()) => Err(Failure::machine(format!("process {pid} was killed and does not end"))),
        Err(error) => Err(Failure::machine(format!("process {pid} cannot be killed: {error}"))),
    }
}

/// Whether the process ends within `limit`.
async fn ends(pid: Pid, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while is_alive(pid) {
        if Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
    true
}

/// Whether the process runs. One that has ended but whose parent has not looked is no longer alive.
fn is_alive(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return false;
    }
    let number = pid.as_raw_nonzero().get().unsigned_abs();
    !matches!(holder::state(number), Some('Z' | 'X'))
}
