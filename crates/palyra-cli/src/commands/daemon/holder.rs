//! The process that serves a data directory, found without its files: they may be gone.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use super::kept;
use crate::files;

/// What palyrad does instead of serving.
const OTHER_WORK: [&str; 5] = ["config", "preflight", "restore", "verify-backup", "openapi"];

/// The palyrad of this user that serves `data_dir`. None where the system does not tell.
pub(super) fn find(data_dir: &Path) -> Option<u32> {
    let asked = files::without_links(data_dir);
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find(|pid| serves(*pid, &asked).unwrap_or(false))
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
