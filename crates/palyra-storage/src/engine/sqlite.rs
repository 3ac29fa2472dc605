//! SQLite: one writer thread that commits for everybody, a few reader threads.

pub(crate) mod connection;
pub(crate) mod copy;
pub(crate) mod export;
pub(crate) mod files;

mod group;
pub(crate) mod load;
mod log_size;
pub(crate) mod migrate;
mod owner;
pub(crate) mod readers;
pub(crate) mod statements;
pub(crate) mod writer;

use std::path::{Path, PathBuf};

use crate::StorageError;

/// More than SQLite ever asks the disk for at once.
const ROOM: u64 = 1 << 20;

/// Where the database is and how large it may grow.
#[derive(Debug, Clone)]
pub(crate) struct SqliteFile {
    pub(crate) path: PathBuf,
    pub(crate) max_bytes: Option<u64>,
}

impl SqliteFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// SQLite says of its own limit, too, that the disk is full. It is believed of a disk that is.
    pub(crate) fn name_limit(&self, error: StorageError) -> StorageError {
        match (error, self.max_bytes) {
            (StorageError::DiskFull(cause), Some(max_bytes)) if has_room(&self.path) => {
                StorageError::SizeLimit { path: self.path.clone(), max_bytes, cause }
            }
            (error, _) => error,
        }
    }
}

fn has_room(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) > ROOM)
}
