//! A copy of a SQLite file, as migrations keep them, and how it becomes the database again.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::SqliteFile;
use super::connection::{self, Depth, classify, open_loader, open_reader};
use super::files::{is_free, is_there, log_of, move_to, remove_all, with_ending};
use super::migrate::from_io;
use super::statements::SqliteStatements;
use crate::migrate::Migration;
use crate::private::{self, absent};
use crate::store::{counters, schema};
use crate::tx::Tx;
use crate::{StorageError, crash_point};

/// What every SQLite file begins with.
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// A copy that was opened to be read, and is whole, ours and not too new.
pub(crate) struct KeptCopy {
    connection: Connection,
    path: PathBuf,
    pub(crate) schema: i64,
}

/// What shows that a copy was about to become the database at `path`, and that this was not finished.
/// It holds the name under which the database is kept that was there.
pub(crate) fn unfinished_return(path: &Path) -> PathBuf {
    with_ending(path, ".unfinished-return")
}

/// The name of the new database until it is whole. Nobody misses what a kill has left of it.
pub(crate) fn coming(path: &Path) -> PathBuf {
    with_ending(path, "-coming")
}

/// What stands between the name of a database and its number when a copy has taken its place.
const REPLACED: &str = ".replaced-";

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
    /// there. At every moment there is the one or the other, or [`unfinished_return`] says that
    /// there is not. Nothing of the one that was there is changed or taken away.
    pub(crate) fn put_back(self, place: &Path) -> Result<Option<PathBuf>, StorageError> {
        let coming = coming(place);
        let begun = name_in(place).map_err(|error| from_io(place, error))?;
        // A log may hold all that there is of a database that went astray.
        if begun.is_none()
            && !is_there(place)
            && let Some(trace) = log_of(place)
        {
            return Err(StorageError::DatabaseGone { path: place.to_owned(), trace });
        }
        if let Err(error) = self.write(&coming) {
            let _ = remove_all(&coming);
            return Err(error);
        }
        drop(self.connection);
        crash_point!("put_back.before_swap");
        swap(place, begun, &coming).map_err(|error| from_io(place, error))
    }

    /// A new file with what is in the copy, and the mark. On the disk when this returns.
    fn write(&self, coming: &Path) -> Result<(), StorageError> {
        let trouble = |error: io::Error| from_io(coming, error);
        remove_all(coming).map_err(trouble)?;
        // SQLite would let everybody read it, and does not mind a file that is there and empty.
        private::open_file(coming).map_err(trouble)?;
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
/// the new one, so it goes first, and until the new one is there nobody may start.
fn swap(place: &Path, begun: Option<PathBuf>, coming: &Path) -> io::Result<Option<PathBuf>> {
    let used_since = |aside: &PathBuf| is_there(aside) && log_of(place).is_some();
    let replaced = match begun {
        // What an earlier attempt has moved is not moved again. What it put in its place has no log
        // unless somebody has worked with it all the same.
        Some(aside) if !is_there(place) || !used_since(&aside) => Some(aside),
        _ if is_there(place) => Some(mark(place)?),
        _ => None,
    };
    crash_point!("put_back.after_mark");
    if let Some(aside) = &replaced {
        move_to(place, aside)?;
    }
    crash_point!("put_back.before_rename");
    // What is left of them is empty.
    for ending in ["-wal", "-journal", "-shm"] {
        absent(std::fs::remove_file(with_ending(place, ending)))?;
    }
    std::fs::rename(coming, place)?;
    private::sync_folder_of(place)?;
    crash_point!("put_back.after_rename");
    absent(std::fs::remove_file(unfinished_return(place)))?;
    private::sync_folder_of(place)?;
    Ok(replaced.filter(|aside| aside.exists()))
}

/// Where an earlier attempt has moved the database. Nothing: there was none, or it did not come as
/// far as to move anything.
fn name_in(place: &Path) -> io::Result<Option<PathBuf>> {
    let said = match std::fs::read(unfinished_return(place)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let aside = std::str::from_utf8(&said).ok().and_then(|said| {
        let number = said.trim().rsplit_once(REPLACED)?.1.parse().ok()?;
        Some(aside(place, number))
    });
    Ok(aside)
}

/// Says where the database will be before it is moved. Nothing has changed if that fails.
fn mark(place: &Path) -> io::Result<PathBuf> {
    let marker = unfinished_return(place);
    let mut names = (1_u32..).map(|number| aside(place, number));
    let Some(aside) = names.find(|name| is_free(name)) else {
        return Err(ErrorKind::AlreadyExists.into());
    };
    let write = || {
        let mut file = private::open_file(&marker)?;
        file.set_len(0)?;
        writeln!(file, "{}", aside.file_name().unwrap_or_default().to_string_lossy())?;
        file.sync_all()?;
        private::sync_folder_of(&marker)
    };
    write().inspect_err(|_| drop(std::fs::remove_file(&marker)))?;
    Ok(aside)
}

fn aside(place: &Path, number: u32) -> PathBuf {
    with_ending(place, format!("{REPLACED}{number}"))
}
