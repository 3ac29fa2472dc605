//! Temporary directories.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::guard::Guard;

/// Again, because a process that is just being killed may still write into it; and by force, because
/// a test may have made it read-only.
const REMOVE: &str =
    r#"for _ in 1 2 3 4 5; do chmod -R u+rwX "$1"; rm -rf "$1" && break; sleep 0.2; done"#;

/// A temporary directory that is removed with this value, or when the process ends without
/// dropping it.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    /// Removes the directory, in either case.
    guard: Option<Guard>,
}

impl ScratchDir {
    /// An empty directory that only its owner may enter.
    pub fn new() -> anyhow::Result<Self> {
        Self::with_mode(0o700)
    }

    pub(crate) fn with_mode(mode: u32) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("palyra-test-")
            .permissions(Permissions::from_mode(mode))
            .tempdir()
            .context("create a temporary directory")?;
        let guard = Guard::arm(REMOVE, &[dir.path()])?;
        Ok(Self { path: dir.keep(), guard: Some(guard) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            let _ = guard.fire();
        }
    }
}
