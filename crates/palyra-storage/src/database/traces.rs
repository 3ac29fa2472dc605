//! What shows that a data directory had a database.

use std::path::{Path, PathBuf};

use super::open::{DATABASE_FILE, OpenOptions};
use crate::StorageError;
use crate::blob::FOLDER;
use crate::blob::place::Place;

/// A log of this length has nothing in it but its head.
const EMPTY_LOG: u64 = 32;

/// Refuses to begin anew where there was a database: SQLite would throw the log away, and with it
/// what was committed last.
pub(super) fn check(options: &OpenOptions) -> Result<(), StorageError> {
    let path = options.data_dir.join(DATABASE_FILE);
    if length(&path) > 0 {
        return Ok(());
    }
    match first_trace(options) {
        Some(trace) => Err(StorageError::DatabaseGone { path, trace }),
        None => Ok(()),
    }
}

fn first_trace(options: &OpenOptions) -> Option<PathBuf> {
    let log = options.data_dir.join(format!("{DATABASE_FILE}-wal"));
    if length(&log) > EMPTY_LOG {
        return Some(log);
    }
    // A copy from before a migration, and what a copy took the place of.
    let other = format!("{DATABASE_FILE}.");
    let is_other = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&other) && length(path) > 0
    };
    let beside = std::fs::read_dir(&options.data_dir).into_iter().flatten().flatten();
    let mut beside: Vec<_> = beside.map(|item| item.path()).filter(is_other).collect();
    beside.sort();
    let own_blobs = || matches!(Place::of(&options.config), Ok(Place::DataDir));
    beside
        .into_iter()
        .next()
        .or_else(|| own_blobs().then(|| first_file(&options.data_dir.join(FOLDER))).flatten())
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Something in a folder that is no folder.
pub(crate) fn first_file(folder: &Path) -> Option<PathBuf> {
    let items = std::fs::read_dir(folder).ok()?;
    items.flatten().find_map(|item| match item.file_type() {
        Ok(kind) if kind.is_dir() => first_file(&item.path()),
        Ok(_) | Err(_) => Some(item.path()),
    })
}
