//! Restoring a backup into a new database.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::begun::Begun;
use super::format::{BLOB_BUFFER, Head};
use super::names::{self, NewNames};
use super::reader::{self, Visitor};
use super::values::{Value, places};
use super::{BackupError, Progress, Verified};
use crate::blob::place::Place;
use crate::blob::{self, BlobId, ObjectWriter, S3Credentials, object_path};
use crate::database::{DirectoryLock, has_blobs};
use crate::engine::load::{Destination, Loader, Unfinished};
use crate::engine::postgres::connect::Dial;
use crate::engine::sqlite::copy::unfinished_return;
use crate::engine::sqlite::files::{is_there, log_of, refuse_link};
use crate::engine::sqlite::load::{restoring as names_of, unfinished};
use crate::engine::sqlite::migrate::from_io;
use crate::migrate::newest;
use crate::private::{self, absent};
use crate::store::blobs;
use crate::store::counters;
use crate::store::tables::Table;
use crate::{OpenOptions, StorageError, crash_point};

/// Rows and bytes that go to the database at once.
const BATCH_ROWS: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// Restores a backup of either engine into the database that `options` name, which must be empty:
/// a data directory without a database and blobs, or a Postgres database without tables. Nobody
/// may use it meanwhile; on SQLite the directory is locked.
///
/// All is checked on the way. If anything fails the place is as empty as before; after a kill, or if
/// not even that can be done, it is refused by [`Database::open`](crate::Database::open) or empty,
/// and can be restored to again, unless the kill came after the last step. What was there before, or
/// was put there by others since, stays. After [`StorageError::CommitUnknown`] the database is there
/// with all its blobs, or not at all: then blobs that nobody refers to may be left.
/// Blobs get new names in the blob store, so that they never meet those of another database there.
///
/// The schema is that of the backup; the next open brings it up to date. Whoever works with it asks
/// [`first_look`](super::first_look) before anything else. A broken audit chain is
/// restored as it was, and told.
pub async fn restore<R>(
    input: R,
    options: OpenOptions,
    progress: watch::Sender<Progress>,
) -> Result<Verified, BackupError>
where
    R: Read + Send + 'static,
{
    options.config.check()?;
    let runtime = Handle::current();
    let restoring = tokio::task::spawn_blocking(move || run(input, &options, &runtime, &progress));
    let panicked = |_| Err(StorageError::internal("restoring the backup panicked").into());
    restoring.await.unwrap_or_else(panicked)
}

fn run(
    input: impl Read,
    options: &OpenOptions,
    runtime: &Handle,
    progress: &watch::Sender<Progress>,
) -> Result<Verified, BackupError> {
    let data_dir = &options.data_dir;
    private::make_directory(data_dir).map_err(|error| from_io(data_dir, error))?;
    let (destination, _lock, _begun) = match options.config.url.server()? {
        None => {
            let lock = DirectoryLock::take(data_dir)?;
            make_room(options)?;
            (Destination::Sqlite(options.sqlite_file()), Some(lock), None)
        }
        Some(server) => {
            let patience = options.config.retry_for.into();
            let begun = Begun::mark(options.sqlite_file().path());
            let begun = begun.map_err(|error| from_io(data_dir, error))?;
            (Destination::Postgres(Box::new(Dial::new(server)), patience), None, Some(begun))
        }
    };
    let mut restoring = Restoring::new(destination, options, runtime);
    let read = reader::read(input, &mut restoring, progress);
    let whole = read.and_then(|verified| Ok((verified, restoring.end()?)));
    let (verified, loader) = whole.inspect_err(|_| restoring.undo())?;
    match loader.finish() {
        Ok(()) => {
            restoring.forget();
            Ok(verified)
        }
        Err(Unfinished::NotThere(error)) => {
            restoring.undo();
            Err(error.into())
        }
        // Without its blobs it would be worse than none.
        Err(Unfinished::MayBeThere(error)) => Err(error.into()),
    }
}

/// Looks whether the data directory is free, and takes away what a killed restore left there.
fn make_room(options: &OpenOptions) -> Result<(), BackupError> {
    let file = options.sqlite_file();
    refuse_link(file.path())?;
    // A copy was about to become the database, and the blobs are its own.
    let path = unfinished_return(file.path());
    if path.exists() {
        return Err(StorageError::UnfinishedReturn { path }.into());
    }
    let database = is_there(file.path()).then(|| file.path().to_owned());
    let taken = database.or_else(|| log_of(file.path()));
    if let Some(place) = taken {
        return Err(BackupError::TargetInUse { place });
    }
    let (unfinished, blobs) = (unfinished(file.path()), options.data_dir.join(blob::FOLDER));
    if unfinished.exists() {
        // Its blobs may have gone elsewhere, and others may have been put here before it or since.
        names::take_away(file.path(), &blobs).map_err(|error| from_io(&blobs, error))?;
    }
    if Place::of(&options.config)? == Place::DataDir && has_blobs(&blobs) {
        return Err(BackupError::TargetInUse { place: blobs });
    }
    absent(std::fs::remove_file(&unfinished)).map_err(|error| from_io(&unfinished, error))?;
    Ok(())
}

struct Restoring<'a> {
    destination: Destination,
    options: &'a OpenOptions,
    runtime: &'a Handle,
    names: NewNames,
    loader: Option<Loader>,
    objects: Option<Arc<dyn ObjectStore>>,
    /// What was put into the object store.
    put: Vec<ObjectPath>,
    fencing_token: i64,
    table: Option<OpenTable>,
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

struct OpenTable {
    table: &'static Table,
    columns: Vec<String>,
    /// Where name and generation are, in the one table that has them.
    blob: Option<Vec<usize>>,
}

