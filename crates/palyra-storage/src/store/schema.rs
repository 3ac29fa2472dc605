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

/// What a database says about its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaState {
    /// The newest migration that was carried out.
    pub version: i64,
    /// The oldest program, by the newest schema it knows, that may use this database.
    pub oldest_binary: i64,
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
