//! A disk that is quickly full.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use crate::guard::Guard;
use crate::tool;

const MOUNT_LIMIT: Duration = Duration::from_secs(30);
/// Lazily: a process that is just being killed may still be in it.
const UNMOUNT: &str = r#"umount -l "$1"; rmdir "$1""#;

/// A file system of limited size, in memory. It is unmounted with this value, or when the process
/// ends without dropping it.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
    guard: Option<Guard>,
}

impl SmallDisk {
    /// Mounts a file system of `bytes`, rounded up to whole pages. Nothing where this process is not
    /// root, with a word that is seen of a test that passes, too; root must be able to.
    pub fn mount(bytes: u64) -> anyhow::Result<Option<Self>> {
        let dir = tempfile::Builder::new()
            .prefix("palyra-disk-")
            .tempdir()
            .context("create a directory to mount on")?;
        let guard = Guard::arm(UNMOUNT, &[dir.path()])?;
        let disk = Self { path: dir.keep(), guard: Some(guard) };
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes},mode=0777"), "tmpfs"]);
        match tool::run(mount.arg(&disk.path), "", MOUNT_LIMIT) {
            Ok(_) => Ok(Some(disk)),
            Err(error) if rustix::process::geteuid().is_root() => {
                Err(error.context("root could not mount a small disk"))
            }
            Err(error) => {
                writeln!(std::io::stderr(), "no small disk without root: {error:#}")?;
                Ok(None)
            }
        }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            let _ = guard.fire();
        }
    }
}
