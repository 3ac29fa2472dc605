//! Statements of a transaction on a SQLite connection.

use std::path::Path;

use palyra_common::time::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};

use super::connection::classify;
use crate::tx::{SavepointStep, Statements};
use crate::value::{Column, Columns, Param, Row};
use crate::{Sql, StorageError};

pub(crate) struct SqliteStatements<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) path: &'a Path,
    /// Whether any statement was run that may have changed something.
    pub(crate) wrote: bool,
}

impl<'a> SqliteStatements<'a> {
    pub(crate) fn new(connection: &'a Connection, path: &'a Path) -> Self {
        Self { connection, path, wrote: false }
    }
}

impl Statements for SqliteStatements<'_> {
    fn execute(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<u64, StorageError> {
        let mut run = || {
            let mut statement = self.connection.prepare_cached(sql.sqlite)?;
            self.wrote |= !statement.readonly();
            bind(&mut statement, params)?;
            statement.raw_execute()
        };
        run().map(|changed| changed as u64).map_err(|error| classify(error, self.path))
    }

    fn execute_many(&mut self, sql: &Sql, sets: &[&[Param<'_>]]) -> Result<Vec<u64>, StorageError> {
        let mut run = || -> rusqlite::Result<Vec<u64>> {
            let mut statement = self.connection.prepare_cached(sql.sqlite)?;
            self.wrote |= !statement.readonly();
            let each = sets.iter().map(|params| {
                bind(&mut statement, params)?;
                Ok(statement.raw_execute()? as u64)
            });
            each.collect()
        };
        run().map_err(|error| classify(error, self.path))
    }

    fn execute_later(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<(), StorageError> {
        self.execute(sql, params).map(drop)
    }

    fn send_kept(&mut self) -> Result<(), StorageError> {
        Ok(())
    }

    fn query(
        &mut self,
        sql: &Sql,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let fault = |error| classify(error, self.path);
        let mut statement = self.connection.prepare_cached(sql.sqlite).map_err(fault)?;
        self.wrote |= !statement.readonly();
        bind(&mut statement, params).map_err(fault)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(fault)? {
            each(&Row(row))?;
        }
        Ok(())
    }

    fn savepoint(&mut self, step: SavepointStep) -> Result<(), StorageError> {
        // Whoever panics inside of one leaves it open, which is undone as well.
        self.wrote = true;
        let run = |text| statement(self.connection, text);
        let done = match step {
            SavepointStep::Open => run("SAVEPOINT part"),
            SavepointStep::Keep => run("RELEASE part"),
            SavepointStep::Undo => run("ROLLBACK TO part").and_then(|()| run("RELEASE part")),
        };
        done.map_err(|error| classify(error, self.path))
    }

    fn lease_time(&mut self, told: Timestamp) -> Result<Timestamp, StorageError> {
        Ok(told)
    }
}

/// Runs a statement that says nothing and is told nothing.
pub(super) fn statement(connection: &Connection, text: &'static str) -> rusqlite::Result<()> {
    connection.prepare_cached(text)?.execute([]).map(drop)
}

fn bind(statement: &mut Statement<'_>, params: &[Param<'_>]) -> rusqlite::Result<()> {
    let expected = statement.parameter_count();
    if expected != params.len() {
        return Err(rusqlite::Error::InvalidParameterCount(params.len(), expected));
    }
    for (index, param) in params.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, param)?;
    }
    Ok(())
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Param::Null => ValueRef::Null,
            Param::Int(value) => ValueRef::Integer(*value),
            Param::Real(value) => ValueRef::Real(*value),
            Param::Text(value) => ValueRef::Text(value.as_bytes()),
            Param::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

impl Columns for rusqlite::Row<'_> {
    fn column(&self, index: usize) -> Result<Column<'_>, StorageError> {
        let value = self
            .get_ref(index)
            .map_err(|_| StorageError::internal(format!("the result has no column {index}")))?;
        Ok(match value {
            ValueRef::Null => Column::Null,
            ValueRef::Integer(value) => Column::Int(value),
            ValueRef::Real(value) => Column::Real(value),
            ValueRef::Text(value) => Column::Text(std::str::from_utf8(value).map_err(|_| {
                StorageError::InvalidValue { what: format!("column {index} is not UTF-8") }
            })?),
            ValueRef::Blob(value) => Column::Blob(value),
        })
    }
}
