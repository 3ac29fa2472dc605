//! The daemon of this machine: whether it runs, and as which process.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::builder::RangedU64ValueParser;
use palyra_client::ClientError;
use palyra_common::api::Status;
use palyra_common::data_dir::{RUNTIME_FILE, Running};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::holder;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::files;

const RUNTIME_FILE_BYTES: u64 = 64 << 10;
/// How long a daemon that answers may take to write its runtime file.
const FILE_LIMIT: Duration = Duration::from_secs(2);
pub(super) const POLL: Duration = Duration::from_millis(50);
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
pub(super) enum Seen {
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
pub(super) async fn seen(context: &Context, data_dir: &Path) -> Result<Seen, Failure> {
    let silent = || holder::find(data_dir).map(Seen::Silent);
    match context.waiting(context.client()?.status()).await {
        Ok(status) => Ok(Seen::Answers(Box::new(status))),
        Err(ClientError::NotRunning { .. }) => Ok(silent().unwrap_or(Seen::Nobody)),
        Err(error @ ClientError::Unreachable { .. }) => silent().ok_or_else(|| error.into()),
        Err(error) => Err(error.into()),
    }
}

/// What is said where a daemon that cannot be reached is in the way.
pub(super) fn in_the_way(pid: u32, data_dir: &Path) -> Failure {
    Failure::conflict(format!(
        "process {pid} serves {} and does not answer: it is starting, it hangs, or its socket was \
         removed; stop it with `palyra daemon stop`",
        data_dir.display()
    ))
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
    let deadline = Instant::now() + limit;
    while is_alive(pid) {
        if Instant::now() >= deadline {
            return Err(Failure::conflict(format!(
                "process {pid} was told to stop and still runs after {} s; `palyra daemon logs` \
                 shows what it does",
                limit.as_secs()
            )));
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Whether the process runs. One that has ended but whose parent has not looked is no longer alive.
fn is_alive(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let state = stat.ok().and_then(|stat| stat.rsplit(") ").next()?.chars().next());
    !matches!(state, Some('Z' | 'X'))
}
