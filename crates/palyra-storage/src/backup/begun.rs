//! A restore to a server that was killed leaves nothing there, and a start would begin with nothing.

use std::io;
use std::path::{Path, PathBuf};

use crate::engine::sqlite::load::unfinished;
use crate::private;

/// The mark of a restore that is under way. Nobody opens the database of a data directory with one.
///
/// Only a kill leaves it. Where that came after the COMMIT, the next restore finds the database in use
/// and takes the mark away.
pub(super) struct Begun(PathBuf);

impl Begun {
    pub(super) fn mark(database: &Path) -> io::Result<Self> {
        let path = unfinished(database);
        private::open_file(&path)?;
        private::sync_folder_of(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // One that stays is told by the next start, which says what to do.
        let _ = std::fs::remove_file(&self.0);
    }
}
