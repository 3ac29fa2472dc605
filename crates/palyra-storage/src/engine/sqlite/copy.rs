//! A copy of a SQLite file, as migrations keep them, and how it becomes the database again.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::SqliteFile;
use super::connection::{self, Depth, classify, open_loader, open_reader};
use super::migrate::from_io;
use super::statements::SqliteStatements;
use crate::migrate::Migration;
use crate::store::{counters, schema};
use crate::tx::Tx;
use crate::{StorageError, crash_point, private};

/// What every SQLite file begins with.
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// A copy that was opened to be read, and is whole, ours and not too new.
pub(crate) struct KeptCopy {
    connection: Connection,
    path: PathBuf,
    pub(crate) schema: i64,
}

/// The name of what is about to take the place of the database at `path`. Its presence says that
/// this was begun and not finished.
pub(crate) fn coming(path: &Path) -> PathBuf {
    with_ending(path, ".unfinished-return")
}

fn with_ending(path: &Path, ending: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

impl KeptCopy {
    pub(crate) fn open(
        path: &Path,
        migrations: &'static [Migration],
    ) -> Result<Self, StorageError> {
        let file = SqliteFile { path: path.to_owned(), max_bytes: None };
        let connection = open_reader(&file)?;
        connection::examine(&connection, path, Depth::Thorough, migrations)?;
        let mut statements = SqliteStatements::new(&connection, path);
        let tx = &mut Tx::new(&mut statements);
        let schema = match schema::look(tx)? {
            schema::Table::Ours => schema::read(tx)?.version,
            schema::Table::Absent | schema::Table::Foreign => 0,
        };
        if schema < 1 {
            let (place, why) = (path.display().to_string(), "it has no schema".to_owned());
            return Err(StorageError::Foreign { place, why });
        }
        Ok(Self { connection, path: path.to_owned(), schema })
    }

    /// Makes it the database at `place`, marked as restored, and says where the one is that was
    /// there. At every moment there is the one or the other, or [`coming`] says that there is not.
    pub(crate) fn put_back(self, place: &Path) -> Result<Option<PathBuf>, StorageError> {
        let coming = coming(place);
        // An earlier attempt may have taken the log of the database away, which it goes on saying.
        let begun_before = coming.exists();
        if let Err(error) = self.write(&coming) {
            if !begun_before {
                let _ = std::fs::remove_file(&coming);
            }
            return Err(error);
        }
        drop(self.connection);
        crash_point!("put_back.before_swap");
        swap(place, &coming).map_err(|error| from_io(place, error))
    }

    /// A new file with what is in the copy, and the mark. On the disk when this returns.
    fn write(&self, coming: &Path) -> Result<(), StorageError> {
        let trouble = |error: io::Error| from_io(coming, error);
        // SQLite would let everybody read it, and does not mind a file that is there and empty.
        private::open_file(coming).and_then(|file| file.set_len(0)).map_err(trouble)?;
        private::sync_folder_of(coming).map_err(trouble)?;
        // It writes to another file alone, which is forbidden to a reader, too.
        self.connection
            .execute_batch("PRAGMA query_only = OFF")
            .map_err(|error| classify(error, &self.path))?;
        self.connection
            .execute("VACUUM INTO ?1", [coming.to_string_lossy()])
            .map_err(|error| classify(error, &self.path))?;
        crash_point!("put_back.after_copy");
        let file = SqliteFile { path: coming.to_owned(), max_bytes: None };
        let connection = open_loader(&file)?;
        {
            let mut statements = SqliteStatements::new(&connection, coming);
            counters::mark_restored(&mut Tx::new(&mut statements))?;
        }
        connection.close().map_err(|(_, error)| classify(error, coming))?;
        File::open(coming).and_then(|file| file.sync_all()).map_err(trouble)
    }
}

/// Puts `coming` in the place of the database. The log of the old one would be taken for the log of
/// the new one, so it goes first.
fn swap(place: &Path, coming: &Path) -> io::Result<Option<PathBuf>> {
    let replaced = set_aside(place)?;
    crash_point!("put_back.after_set_aside");
    for ending in ["-wal", "-shm"] {
        absent(std::fs::remove_file(with_ending(place, ending)))?;
    }
    private::sync_folder_of(place)?;
    crash_point!("put_back.before_rename");
    std::fs::rename(coming, place)?;
    crash_point!("put_back.after_rename");
    private::sync_folder_of(place)?;
    Ok(replaced)
}

/// Gives the database at `place` and its log a second name that nothing has yet.
fn set_aside(place: &Path) -> io::Result<Option<PathBuf>> {
    if !place.try_exists()? {
        return Ok(None);
    }
    let mut names = (1_u32..).map(|number| with_ending(place, format!(".replaced-{number}")));
    let is_free = |name: &PathBuf| !name.exists() && !with_ending(name, "-wal").exists();
    let Some(aside) = names.find(is_free) else {
        return Err(ErrorKind::AlreadyExists.into());
    };
    // The log first: a database that bears its name has all that belongs to it.
    absent(keep(&with_ending(place, "-wal"), &with_ending(&aside, "-wal")))?;
    keep(place, &aside)?;
    private::sync_folder_of(place)?;
    Ok(Some(aside))
}

/// A second name, or where the file system has none a second file.
fn keep(path: &Path, name: &Path) -> io::Result<()> {
    match std::fs::hard_link(path, name) {
        Err(error)
            if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) =>
        {
            std::fs::copy(path, name)?;
            File::open(name)?.sync_all()
        }
        linked => linked,
    }
}

fn absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
