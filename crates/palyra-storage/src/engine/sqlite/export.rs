//! A consistent state of a SQLite file: a read transaction beside the writer's log.

use std::path::PathBuf;

use rusqlite::Connection;

use super::SqliteFile;
use super::connection::{classify, open_reader};
use super::statements::SqliteStatements;
use crate::StorageError;
use crate::backup::BackupError;
use crate::engine::export::RowSink;
use crate::store::tables::Table;
use crate::tx::Tx;
use crate::value::Row;

pub(crate) struct SqliteSnapshot {
    connection: Connection,
    path: PathBuf,
}

impl SqliteSnapshot {
    pub(crate) fn open(file: &SqliteFile) -> Result<Self, StorageError> {
        let (connection, path) = (open_reader(file)?, file.path().to_owned());
        connection.execute_batch("BEGIN DEFERRED").map_err(|error| classify(error, &path))?;
        Ok(Self { connection, path })
    }

    pub(crate) fn read<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut statements = SqliteStatements::new(&self.connection, &self.path);
        work(&mut Tx::new(&mut statements))
    }

    pub(crate) fn rows(
        &mut self,
        table: &Table,
        sink: &mut dyn RowSink,
    ) -> Result<(), BackupError> {
        let fault = |error| classify(error, &self.path);
        let mut statement = self.connection.prepare(&table.select()).map_err(fault)?;
        sink.columns(&statement.column_names().collect::<Vec<_>>())?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(fault)? {
            sink.row(&Row(row))?;
        }
        Ok(())
    }
}
