//! Looking at a database that nobody has open.

use std::path::PathBuf;

use super::Database;
use super::lock::DirectoryLock;
use super::open::OpenOptions;
use super::traces;
use crate::StorageError;
use crate::engine::sqlite::connection;

impl Database {
    /// Reads every page of the SQLite file that `options` name and says which file that was. None
    /// where there is no file yet, and on Postgres, whose server looks after its own.
    ///
    /// Nothing is migrated, and a log that a crash has left stays for the next open. Blocks for as
    /// long as reading the file takes. While a process has it open it is [`StorageError::Locked`].
    pub fn examine(options: &OpenOptions) -> Result<Option<PathBuf>, StorageError> {
        if options.config.url.server()?.is_some() {
            return Ok(None);
        }
        let file = options.sqlite_file();
        let is_there = || traces::check(options).map(|()| file.path().exists());
        // A lock leaves a file behind, for which there is no reason where there is nothing.
        if matches!(is_there(), Ok(false)) {
            return Ok(None);
        }
        let _lock = DirectoryLock::take(&options.data_dir)?;
        if !is_there()? {
            return Ok(None);
        }
        connection::check(&file, options.migrations)?;
        Ok(Some(file.path().to_owned()))
    }
}
