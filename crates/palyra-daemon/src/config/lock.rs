//! One change of the configuration file at a time, whoever makes it.

use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// A change takes a moment: whoever holds the file for longer hangs, or is somebody else.
const LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// Held from reading the file until it is written. It ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _folder: File,
}

/// Waits for whoever changes the file at `path` now. The folder is what is locked: the file itself
/// is replaced by each change, and one beside it would be left there. In a folder that others may read
/// they may hold it, too, and keep everybody from changing the file; the data directory is no such one.
pub(crate) fn lock(path: &Path) -> Result<Lock, Failure> {
    let unwritable = |error| Failure::Unwritable { path: path.to_owned(), error };
    let (_, folder) = place(path);
    make(&folder).map_err(unwritable)?;
    let folder = File::open(folder).map_err(unwritable)?;
    let deadline = Instant::now() + LIMIT;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Lock { _folder: folder }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(POLL),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Busy { path: path.to_owned(), waited: LIMIT });
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(error)),
        }
    }
}

/// What is replaced when `path` is written, and its folder. A link stays a link; what it points to
/// is replaced.
pub(super) fn place(path: &Path) -> (PathBuf, PathBuf) {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    (path, folder)
}

/// As the daemon makes its data directory: for its owner only.
pub(super) fn make(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
