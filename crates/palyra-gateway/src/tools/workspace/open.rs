//! Opening what is in a workspace, and nothing else. The kernel is told to follow no link and to stay
//! beneath the root; where it cannot be told, each part is opened from the one before it.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::path::WorkPath;

/// How often what others change at the same moment is tried again.
#[cfg(target_os = "linux")]
const TRIES: usize = 16;

/// Opens what is there. Makes nothing.
pub(super) fn beneath(
    root: BorrowedFd<'_>,
    path: &WorkPath,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match openat2(root, path.os(), flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // An old kernel says the first, an old filter of system calls the second.
                Err(Errno::NOSYS | Errno::PERM) => return walk(root, path, flags),
                done => return done,
            }
        }
        Err(Errno::AGAIN)
    }
    #[cfg(not(target_os = "linux"))]
    walk(root, path, flags)
}

/// The same, part by part.
pub(super) fn walk(root: BorrowedFd<'_>, path: &WorkPath, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = path.parts().peekable();
    let mut at: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let from = at.as_ref().map_or(root, AsFd::as_fd);
        let next = match parts.peek() {
            Some(_) => step(from, part)?,
            None => openat(from, part, flags, Mode::empty())?,
        };
        at = Some(next);
    }
    at.map_or_else(|| openat(root, ".", flags, Mode::empty()), Ok)
}

/// A folder in a folder.
pub(super) fn step(from: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(from, name, flags, Mode::empty())
}
