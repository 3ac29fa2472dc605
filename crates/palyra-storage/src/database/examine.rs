//! Looking at a database that nobody has open.

use std::path::PathBuf;

use super::Database;
use super::open::{OpenOptions, lock_directory};
use super::traces;
use crate::StorageError;
use crate::engine::sqlite::connection;
use crate::engine::sqlite::copy::coming;
use crate::engine::sqlite::load::unfinished;

impl Database {
    /// Reads every page of the SQLite file that `options` name and says which file that was. None
    /// where there is no file yet, and on Postgres, whose server looks after its own.
    ///
    /// Nothing is migrated, and a log that a crash has left stays for the next open. Blocks for as
    /// long as reading the file takes. While a process has it open it is [`StorageError::Locked`].
    pub fn examine(options: &OpenOptions) -> Result<Option<PathBuf>, StorageError> {
        let file = options.sqlite_file();
        let unfinished = unfinished(file.path());
        if options.config.url.server()?.is_some() {
            return Ok(None);
        }
        if unfinished.exists() {
            return Err(StorageError::UnfinishedRestore { path: unfinished });
        }
        let coming = coming(file.path());
        if coming.exists() {
            return Err(StorageError::UnfinishedReturn { path: coming });
        }
        traces::check(options)?;
        if !file.path().exists() {
            return Ok(None);
        }
        let _lock = lock_directory(&options.data_dir)?;
        connection::check(&file, options.migrations)?;
        Ok(Some(file.path().to_owned()))
    }
}
