//! Bringing a SQLite file up to date.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::connection::{classify, too_long};
use super::files::with_ending;
use super::owner;
use super::statements::SqliteStatements;
use crate::engine::EngineKind;
use crate::error::{Cause, at};
use crate::migrate::{Migration, SchemaState, failed, plan, render};
use crate::private::absent;
use crate::store::schema;
use crate::tx::Tx;
use crate::{StorageError, crash_point};

/// Carries out what is missing, each step in one transaction. A process that is killed in the
/// middle leaves the last finished step, and the next start goes on from there.
pub(crate) fn migrate(
    connection: &Connection,
    path: &Path,
    migrations: &'static [Migration],
) -> Result<(), StorageError> {
    let state = transaction(connection, path, |tx| {
        owner::mark(connection, path)?;
        schema::create(tx)?;
        schema::read(tx)
    })?;
    let planned = plan(EngineKind::Sqlite, state, migrations);
    let missing = planned.map_err(|error| name_copy(error, path))?;
    if missing.is_empty() {
        return Ok(());
    }
    if state.version > 0 {
        keep_copy(connection, path, state.version)?;
        crash_point!("migrate.after_copy");
    }
    for step in missing {
        tracing::info!(version = step.version, name = step.name, "migrating the database");
        apply(connection, path, step).map_err(|error| failed(step, error))?;
        crash_point!("migrate.after_step");
    }
    Ok(())
}

/// Refuses a file of a newer program, having read and nothing else. A file without a schema is new.
pub(super) fn check(
    connection: &Connection,
    path: &Path,
    migrations: &'static [Migration],
) -> Result<(), StorageError> {
    let mut statements = SqliteStatements::new(connection, path);
    let tx = &mut Tx::new(&mut statements);
    if schema::look(tx)? == schema::Table::Absent {
        return Ok(());
    }
    let planned = plan(EngineKind::Sqlite, schema::read(tx)?, migrations);
    planned.map(drop).map_err(|error| name_copy(error, path))
}

fn apply(connection: &Connection, path: &Path, step: &Migration) -> Result<(), StorageError> {
    transaction(connection, path, |tx| {
        connection
            .execute_batch(&render(step, EngineKind::Sqlite))
            .map_err(|error| classify(error, path))?;
        crash_point!("migrate.inside_step");
        let (version, oldest_binary) = (step.version, step.oldest_binary);
        schema::set(tx, SchemaState { version, oldest_binary })
    })
}

fn transaction<T>(
    connection: &Connection,
    path: &Path,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let run = |text| connection.execute_batch(text).map_err(|error| classify(error, path));
    run("BEGIN IMMEDIATE")?;
    let mut statements = SqliteStatements::new(connection, path);
    let outcome = work(&mut Tx::new(&mut statements)).and_then(|value| {
        run("COMMIT")?;
        Ok(value)
    });
    if outcome.is_err() && !connection.is_autocommit() {
        run("ROLLBACK")?;
    }
    outcome
}

/// The copy that is kept beside a file before its schema `version` is migrated.
pub(crate) fn copy_path(path: &Path, version: i64) -> PathBuf {
    with_ending(path, format!(".schema-{version}.copy"))
}

/// Says where the newest copy is that this program can use, if there is one.
fn name_copy(error: StorageError, path: &Path) -> StorageError {
    let StorageError::NewerSchema { found, known } = error else {
        return error;
    };
    let mut copies = (1..=known).rev().map(|version| copy_path(path, version));
    match copies.find(|copy| copy.exists()) {
        Some(copy) => StorageError::NewerSchemaThanCopy { found, known, copy },
        None => error,
    }
}

/// Writes the copy under another name first: a copy that bears its name is whole.
fn keep_copy(connection: &Connection, path: &Path, version: i64) -> Result<(), StorageError> {
    let copy = copy_path(path, version);
    let unfinished = copy.with_extension("copy.unfinished");
    let trouble = |error: std::io::Error| from_io(&copy, error);
    absent(std::fs::remove_file(&unfinished)).map_err(trouble)?;
    // SQLite would let everybody read it, and does not mind a file that is there and empty.
    crate::private::open_file(&unfinished).map_err(trouble)?;
    connection
        .execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])
        .map_err(|error| classify(error, path))?;
    let file = std::fs::File::open(&unfinished).map_err(trouble)?;
    file.sync_all().map_err(trouble)?;
    std::fs::rename(&unfinished, &copy).map_err(trouble)?;
    crate::private::sync_folder_of(&copy).map_err(trouble)?;
    tracing::info!(copy = %copy.display(), "kept a copy of the database before migrating it");
    Ok(())
}

/// What an error of the file system means.
pub(crate) fn from_io(path: &Path, error: std::io::Error) -> StorageError {
    use std::io::ErrorKind;
    let kind = error.kind();
    let plain: Cause = Arc::new(error);
    let cause = at(path.display().to_string(), plain.clone());
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            StorageError::ReadOnly { path: path.to_owned(), cause: plain }
        }
        ErrorKind::InvalidFilename => too_long(path),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageError::DiskFull(cause),
        _ => StorageError::Unavailable(cause),
    }
}
