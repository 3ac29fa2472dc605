//! A new SQLite file, under another name until it is whole.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params_from_iter};

use super::SqliteFile;
use super::connection::{classify, open_loader};
use super::files::with_ending;
use super::migrate::{from_io, migrate};
use super::statements::SqliteStatements;
use crate::backup::Value;
use crate::engine::load::Unfinished;
use crate::migrate::Migration;
use crate::store::tables::Table;
use crate::tx::Tx;
use crate::{StorageError, crash_point, private};

pub(crate) struct SqliteLoader {
    connection: Connection,
    unfinished: PathBuf,
    path: PathBuf,
}

/// The name of a file that is not whole. Its presence says that a restore was begun and not
/// finished.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    with_ending(path, ".unfinished-restore")
}

/// Where it is written down how to know the blobs that belong to a file that is not whole.
pub(crate) fn restoring(path: &Path) -> PathBuf {
    with_ending(path, "-restoring")
}

impl SqliteLoader {
    pub(crate) fn begin(
        file: &SqliteFile,
        migrations: &'static [Migration],
    ) -> Result<Self, StorageError> {
        let path = file.path().to_owned();
        let unfinished = unfinished(&path);
        private::open_file(&unfinished).map_err(|error| from_io(&unfinished, error))?;
        private::sync_folder_of(&unfinished).map_err(|error| from_io(&unfinished, error))?;
        let file = SqliteFile { path: unfinished.clone(), max_bytes: file.max_bytes };
        let connection = open_loader(&file)?;
        migrate(&connection, &unfinished, migrations)?;
        let loader = Self { connection, unfinished, path };
        loader.run("BEGIN IMMEDIATE")?;
        Ok(loader)
    }

    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let (connection, path) = (&self.connection, self.unfinished.as_path());
        let mut statements = SqliteStatements::new(connection, path);
        work(&mut Tx::new(&mut statements))
    }

    pub(crate) fn open_table(&mut self, table: &Table) -> Result<Vec<String>, StorageError> {
        let fault = |error| classify(error, &self.unfinished);
        self.run(&table.clear())?;
        let statement = self.connection.prepare(&table.select()).map_err(fault)?;
        Ok(statement.column_names().map(str::to_owned).collect())
    }

    pub(crate) fn insert(
        &mut self,
        table: &Table,
        columns: &[String],
        rows: &[Vec<Value>],
    ) -> Result<(), StorageError> {
        let insert = || {
            let mut statement = self.connection.prepare_cached(&table.insert(columns, '?'))?;
            rows.iter().try_for_each(|row| {
                statement.execute(params_from_iter(row.iter().map(Value::as_param))).map(drop)
            })
        };
        insert().map_err(|error| classify(error, &self.unfinished))
    }

    pub(crate) fn finish(self) -> Result<(), Unfinished> {
        self.run("COMMIT").map_err(Unfinished::NotThere)?;
        let Self { connection, unfinished, path } = self;
        let fault = |(_, error)| Unfinished::NotThere(classify(error, &unfinished));
        connection.close().map_err(fault)?;
        publish(&unfinished, &path, private::sync_folder_of)
    }

    fn run(&self, text: &str) -> Result<(), StorageError> {
        self.connection.execute_batch(text).map_err(|error| classify(error, &self.unfinished))
    }
}

/// Gives the file its name, which `sync` brings to the disk.
fn publish(
    unfinished: &Path,
    path: &Path,
    sync: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), Unfinished> {
    let publish = || {
        std::fs::File::open(unfinished)?.sync_all()?;
        crash_point!("restore.before_rename");
        std::fs::rename(unfinished, path)?;
        crash_point!("restore.after_rename");
        sync(path)
    };
    publish().map_err(|error| {
        let error = from_io(path, error);
        // While it has its other name it is not the database. An error of renaming alone does not
        // say that it has: a disk across a network may have done it and lost the answer.
        match unfinished.symlink_metadata() {
            Ok(_) => Unfinished::NotThere(error),
            Err(_) => Unfinished::may_be_there(error),
        }
    })
}

#[cfg(test)]
mod tests;
