//! Directories, disks and accounts for tests of what a file system may refuse.

mod scratch;
mod small_disk;

use std::path::PathBuf;

pub use scratch::ScratchDir;
pub use small_disk::SmallDisk;

use crate::process::{Builder, Process};

/// A process of `program` that permissions apply to: when the test is root, a copy of the program
/// run as `nobody`.
pub fn unprivileged_command(program: impl Into<PathBuf>) -> anyhow::Result<Builder> {
    Process::builder(program).unprivileged()
}
