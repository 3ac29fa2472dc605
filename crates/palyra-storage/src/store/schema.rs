//! `schema_state`: which schema the database has. Made before the first migration.

use crate::tx::Statements;
use crate::{Sql, StorageError, Tx, params, sql};

const CREATE: Sql = sql!(
    sqlite: "CREATE TABLE IF NOT EXISTS schema_state (
        id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL,
        oldest_binary INTEGER NOT NULL, touched INTEGER NOT NULL) STRICT",
    postgres: "CREATE TABLE IF NOT EXISTS schema_state (
        id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL,
        oldest_binary BIGINT NOT NULL, touched BIGINT NOT NULL)",
);

const INSERT: Sql = sql!(
    "INSERT INTO schema_state (id, version, oldest_binary, touched) VALUES (1, 0, 0, 0)
     ON CONFLICT (id) DO NOTHING"
);

const READ: Sql = sql!("SELECT version, oldest_binary FROM schema_state WHERE id = 1");

const SET: Sql = sql!("UPDATE schema_state SET version = $1, oldest_binary = $2 WHERE id = 1");

const TOUCH: Sql = sql!("UPDATE schema_state SET touched = touched + 1 WHERE id = 1");

const COLUMNS: Sql = sql!(
    sqlite: "SELECT name FROM pragma_table_info('schema_state')",
    postgres: "SELECT CAST(attname AS TEXT) FROM pg_attribute
        WHERE attrelid = to_regclass('schema_state') AND attnum > 0 AND NOT attisdropped",
);

/// Only asked of SQLite, where a file has one owner.
const FIRST_TABLE: Sql = sql!(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
     ORDER BY name LIMIT 1"
);

/// Only asked of SQLite: how much the file has grown, and what rows have left in it.
const PAGES: Sql = sql!(
    "SELECT page_count * page_size, freelist_count * page_size
     FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
);

const ENGINE_VERSION: Sql = sql!(
    sqlite: "SELECT sqlite_version()",
    postgres: "SELECT current_setting('server_version')",
);

const OUR_COLUMNS: [&str; 4] = ["id", "version", "oldest_binary", "touched"];

/// Why a table `schema_state` is not ours.
pub(crate) const FOREIGN_SHAPE: &str = "its table schema_state has other columns than Palyra's";

/// Whether `schema_state` is there, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Absent,
    Ours,
    Foreign,
}

/// What a database says about its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaState {
    /// The newest migration that was carried out.
    pub version: i64,
    /// The oldest program, by the newest schema it knows, that may use this database.
    pub oldest_binary: i64,
}

/// Looks whose the database is; writes nothing.
pub(crate) fn look(tx: &mut Tx<'_>) -> Result<Table, StorageError> {
    let found: Vec<String> = tx.query(&COLUMNS, params![], |row| row.get(0))?;
    Ok(if found.is_empty() {
        Table::Absent
    } else if OUR_COLUMNS.iter().all(|ours| found.iter().any(|name| name == ours)) {
        Table::Ours
    } else {
        Table::Foreign
    })
}

/// Some table of a SQLite file.
pub(crate) fn first_table(tx: &mut Tx<'_>) -> Result<Option<String>, StorageError> {
    tx.query_opt(&FIRST_TABLE, params![], |row| row.get(0))
}

pub(crate) fn create(tx: &mut Tx<'_>) -> Result<(), StorageError> {
    tx.execute(&CREATE, params![])?;
    tx.execute(&INSERT, params![]).map(drop)
}

pub(crate) fn read(tx: &mut Tx<'_>) -> Result<SchemaState, StorageError> {
    tx.query_one(&READ, params![], |row| {
        Ok(SchemaState { version: row.get(0)?, oldest_binary: row.get(1)? })
    })
}

pub(crate) fn set(tx: &mut Tx<'_>, state: SchemaState) -> Result<(), StorageError> {
    tx.execute(&SET, params![state.version, state.oldest_binary]).map(drop)
}

/// A write that changes nothing anybody reads.
pub(crate) fn touch(statements: &mut dyn Statements) -> Result<(), StorageError> {
    statements.execute(&TOUCH, params![]).map(drop)
}

/// How many bytes fit into a SQLite file that may grow to `most`. What rows have left is used again,
/// also in one that has grown beyond that before there was a limit.
pub(crate) fn room(tx: &mut Tx<'_>, most: u64) -> Result<u64, StorageError> {
    let (grown, left) = tx.query_one(&PAGES, params![], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let bytes = |number: i64| u64::try_from(number).unwrap_or_default();
    Ok(most.saturating_sub(bytes(grown)).saturating_add(bytes(left)))
}

/// The version of SQLite or of the Postgres server, in its own words.
pub(crate) fn engine_version(tx: &mut Tx<'_>) -> Result<String, StorageError> {
    tx.query_one(&ENGINE_VERSION, params![], |row| row.get(0))
}
