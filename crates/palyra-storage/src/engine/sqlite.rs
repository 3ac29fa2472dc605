//! SQLite: one writer thread that commits for everybody, a few reader threads.

pub(crate) mod connection;
pub(crate) mod export;
pub(crate) mod load;
mod log_size;
pub(crate) mod migrate;
mod owner;
pub(crate) mod readers;
pub(crate) mod statements;
pub(crate) mod writer;

use std::path::{Path, PathBuf};

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
}
