//! The files that a SQLite database is made of.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::private::{self, absent};
use crate::{StorageError, crash_point};

/// A log of this length has nothing in it but its head.
const EMPTY_LOG: u64 = 32;

/// The endings of the files. The log first: a database that bears its name has all that belongs to
/// it.
const PARTS: [&str; 3] = ["-wal", "-journal", ""];

pub(crate) fn with_ending(path: &Path, ending: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Refuses a database that is kept elsewhere: SQLite keeps the log there, too, where neither the lock
/// of the data directory nor what is looked at there protects it.
pub(crate) fn refuse_link(path: &Path) -> Result<(), StorageError> {
    match path.is_symlink() {
        true => Err(StorageError::Linked { path: path.to_owned() }),
        false => Ok(()),
    }
}

/// Whether there is a database. An empty file is none.
pub(crate) fn is_there(path: &Path) -> bool {
    length(path) > 0
}

/// The log of a database, if there is anything in it.
pub(crate) fn log_of(path: &Path) -> Option<PathBuf> {
    [("-wal", EMPTY_LOG), ("-journal", 0)].into_iter().find_map(|(ending, empty)| {
        let log = with_ending(path, ending);
        (length(&log) > empty).then_some(log)
    })
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Whether nothing has the name of any of its files.
pub(crate) fn is_free(path: &Path) -> bool {
    PARTS.iter().all(|part| with_ending(path, part).symlink_metadata().is_err())
}

/// Moves a database with all that belongs to it. What is there already stays, so that an attempt that
/// was interrupted is gone on with.
pub(crate) fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    for part in PARTS {
        let (from, to) = (with_ending(from, part), with_ending(to, part));
        if to.symlink_metadata().is_err() {
            absent(std::fs::rename(from, &to))?;
            // The next one goes only when this one is there for certain.
            private::sync_folder_of(&to)?;
        }
        crash_point!("put_back.after_part");
    }
    Ok(())
}

/// Removes a database that is of no use, with all that belongs to it.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    PARTS.iter().try_for_each(|part| absent(std::fs::remove_file(with_ending(path, part))))
}
