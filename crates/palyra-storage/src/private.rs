//! Files and folders that other users of the machine cannot read.

use std::fs::File;
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Makes `folder` and what is missing above it. One that is there already stays as it is.
pub(crate) fn make_directory(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Brings the entry of `path` in its folder to the disk.
pub(crate) fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// A file that is not there needs nothing done to it.
pub(crate) fn absent(done: Result<()>) -> Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Opens a file for reading and writing, and makes it if it is not there.
pub(crate) fn open_file(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
