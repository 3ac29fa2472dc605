//! Writing a file so that whoever looks sees the old or the new one, also after a crash.

use std::fs::File;
use std::io::Write;

use palyra_common::ids::EventId;
use palyra_storage::new_id;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, fsync, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::open;
use super::path::WorkPath;

/// Writes a file, and the folders above it.
pub(super) fn file(
    root: BorrowedFd<'_>,
    path: &WorkPath,
    content: &[u8],
    mode: Mode,
) -> Result<(), Errno> {
    let (above, name) = path.split();
    let mut folder: Option<OwnedFd> = None;
    for part in above.parts() {
        let next = self::folder(folder.as_ref().map_or(root, AsFd::as_fd), part)?;
        folder = Some(next);
    }
    let folder = folder.as_ref().map_or(root, AsFd::as_fd);
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => match FileType::from_raw_mode(there.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NXIO),
        },
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    let beside = format!(".palyra-{}.tmp", new_id::<EventId>());
    let written = write(folder, &beside, content, mode)
        // Whatever has this name by now, a link too, is replaced and not followed.
        .and_then(|()| renameat(folder, &beside, folder, name))
        .and_then(|()| fsync(folder));
    if written.is_err() {
        let _ = unlinkat(folder, &beside, AtFlags::empty());
    }
    written
}

/// A folder in a folder, made if it is not there.
pub(super) fn folder(from: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(from, name, Mode::RWXU) {
        Ok(()) => fsync(from)?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    open::step(from, name)
}

fn write(folder: BorrowedFd<'_>, name: &str, content: &[u8], mode: Mode) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    let told = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    file.write_all(content).map_err(told)?;
    fchmod(&file, mode)?;
    file.sync_all().map_err(told)
}
