//! Whether a folder can be the data directory, before anything is made in it.

use std::os::unix::net::UnixStream;
use std::path::Path;

use palyra_common::data_dir::{LONGEST_PATH, SOCKET};
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_storage::StorageError;

use crate::failure::Failure;
use crate::standing::{self, Standing, quoted};

/// What others may do in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Openness {
    Private,
    /// They see the names of files, or get at those whose permissions allow it.
    Readable,
    /// They may put a socket, a database or a configuration of theirs in place of ours.
    Writable,
}

impl Openness {
    /// Of a folder with these permissions.
    pub(crate) fn of(mode: u32) -> Self {
        match mode {
            mode if mode & 0o022 != 0 => Self::Writable,
            mode if mode & 0o077 != 0 => Self::Readable,
            _ => Self::Private,
        }
    }
}

/// Refuses a folder whose socket nobody could open, whose name cannot be told, or in which others
/// could act for us. One that is not there is made private.
pub(crate) fn check(folder: &Path) -> Result<(), Failure> {
    let refuse = |what| Err(Failure::Option { what });
    let length = folder.as_os_str().len();
    if length > LONGEST_PATH {
        return refuse(format!(
            "the path of the data directory has {length} bytes, and at most {LONGEST_PATH} leave room for the \
             socket in it; choose a shorter one with --data-dir"
        ));
    }
    if folder.to_str().is_none() {
        return refuse(format!(
            "the path of the data directory, {}, is not UTF-8; choose another one with --data-dir",
            folder.display()
        ));
    }
    // Whatever else is wrong with it is told by whoever opens it.
    let Ok(found) = Standing::of(folder) else { return Ok(()) };
    let shown = folder.display();
    if found.is_foreign(standing::us()) {
        return open_to_others(format!(
            "the data directory {shown} belongs to user {}, who can so act as its owner; choose \
             another one with --data-dir, or after making sure that nobody has put anything there, \
             run chown -R {} {}",
            found.owner,
            standing::us(),
            quoted(folder)
        ));
    }
    match Openness::of(found.mode) {
        Openness::Private | Openness::Readable => Ok(()),
        Openness::Writable => open_to_others(format!(
            "others can change the data directory {shown} (mode {:o}), and so act as its owner; \
             after making sure that nobody has, run {}",
            found.mode,
            close(folder)
        )),
    }
}

fn open_to_others(what: String) -> Result<(), Failure> {
    Err(Failure::Refused(StableErrorEnvelope::new(ErrorCode::StorageOpenToOthers, what)))
}

/// Refuses a folder in which a daemon answers. Its lock says so, too, unless somebody has deleted it,
/// and there is none where the database is a server's.
pub(crate) fn refuse_running(folder: &Path) -> Result<(), Failure> {
    match UnixStream::connect(folder.join(SOCKET)) {
        Ok(_) => Err(Failure::Storage(StorageError::Locked { path: folder.to_owned() })),
        Err(_) => Ok(()),
    }
}

/// Tells once if others can look into the data directory.
pub(crate) fn warn(folder: &Path) {
    let Ok(Standing { mode, .. }) = Standing::of(folder) else { return };
    if Openness::of(mode) != Openness::Private {
        let (mode, advice) = (format!("{mode:o}"), close(folder));
        tracing::warn!(mode, advice, "others can look into the data directory");
    }
}

/// The command that makes a folder private.
fn close(folder: &Path) -> String {
    format!("chmod 700 {}", quoted(folder))
}
