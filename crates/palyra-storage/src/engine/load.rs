//! Filling a new database with whole tables. Nobody sees any of it before [`Loader::finish`].

use std::path::PathBuf;
use std::sync::Arc;

use crate::StorageError;
use crate::backup::Value;
use crate::engine::postgres::connect::Dial;
use crate::engine::postgres::load::PostgresLoader;
use crate::engine::sqlite::SqliteFile;
use crate::engine::sqlite::load::SqliteLoader;
use crate::error::at;
use crate::migrate::Migration;
use crate::store::tables::Table;
use crate::tx::Tx;

/// Where the new database is to be.
pub(crate) enum Destination {
    /// A file that is not there yet.
    Sqlite(SqliteFile),
    /// A server, and how long it is waited for.
    Postgres(Box<Dial>, std::time::Duration),
}

/// A database that is being made.
pub(crate) enum Loader {
    Sqlite(SqliteLoader),
    Postgres(Box<PostgresLoader>),
}

/// Why a database did not become one, as far as anybody knows.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// It is not there and will not be.
    NotThere(StorageError),
    /// It may be there: what belongs to it stays.
    MayBeThere(StorageError),
}

impl Unfinished {
    /// The last step was begun, and `error` does not say that it was not done.
    pub(crate) fn may_be_there(error: StorageError) -> Self {
        let advice = "look whether the database is there before restoring again";
        Self::MayBeThere(StorageError::CommitUnknown(at(advice, Arc::new(error))))
    }
}

impl Destination {
    /// What a message calls it.
    pub(crate) fn name(&self) -> PathBuf {
        match self {
            Destination::Sqlite(file) => file.path().to_owned(),
            Destination::Postgres(..) => PathBuf::from("the Postgres database"),
        }
    }
}

impl Loader {
    /// Makes the schema that `migrations` end with, without the rows that they bring. `None` if
    /// the database is not empty.
    pub(crate) fn begin(
        destination: &Destination,
        migrations: &'static [Migration],
    ) -> Result<Option<Self>, StorageError> {
        Ok(match destination {
            Destination::Sqlite(file) => {
                Some(Loader::Sqlite(SqliteLoader::begin(file, migrations)?))
            }
            Destination::Postgres(dial, patience) => {
                PostgresLoader::begin(dial, *patience, migrations)?
                    .map(|loader| Loader::Postgres(Box::new(loader)))
            }
        })
    }

    /// Runs a few statements of the usual kind.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        match self {
            Loader::Sqlite(loader) => loader.write(work),
            Loader::Postgres(loader) => loader.write(work),
        }
    }

    /// Begins a table, takes away what migrations put there, and says which columns it has.
    pub(crate) fn open_table(&mut self, table: &Table) -> Result<Vec<String>, StorageError> {
        match self {
            Loader::Sqlite(loader) => loader.open_table(table),
            Loader::Postgres(loader) => loader.open_table(table),
        }
    }

    /// Adds rows to a table. `columns` are among those that it has.
    pub(crate) fn insert(
        &mut self,
        table: &Table,
        columns: &[String],
        rows: &[Vec<Value>],
    ) -> Result<(), StorageError> {
        match self {
            Loader::Sqlite(loader) => loader.insert(table, columns, rows),
            Loader::Postgres(loader) => loader.insert(table, columns, rows),
        }
    }

    /// Makes it the database, whole and on the disk.
    pub(crate) fn finish(self) -> Result<(), Unfinished> {
        match self {
            Loader::Sqlite(loader) => loader.finish(),
            Loader::Postgres(loader) => loader.finish(),
        }
    }
}