impl<'a> Restoring<'a> {
    fn new(destination: Destination, options: &'a OpenOptions, runtime: &'a Handle) -> Self {
        Self {
            destination,
            options,
            runtime,
            names: NewNames::new(),
            loader: None,
            objects: None,
            put: Vec::new(),
            fencing_token: 0,
            table: None,
            rows: Vec::new(),
            bytes: 0,
        }
    }

    fn loader(&mut self) -> Result<&mut Loader, BackupError> {
        self.loader.as_mut().ok_or_else(|| BackupError::invalid("it has no beginning"))
    }

    fn flush(&mut self) -> Result<(), BackupError> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        if let (Some(open), Some(loader)) = (&self.table, &mut self.loader) {
            loader.insert(open.table, &open.columns, &rows).map_err(of_rows)?;
        }
        Ok(())
    }

    /// Writes what is only known at the end. What is left is the last step.
    fn end(&mut self) -> Result<Loader, BackupError> {
        let Some(mut loader) = self.loader.take() else {
            return Err(BackupError::invalid("it has no beginning"));
        };
        let last = self.fencing_token;
        loader.write(|tx| {
            counters::set_last_token(tx, last)?;
            counters::mark_restored(tx)
        })?;
        Ok(loader)
    }

    /// Nobody has to know again what was put.
    fn forget(&self) {
        if let Destination::Sqlite(file) = &self.destination {
            // One that stays goes with the next open.
            let _ = std::fs::remove_file(names_of(file.path()));
        }
    }

    /// Takes away what was put. The database goes by itself, but for the file of SQLite.
    fn undo(&mut self) {
        drop(self.loader.take());
        if let Some(objects) = &self.objects {
            for path in &self.put {
                // A leftover is garbage that nobody refers to.
                let _ = self.runtime.block_on(objects.delete(path));
            }
        }
        if let Destination::Sqlite(file) = &self.destination {
            let _ = std::fs::remove_file(unfinished(file.path()));
        }
        self.forget();
    }
}

/// A row that the database refuses is a fault of the backup.
fn of_rows(error: StorageError) -> BackupError {
    match error {
        StorageError::Constraint(_) | StorageError::InvalidValue { .. } => {
            BackupError::invalid(crate::error::describe(&error))
        }
        other => other.into(),
    }
}

impl Visitor for Restoring<'_> {
    fn head(&mut self, head: &Head) -> Result<(), BackupError> {
        let known = newest(self.options.migrations);
        let steps = usize::try_from(head.schema).ok();
        let Some(migrations) = steps.and_then(|steps| self.options.migrations.get(..steps)) else {
            return Err(StorageError::NewerSchema { found: head.schema, known }.into());
        };
        self.fencing_token = head.fencing_token;
        self.names.made_at = head.made_at();
        if let Destination::Sqlite(file) = &self.destination {
            let path = file.path();
            self.names.write_down(path).map_err(|error| from_io(path, error))?;
        }
        let in_use = || BackupError::TargetInUse { place: self.destination.name() };
        let begun = Loader::begin(&self.destination, migrations)?;
        self.loader = Some(begun.ok_or_else(in_use)?);
        let OpenOptions { config, data_dir, .. } = self.options;
        self.objects = Some(blob::open_objects(config, data_dir, S3Credentials::from_env)?);
        Ok(())
    }

    fn table(&mut self, table: &'static Table, columns: &[String]) -> Result<(), BackupError> {
        let mut expected = self.loader()?.open_table(table)?;
        let (mut found, columns) = (columns.to_vec(), columns.to_vec());
        expected.sort_unstable();
        found.sort_unstable();
        if found != expected {
            return Err(BackupError::invalid(format!("{} has other columns", table.name)));
        }
        let of_blob = [blobs::SHA256, blobs::GENERATION];
        let blob = (table.name == blobs::TABLE).then(|| places(&columns, &of_blob)).flatten();
        self.table = Some(OpenTable { table, columns, blob });
        Ok(())
    }

    fn row(&mut self, mut row: Vec<Value>) -> Result<(), BackupError> {
        let blob = self.table.as_ref().and_then(|open| open.blob.as_deref());
        if let Some(&[sha256, generation]) = blob
            && let Value::Text(sha256) = &row[sha256]
        {
            row[generation] = Value::Text(self.names.of(sha256).generation);
        }
        self.bytes += row.iter().map(Value::weight).sum::<usize>();
        self.rows.push(row);
        if self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn table_end(&mut self) -> Result<(), BackupError> {
        self.flush()?;
        crash_point!("restore.after_table");
        Ok(())
    }

    fn blob(&mut self, id: &BlobId, content: &mut dyn Read) -> Result<(), BackupError> {
        let Some(objects) = &self.objects else {
            return Err(BackupError::invalid("it has no beginning"));
        };
        let path = object_path(id, &self.names.of(id.as_str()).generation);
        self.put.push(path.clone());
        let mut writer = ObjectWriter::new(self.runtime, objects, path);
        match copy(content, &mut writer) {
            Ok(()) => writer.finish()?,
            Err(error) => {
                writer.abort();
                return Err(error);
            }
        }
        crash_point!("restore.after_blob");
        Ok(())
    }
}

/// Reads to the end, where the content is checked.
fn copy(content: &mut dyn Read, writer: &mut ObjectWriter) -> Result<(), BackupError> {
    loop {
        let mut piece = Vec::new();
        content.take(BLOB_BUFFER).read_to_end(&mut piece).map_err(BackupError::reading)?;
        if piece.is_empty() {
            return Ok(());
        }
        writer.write(Bytes::from(piece))?;
        crash_point!("restore.inside_blob");
    }
}
