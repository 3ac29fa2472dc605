//! The lock of a data directory, which also says where the database of the directory is.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::open::DATABASE_FILE;
use crate::engine::sqlite::files::refuse_link;
use crate::engine::sqlite::migrate::from_io;
use crate::{StorageError, private};

pub(super) const LOCK_FILE: &str = "palyra.lock";

/// What the lock of a node says whose database is on a server.
const ELSEWHERE: &str = "storage.url names the database of this directory";

/// Holds a data directory for this process. It ends with the process, however that ends.
pub(crate) struct DirectoryLock {
    folder: PathBuf,
    file: File,
}

impl DirectoryLock {
    pub(crate) fn take(folder: &Path) -> Result<Self, StorageError> {
        let path = folder.join(LOCK_FILE);
        // Through a link it would be taken, and then never found where it belongs.
        refuse_link(&path)?;
        let file = private::open_file(&path).map_err(|error| from_io(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), file }),
            Err(TryLockError::WouldBlock) => Err(StorageError::Locked { path: folder.to_owned() }),
            Err(TryLockError::Error(error)) => Err(from_io(&path, error)),
        }
    }

    /// Writes down that there is a database, for a start that finds none.
    pub(super) fn note_database(&self) -> io::Result<()> {
        note(&self.file, &format!("{DATABASE_FILE} belongs to this directory"))
    }

    /// Whether everybody else would meet it. One that was deleted keeps nobody out; it is taken again,
    /// unless somebody else has been quicker.
    fn check(&mut self) -> Result<(), StorageError> {
        let path = self.folder.join(LOCK_FILE);
        let held = self.file.metadata().and_then(|held| is_at(&path, &held));
        if held.map_err(|error| from_io(&path, error))? {
            return Ok(());
        }
        let again = Self::take(&self.folder)?;
        tracing::warn!(path = %path.display(), "the lock of the data directory was gone; it is back");
        // As after an open, it is no reason not to work.
        let _ = again.note_database();
        *self = again;
        Ok(())
    }
}

/// Writes down that the database is on a server, for a start that is not told so.
pub(super) fn note_server(folder: &Path) -> io::Result<()> {
    note(&private::open_file(&folder.join(LOCK_FILE))?, ELSEWHERE)
}

/// Whether the database was on a server when the directory was used last.
pub(super) fn names_server(folder: &Path) -> bool {
    let noted = std::fs::read_to_string(folder.join(LOCK_FILE));
    noted.is_ok_and(|noted| noted.trim_end() == ELSEWHERE)
}

fn note(mut lock: &File, text: &str) -> io::Result<()> {
    match lock.metadata()?.len() {
        0 => writeln!(lock, "{text}"),
        _ => Ok(()),
    }
}

fn is_at(path: &Path, file: &Metadata) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// An open SQLite file in a directory that is ours. Whoever deletes or moves either is not noticed by
/// SQLite, which goes on in files that nobody finds again.
pub(crate) struct Holding {
    lock: DirectoryLock,
    database: PathBuf,
    opened: Metadata,
}

impl Holding {
    pub(crate) fn of(lock: DirectoryLock, database: &Path) -> Result<Self, StorageError> {
        let opened = std::fs::symlink_metadata(database);
        let opened = opened.map_err(|error| from_io(database, error))?;
        Ok(Self { lock, database: database.to_owned(), opened })
    }

    /// Refuses unless both are where they were.
    pub(crate) fn check(&mut self) -> Result<(), StorageError> {
        match is_at(&self.database, &self.opened) {
            Ok(true) => self.lock.check(),
            Ok(false) => Err(StorageError::DatabaseTaken { path: self.database.clone() }),
            Err(error) => Err(from_io(&self.database, error)),
        }
    }
}
