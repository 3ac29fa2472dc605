//! Opening connections, and what SQLite's errors mean to us.

use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};

use super::log_size::LogSize;
use super::{SqliteFile, migrate, owner};
use crate::StorageError;
use crate::error::{Cause, at};
use crate::migrate::Migration;

/// Pages that the writer keeps in memory, in the words of SQLite: negative for kibibytes. Enough for
/// the indexes of a queue of some hundred thousand entries.
const CACHE_KIBIBYTES: i64 = -16_384;

/// Long enough for a backup tool's lock to pass, short enough to be told.
pub(super) const BUSY: std::time::Duration = std::time::Duration::from_secs(5);
/// Statements kept compiled on each connection; more than the program has.
const CACHED_STATEMENTS: usize = 512;
const PAGE_BYTES: u64 = 4_096;
const SAFELY: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA journal_size_limit = 67108864;";
/// SQLite takes paths of up to 512 bytes, and adds endings of its own.
const LONGEST_PATH: usize = 500;

/// The first connection to a file: it makes sure that the file is ours before it changes anything.
pub(crate) fn open_first(file: &SqliteFile) -> Result<Connection, StorageError> {
    let fault = |error| classify(error, file.path());
    let has_log = LogSize::of(file.path()).bytes() > 0;
    let connection = connect(file).map_err(fault)?;
    // The log of another program stays where it is, too.
    let keep_log = |keep| {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map_err(fault)
    };
    keep_log(has_log)?;
    owner::check(&connection, file.path())?;
    keep_log(false)?;
    prepare_to_write(&connection, file, SAFELY).map_err(fault)?;
    Ok(connection)
}

/// Reads every page of a file that nobody has open, and changes none. One of a newer program than
/// knows `migrations` is refused.
pub(crate) fn check(
    file: &SqliteFile,
    migrations: &'static [Migration],
) -> Result<(), StorageError> {
    let fault = |error| classify(error, file.path());
    let has_log = LogSize::of(file.path()).bytes() > 0;
    let connection = connect(file).map_err(fault)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log).map_err(fault)?;
    examine(&connection, file.path(), Depth::Quick, migrations)
}

/// How closely a file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Every page.
    Quick,
    /// And whether indexes say the same as their tables.
    Thorough,
}

/// Refuses what another program made, what is damaged, and what is newer than `migrations` know,
/// having read and nothing else.
pub(super) fn examine(
    connection: &Connection,
    path: &Path,
    depth: Depth,
    migrations: &'static [Migration],
) -> Result<(), StorageError> {
    owner::check(connection, path)?;
    let pragma = match depth {
        Depth::Quick => "PRAGMA quick_check(1)",
        Depth::Thorough => "PRAGMA integrity_check(1)",
    };
    let found: String = connection
        .query_row(pragma, [], |row| row.get(0))
        .map_err(|error| classify(error, path))?;
    if found == "ok" {
        return migrate::check(connection, path, migrations);
    }
    // It may quote from the file on several lines; the first says what is wrong.
    let found = found.lines().find(|line| !line.starts_with("***")).unwrap_or_default().to_owned();
    let cause: Cause = Arc::new(std::io::Error::other(found));
    Err(StorageError::Corrupt(at(path.display().to_string(), cause)))
}

/// The connection that writes. WAL with `synchronous=FULL`: a commit that was answered is on
/// the disk, whatever dies.
pub(crate) fn open_writer(file: &SqliteFile) -> Result<Connection, StorageError> {
    open_writing(file, SAFELY)
}

/// The connection that fills a new file. What it fails to do is thrown away as a whole, and what
/// it did is brought to the disk by whoever gives the file its name.
pub(crate) fn open_loader(file: &SqliteFile) -> Result<Connection, StorageError> {
    open_writing(file, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
}

fn open_writing(file: &SqliteFile, how: &str) -> Result<Connection, StorageError> {
    let open = || {
        let connection = connect(file)?;
        prepare_to_write(&connection, file, how)?;
        Ok(connection)
    };
    open().map_err(|error| classify(error, file.path()))
}

fn connect(file: &SqliteFile) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file.path(), flags)?;
    prepare(&connection)?;
    Ok(connection)
}

fn prepare_to_write(connection: &Connection, file: &SqliteFile, how: &str) -> rusqlite::Result<()> {
    connection.execute_batch(how)?;
    connection.execute_batch("PRAGMA foreign_keys = ON")?;
    connection.pragma_update(None, "cache_size", CACHE_KIBIBYTES)?;
    if let Some(bytes) = file.max_bytes {
        let pages = i64::try_from(bytes / PAGE_BYTES).unwrap_or(i64::MAX).max(1);
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(())
}

/// A connection that cannot write.
pub(crate) fn open_reader(file: &SqliteFile) -> Result<Connection, StorageError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(file.path(), flags)?;
        prepare(&connection)?;
        connection.execute_batch("PRAGMA query_only = ON")?;
        Ok(connection)
    };
    open().map_err(|error| classify(error, file.path()))
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // Without it a statement is prepared again for other parameters wherever a partial index might
    // have been used for these.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY")
}

/// What an error of SQLite means. The extended code tells a rule of the schema from a failing
/// disk, and only the former leaves the transaction alive.
pub(crate) fn classify(error: Error, path: &Path) -> StorageError {
    let code = error.sqlite_error_code();
    let extended = error.sqlite_error().map(|error| error.extended_code);
    let plain: Cause = match error {
        // It repeats the whole script, of which it could not read the rest.
        Error::SqlInputError { msg, .. } => Arc::new(std::io::Error::other(msg)),
        error => Arc::new(error),
    };
    let cause = at(path.display().to_string(), plain.clone());
    match code {
        // The index of the log could not be made larger: what a full disk does to it.
        Some(_) if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => {
            StorageError::DiskFull(cause)
        }
        // No rule about rows: a statement was given a value of another type than its column has.
        Some(_) if extended == Some(rusqlite::ffi::SQLITE_CONSTRAINT_DATATYPE) => {
            StorageError::internal(crate::error::describe(&plain))
        }
        Some(ErrorCode::ConstraintViolation) => StorageError::Constraint(plain),
        Some(ErrorCode::DiskFull) => StorageError::DiskFull(cause),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StorageError::Corrupt(cause),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StorageError::ReadOnly { path: path.to_owned(), cause: plain }
        }
        Some(ErrorCode::CannotOpen) if path.as_os_str().len() > LONGEST_PATH => too_long(path),
        Some(ErrorCode::CannotOpen) if !is_writable(path) => {
            StorageError::ReadOnly { path: path.to_owned(), cause: plain }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StorageError::Busy(cause),
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationAborted
            | ErrorCode::NoLargeFileSupport,
        ) => StorageError::Unavailable(cause),
        Some(_) | None => StorageError::internal(crate::error::describe(&plain)),
    }
}

pub(crate) fn too_long(path: &Path) -> StorageError {
    StorageError::InvalidValue { what: format!("the path {} is too long", path.display()) }
}

/// Whether this process may write to the folder of `path`, by the system's own judgement.
fn is_writable(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new("."));
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}
