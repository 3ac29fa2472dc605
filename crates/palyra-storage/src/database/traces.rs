//! What shows that a data directory had a database, or was about to have one.

use std::path::{Path, PathBuf};

use super::lock::{LOCK_FILE, names_server};
use super::open::OpenOptions;
use crate::StorageError;
use crate::blob::place::Place;
use crate::blob::{FOLDER, PROBE};
use crate::engine::sqlite::copy::unfinished_return;
use crate::engine::sqlite::files::{is_there, log_of, refuse_link, with_ending};
use crate::engine::sqlite::load::unfinished;

/// Refuses to work where something was begun and not finished, and to begin anew where there was a
/// database: SQLite would throw the log away, and with it what was committed last.
pub(super) fn check(options: &OpenOptions) -> Result<(), StorageError> {
    let path = options.sqlite_file().path;
    refuse_link(&path)?;
    refuse_unfinished_restore(options)?;
    let begun = unfinished_return(&path);
    if begun.exists() {
        return Err(StorageError::UnfinishedReturn { path: begun });
    }
    if is_there(&path) {
        return Ok(());
    }
    if names_server(&options.data_dir) {
        return Err(StorageError::DatabaseElsewhere { trace: options.data_dir.join(LOCK_FILE) });
    }
    match first_trace(options, &path) {
        Some(trace) => Err(StorageError::DatabaseGone { path, trace }),
        None => Ok(()),
    }
}

/// Refuses to begin anew, here or on a server, where a restore was killed.
pub(super) fn refuse_unfinished_restore(options: &OpenOptions) -> Result<(), StorageError> {
    let begun = unfinished(&options.sqlite_file().path);
    match begun.exists() {
        true => Err(StorageError::UnfinishedRestore { path: begun }),
        false => Ok(()),
    }
}

fn first_trace(options: &OpenOptions, path: &Path) -> Option<PathBuf> {
    let blobs = options.data_dir.join(FOLDER);
    let own_blobs = || matches!(Place::of(&options.config), Ok(Place::DataDir));
    log_of(path)
        .or_else(|| copy_beside(path))
        .or_else(|| (own_blobs() && has_blobs(&blobs)).then_some(blobs))
        .or_else(|| Some(options.data_dir.join(LOCK_FILE)).filter(|lock| is_there(lock)))
}

/// A copy from before a migration, or what a copy took the place of.
fn copy_beside(path: &Path) -> Option<PathBuf> {
    let other = with_ending(Path::new(path.file_name()?), ".").into_os_string();
    let is_other = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(other.as_encoded_bytes()) && is_there(path)
    };
    let beside = std::fs::read_dir(path.parent()?).ok()?.flatten();
    beside.map(|item| item.path()).filter(is_other).min()
}

/// Whether a folder holds more than what a look at it may have left.
pub(crate) fn has_blobs(folder: &Path) -> bool {
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    items.into_iter().any(|item| match item.file_type() {
        Ok(kind) if kind.is_dir() => has_blobs(&item.path()),
        Ok(_) | Err(_) => !item.file_name().to_string_lossy().starts_with(PROBE),
    })
}
