//! Whose database a file is.

use std::path::Path;

use rusqlite::Connection;

use super::connection::classify;
use super::statements::SqliteStatements;
use crate::StorageError;
use crate::store::schema::{self, Table};
use crate::tx::Tx;

/// Spells "Paly" in ASCII.
const APPLICATION_ID: i64 = 0x50_61_6c_79;

/// Refuses a file of another program, having read and nothing else. A file without tables may
/// become ours, and files of our first schema do not say whose they are.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), StorageError> {
    let foreign = |why| Err(StorageError::Foreign { place: path.display().to_string(), why });
    match application_id(connection, path)? {
        APPLICATION_ID => return Ok(()),
        0 => {}
        other => return foreign(format!("it bears the application id {other:#x}")),
    }
    let mut statements = SqliteStatements::new(connection, path);
    let tx = &mut Tx::new(&mut statements);
    match schema::look(tx)? {
        Table::Ours => Ok(()),
        Table::Foreign => foreign(schema::FOREIGN_SHAPE.to_owned()),
        Table::Absent => match schema::first_table(tx)? {
            None => Ok(()),
            Some(table) => foreign(format!("it has a table {table} and no schema_state")),
        },
    }
}

/// Writes into the file whose it is.
pub(super) fn mark(connection: &Connection, path: &Path) -> Result<(), StorageError> {
    if application_id(connection, path)? == APPLICATION_ID {
        return Ok(());
    }
    connection
        .pragma_update(None, "application_id", APPLICATION_ID)
        .map_err(|error| classify(error, path))
}

fn application_id(connection: &Connection, path: &Path) -> Result<i64, StorageError> {
    connection
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(|error| classify(error, path))
}
