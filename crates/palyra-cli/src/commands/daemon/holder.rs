//! The process that serves a data directory, found without its files: they may be gone.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use palyra_common::ErrorCode;
use rustix::process::geteuid;

use super::kept;
use crate::context::Context;
use crate::failure::Failure;
use crate::files;

/// What palyrad does instead of serving.
const OTHER_WORK: [&str; 5] = ["config", "preflight", "restore", "verify-backup", "openapi"];

/// The palyrad of this user that serves `data_dir`. None where the system does not tell.
pub(crate) fn find(data_dir: &Path) -> Option<u32> {
    let asked = files::without_links(data_dir);
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find(|pid| serves(*pid, &asked).unwrap_or(false))
}

/// Whether the process is the palyrad of this user that serves `data_dir`.
pub(super) fn is_on(data_dir: &Path, pid: u32) -> bool {
    serves(pid, &files::without_links(data_dir)).unwrap_or(false)
}

/// Whether the process was halted, as by Ctrl-Z: it does nothing until it is told to go on.
pub(super) fn is_halted(pid: u32) -> bool {
    matches!(state(pid), Some('T' | 't'))
}

/// The letter of what the process does.
pub(super) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// Whether what the process logs goes to `log`. None where the system does not tell.
pub(super) fn logs_to(log: &Path, pid: u32) -> Option<bool> {
    let goes = std::fs::metadata(format!("/proc/{pid}/fd/2")).ok()?;
    let is_same = |log: std::fs::Metadata| (log.dev(), log.ino()) == (goes.dev(), goes.ino());
    Some(std::fs::metadata(log).is_ok_and(is_same))
}

/// What is said of a daemon that runs and cannot be reached, and what to do.
pub(crate) struct Unheard {
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Unheard {
    pub(crate) fn of(pid: u32, data_dir: &Path) -> Self {
        let serves = format!("process {pid} serves {}", data_dir.display());
        if is_halted(pid) {
            return Self {
                what: format!("{serves} and was halted, as by Ctrl-Z"),
                remedy: format!(
                    "let it go on with `kill -CONT {pid}`, or end it with `palyra daemon stop \
                     --force`"
                ),
            };
        }
        Self {
            what: format!(
                "{serves} and does not answer: it is starting, it hangs, or its socket was removed"
            ),
            remedy: "stop it with `palyra daemon stop`, and with --force if it hangs".into(),
        }
    }
}

impl fmt::Display for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

/// What is told where a command fails: that no daemon runs is wrong of one whose socket is gone, and
/// one that was halted is told as such.
pub(crate) fn explained(context: &Context, failure: Failure) -> Failure {
    let code = match &failure {
        Failure::Told(told) => told.known_code(),
        Failure::Faults | Failure::ToldAlready(_) | Failure::Interrupted => None,
    };
    let may_explain: fn(u32) -> bool = match code {
        Some(ErrorCode::ClientDaemonNotRunning) => |_| true,
        Some(ErrorCode::ClientUnreachable) => is_halted,
        Some(_) | None => return failure,
    };
    let data_dir = match context.data_dir() {
        Ok(data_dir) if !context.is_remote() => data_dir,
        Ok(_) | Err(_) => return failure,
    };
    find(&data_dir).filter(|pid| may_explain(*pid)).map_or(failure, |pid| {
        Failure::new(ErrorCode::ClientUnreachable, Unheard::of(pid, &data_dir).to_string())
    })
}

fn serves(pid: u32, asked: &Path) -> Option<bool> {
    let owner = std::fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    // A program that was replaced meanwhile is called `palyrad (deleted)`.
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let is_palyrad = program.file_name()?.to_str()?.trim_end_matches(" (deleted)") == "palyrad";
    if owner != geteuid().as_raw() || !is_palyrad {
        return Some(false);
    }
    let does_else = kept::words(pid)?.iter().any(|word| OTHER_WORK.iter().any(|it| word == it));
    Some(!does_else && files::without_links(&kept::data_dir(pid)?) == asked)
}
