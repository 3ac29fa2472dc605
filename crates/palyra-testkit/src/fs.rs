//! Directories, disks and accounts for tests of what a file system may refuse.

mod scratch;
mod small_disk;

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

pub use scratch::ScratchDir;
pub use small_disk::SmallDisk;

use crate::process::{Builder, Process};

/// A process of `program` that permissions apply to: when the test is root, a copy of the program
/// run as `nobody`.
pub fn unprivileged_command(program: impl Into<PathBuf>) -> anyhow::Result<Builder> {
    Process::builder(program).unprivileged()
}

/// Makes a directory that only its owner may enter, whatever the umask is: a daemon refuses a data
/// directory that others may write to. What is missing above it is made alike.
pub fn private_dir(path: impl AsRef<Path>) -> anyhow::Result<()> {
    let path = path.as_ref();
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("create {}", path.display()))
}

/// A temporary directory that only its owner may enter, whatever the umask is.
pub fn private_tempdir() -> anyhow::Result<TempDir> {
    let made = tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir();
    made.context("create a temporary directory")
}
