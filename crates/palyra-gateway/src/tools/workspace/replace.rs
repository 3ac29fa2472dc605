//! Writing a file so that whoever looks sees the old or the new one, also after a crash.

use std::ffi::CStr;
use std::fs::File;
use std::io::Write;

use palyra_common::ids::EventId;
use palyra_storage::new_id;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, fchmod, flock, fstat, fsync, mkdirat,
    openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::path::WorkPath;
use super::{MAX_ENTRIES, open};

/// How often a file is written that somebody takes away at the same moment.
const TRIES: usize = 5;

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
    sweep(folder);
    // Before it has its lock, it may be taken for something that was left.
    for _ in 1..TRIES {
        match put(folder, name, content, mode) {
            Err(Errno::NOENT) => {}
            done => return done,
        }
    }
    put(folder, name, content, mode)
}

/// Writes a file beside the one with this name, and then takes its place.
fn put(folder: BorrowedFd<'_>, name: &str, content: &[u8], mode: Mode) -> Result<(), Errno> {
    let beside = format!("{BEFORE}{}{BEHIND}", new_id::<EventId>());
    let written = write(folder, &beside, content, mode).and_then(|_locked| {
        // Whatever has this name by now, a link too, is replaced and not followed.
        renameat(folder, &beside, folder, name)?;
        fsync(folder)
    });
    if written.is_err() {
        let _ = unlinkat(folder, &beside, AtFlags::empty());
    }
    written
}

/// What stands around the id in the name of a file that is not whole yet.
const BEFORE: &str = ".palyra-";
const BEHIND: &str = ".tmp";

/// Whether a file with this name is one that is being written, or that whoever wrote it left when they
/// were killed. Nobody else may have such a name.
pub(super) fn is_partial(name: &str) -> bool {
    let id = name.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(BEHIND));
    id.is_some_and(|id| id.parse::<EventId>().is_ok())
}

/// Takes away what was left in a folder. Whoever still writes holds a lock. What cannot be had is left
/// for the next time: it stands in nobody's way.
fn sweep(folder: BorrowedFd<'_>) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.take(MAX_ENTRIES).map_while(Result::ok) {
        let name = entry.file_name();
        if name.to_str().is_ok_and(is_partial) && is_left(folder, name) {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }
}

fn is_left(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::empty()).is_ok_and(|left| {
        flock(&left, FlockOperation::NonBlockingLockExclusive).is_ok()
            && fstat(&left)
                .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile)
    })
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

/// Gives the file back, which is locked as long as it is open.
fn write(folder: BorrowedFd<'_>, name: &str, content: &[u8], mode: Mode) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    // Where files cannot be locked, nothing that was left is taken away either.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    let told = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    file.write_all(content).map_err(told)?;
    fchmod(&file, mode)?;
    file.sync_all().map_err(told)?;
    Ok(file)
}
