//! Going back to a copy of the SQLite file that was kept before it was migrated.

use std::path::{Path, PathBuf};

use super::BackupError;
use crate::database::DirectoryLock;
use crate::engine::sqlite::copy::{KeptCopy, MAGIC, coming};
use crate::engine::sqlite::files::{log_of, refuse_link};
use crate::engine::sqlite::load::unfinished;
use crate::error::describe;
use crate::migrate::Migration;
use crate::{OpenOptions, StorageError};

/// What became of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutBack {
    /// The schema of the copy; the next open brings it up to date.
    pub schema: i64,
    /// Where the database is kept that was in its place, if there was one.
    pub replaced: Option<PathBuf>,
    /// The log beside it, without which it lacks what was written last.
    pub replaced_log: Option<PathBuf>,
}

/// Whether what begins so is a SQLite file, and so no backup.
pub fn is_copy(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// Checks a copy and says which schema it has. It must be whole, ours, and known to `migrations`.
pub fn verify_copy(file: &Path, migrations: &'static [Migration]) -> Result<i64, BackupError> {
    Ok(open(file, migrations)?.schema)
}

/// Makes a copy the database of the data directory that it is in. Nobody may use that meanwhile; it
/// is locked.
///
/// The database that was there is kept under another name, and the copy stays what it is. Blobs and
/// the master key are those of the data directory, which is why the copy must be of it; blobs that
/// were deleted since stay so, and those that only the other one needs are deleted in time. After a
/// failure or a kill the database is as it was, or the copy, or refused by
/// [`Database::open`](crate::Database::open) until this is done again, with this copy or another.
///
/// As after [`restore`](super::restore), whoever works with it asks
/// [`first_look`](super::first_look) before anything else.
pub async fn put_back(file: PathBuf, options: OpenOptions) -> Result<PutBack, BackupError> {
    options.config.check()?;
    let done = tokio::task::spawn_blocking(move || run(&file, &options));
    let panicked = |_| Err(StorageError::internal("putting back the copy panicked").into());
    done.await.unwrap_or_else(panicked)
}

fn run(file: &Path, options: &OpenOptions) -> Result<PutBack, BackupError> {
    if options.config.url.server()?.is_some() {
        let what = "it is a copy of a SQLite file, and storage.url names a Postgres database";
        return Err(BackupError::misplaced(file, what));
    }
    let place = options.sqlite_file().path;
    refuse_link(&place)?;
    let begun = unfinished(&place);
    let is = |other: &Path| same_file(file, other);
    if is(&place) || is(&begun) || is(&coming(&place)) {
        return Err(BackupError::misplaced(file, "it is the database itself, and no copy of it"));
    }
    // Not where a link leads: what belongs to a copy is beside it.
    let folder = |path: &Path| std::path::absolute(path).ok()?.parent()?.canonicalize().ok();
    if folder(file).is_none() || folder(file) != folder(&place) {
        let folder = options.data_dir.display();
        let what = format!(
            "a copy of a database needs the blobs of the data directory that it was made in; if \
             that is {folder}, move it there, and with it the file of the same name with `-wal` \
             at its end, if there is one"
        );
        return Err(BackupError::misplaced(file, what));
    }
    let _lock = DirectoryLock::take(&options.data_dir)?;
    if begun.exists() {
        return Err(StorageError::UnfinishedRestore { path: begun }.into());
    }
    let copy = open(file, options.migrations)?;
    let (schema, replaced) = (copy.schema, copy.put_back(&place)?);
    let replaced_log = replaced.as_deref().and_then(log_of);
    Ok(PutBack { schema, replaced, replaced_log })
}

/// A copy that is damaged is no fault of the database.
fn open(file: &Path, migrations: &'static [Migration]) -> Result<KeptCopy, BackupError> {
    KeptCopy::open(file, migrations).map_err(|error| match error {
        StorageError::Corrupt(cause) => BackupError::invalid(describe(&cause)),
        other => other.into(),
    })
}

fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        (Ok(_) | Err(_), _) => false,
    }
}
