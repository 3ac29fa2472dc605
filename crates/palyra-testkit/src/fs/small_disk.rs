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
/// Its number among the capabilities of Linux.
const CAP_SYS_ADMIN: u32 = 21;

/// A file system of limited size, in memory. It is unmounted with this value, or when the process
/// ends without dropping it.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
    guard: Option<Guard>,
}

impl SmallDisk {
    /// Mounts a file system of `bytes`, rounded up to whole pages. Nothing where this process is not
    /// root, or as in most containers is root without `CAP_SYS_ADMIN`, with a word that is seen of a
    /// test that passes, too; any other root must be able to.
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
            Err(error) if may_mount() => Err(error.context("root could not mount a small disk")),
            Err(error) => {
                let why = "no small disk without root and CAP_SYS_ADMIN";
                writeln!(std::io::stderr(), "{why}: {error:#}")?;
                Ok(None)
            }
        }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn may_mount() -> bool {
    rustix::process::geteuid().is_root() && has_sys_admin() != Some(false)
}

/// Whether this thread, which starts `mount`, has the capability. `None` where there is no such thing.
fn has_sys_admin() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(effective.trim(), 16).ok()?;
    Some(effective & (1 << CAP_SYS_ADMIN) != 0)
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            let _ = guard.fire();
        }
    }
}
