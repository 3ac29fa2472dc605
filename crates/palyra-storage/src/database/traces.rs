//! What shows that a data directory had a database, or was about to have one.

use std::path::{Path, PathBuf};

use super::open::{DATABASE_FILE, OpenOptions};
use crate::StorageError;
use crate::blob::place::Place;
use crate::blob::{FOLDER, PROBE};
use crate::engine::sqlite::copy::unfinished_return;
use crate::engine::sqlite::load::unfinished;

/// A log of this length has nothing in it but its head.
const EMPTY_LOG: u64 = 32;

/// Refuses to work where something was begun and not finished, and to begin anew where there was a
/// database: SQLite would throw the log away, and with it what was committed last.
pub(super) fn check(options: &OpenOptions) -> Result<(), StorageError> {
    let path = options.data_dir.join(DATABASE_FILE);
    let begun = unfinished(&path);
    if begun.exists() {
        return Err(StorageError::UnfinishedRestore { path: begun });
    }
    let begun = unfinished_return(&path);
    if begun.exists() {
        return Err(StorageError::UnfinishedReturn { path: begun });
    }
    if length(&path) > 0 {
        return Ok(());
    }
    match first_trace(options, &path) {
        Some(trace) => Err(StorageError::DatabaseGone { path, trace }),
        None => Ok(()),
    }
}

fn first_trace(options: &OpenOptions, path: &Path) -> Option<PathBuf> {
    let blobs = options.data_dir.join(FOLDER);
    let own_blobs = || matches!(Place::of(&options.config), Ok(Place::DataDir));
    log_of(path)
        .or_else(|| copy_beside(&options.data_dir))
        .or_else(|| (own_blobs() && has_blobs(&blobs)).then_some(blobs))
}

/// The log of a database, if there is anything in it.
pub(crate) fn log_of(path: &Path) -> Option<PathBuf> {
    [("-wal", EMPTY_LOG), ("-journal", 0)].into_iter().find_map(|(ending, empty)| {
        let mut log = path.as_os_str().to_owned();
        log.push(ending);
        let log = PathBuf::from(log);
        (length(&log) > empty).then_some(log)
    })
}

/// A copy from before a migration, or what a copy took the place of.
fn copy_beside(folder: &Path) -> Option<PathBuf> {
    let other = format!("{DATABASE_FILE}.");
    let is_other = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&other) && length(path) > 0
    };
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    beside.map(|item| item.path()).filter(is_other).min()
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Whether a folder holds more than what a look at it may have left.
pub(crate) fn has_blobs(folder: &Path) -> bool {
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    items.into_iter().any(|item| match item.file_type() {
        Ok(kind) if kind.is_dir() => has_blobs(&item.path()),
        Ok(_) | Err(_) => !item.file_name().to_string_lossy().starts_with(PROBE),
    })
}
