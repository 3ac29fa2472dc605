//! The thread that writes a backup: rows of one state, then the blobs that they name.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::create::{Created, Source};
use super::format::{BLOB_BUFFER, FORMAT, Head, PART_BYTES, hex};
use super::writer::{ArchiveWriter, Finished, into_cause};
use super::{BackupError, Missing, Progress, values};
use crate::blob::{BlobError, BlobId, ObjectReader};
use crate::engine::export::{RowSink, Snapshot};
use crate::store::blobs::{self, Stored};
use crate::store::tables::{self, Table};
use crate::store::{counters, schema};
use crate::value::{Column, Columns, Row};
use crate::{SCHEMA_VERSION, StorageError};

pub(super) struct Job {
    pub(super) source: Source,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) runtime: Handle,
}

impl Job {
    fn go_on(&self) -> Result<(), StorageError> {
        if self.stop.load(Ordering::Relaxed) || self.source.db.is_closed() {
            Err(StorageError::ShuttingDown)
        } else {
            Ok(())
        }
    }
}

pub(super) fn write<W: Write>(job: &Job, out: W) -> Result<(Created, W), BackupError> {
    let mut snapshot = Snapshot::open(job.source.db.origin())?;
    // The first statement chooses the state; a token is read after it, because a sequence has
    // none.
    let state = snapshot.read(schema::read)?;
    let fencing_token = snapshot.read(counters::last_token)?;
    if state.version > SCHEMA_VERSION {
        // It may have tables that this program does not know of.
        let (found, known) = (state.version, SCHEMA_VERSION);
        return Err(StorageError::NewerSchema { found, known }.into());
    }
    let head = Head {
        format: FORMAT,
        schema: state.version,
        engine: job.source.db.engine().as_str().to_owned(),
        made_at: job.source.clock.now().as_unix_millis(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        node: job.source.db.incarnation().to_string(),
        fencing_token,
    };
    let mut archive = ArchiveWriter::begin(out, &head)?;
    let (mut content, mut stored) = (Progress::default(), Vec::new());
    for table in tables::of_schema(state.version) {
        let mut sink = TableSink::new(job, table, &mut archive, &mut content, &mut stored);
        snapshot.rows(table, &mut sink)?;
        sink.end()?;
    }
    // Blobs may take long, and an old state costs whoever writes.
    drop(snapshot);
    for blob in &stored {
        job.go_on()?;
        copy_blob(job, blob, &mut archive)?;
        content.blobs += 1;
        content.bytes += blob.size;
        job.progress.send_replace(content);
    }
    let Finished { out, file_bytes, blobs } = archive.finish()?;
    content.blobs = blobs.count;
    let named = blobs.named.iter().map(|id| id.parse()).collect::<Result<_, _>>()?;
    let missing = Missing { count: blobs.missing, named };
    Ok((Created { schema: state.version, content, missing, file_bytes }, out))
}

/// Writes the rows of a table in parts.
struct TableSink<'a, W: Write> {
    job: &'a Job,
    table: &'a Table,
    archive: &'a mut ArchiveWriter<W>,
    content: &'a mut Progress,
    /// The blobs that are to follow.
    stored: &'a mut Vec<Stored>,
    /// Where the columns of a blob are, in the one table that has them.
    blob_places: Option<Vec<usize>>,
    width: usize,
    part: u32,
    rows: u64,
    lines: Vec<u8>,
    digest: Sha256,
}

impl<'a, W: Write> TableSink<'a, W> {
    fn new(
        job: &'a Job,
        table: &'a Table,
        archive: &'a mut ArchiveWriter<W>,
        content: &'a mut Progress,
        stored: &'a mut Vec<Stored>,
    ) -> Self {
        let (lines, digest) = (Vec::new(), Sha256::new());
        let blob_places = None;
        Self {
            job,
            table,
            archive,
            content,
            stored,
            blob_places,
            width: 0,
            part: 0,
            rows: 0,
            lines,
            digest,
        }
    }

    fn flush(&mut self) -> Result<(), BackupError> {
        self.job.go_on()?;
        self.part += 1;
        self.digest.update(&self.lines);
        self.archive.part(self.table.name, self.part, &self.lines)?;
        self.content.bytes += self.lines.len() as u64;
        self.lines.clear();
        self.job.progress.send_replace(*self.content);
        Ok(())
    }

    fn end(mut self) -> Result<(), BackupError> {
        if !self.lines.is_empty() {
            self.flush()?;
        }
        self.archive.table_done(self.table.name, self.rows, self.digest);
        Ok(())
    }
}

impl<W: Write> RowSink for TableSink<'_, W> {
    fn columns(&mut self, names: &[&str]) -> Result<(), BackupError> {
        self.width = names.len();
        if self.table.name == blobs::TABLE {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            self.blob_places = values::places(&names, blobs::COLUMNS);
        }
        let header = serde_json::to_string(names).map_err(io::Error::from);
        self.lines.extend_from_slice(header.map_err(BackupError::Output)?.as_bytes());
        self.lines.push(b'\n');
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), BackupError> {
        if let Some(places) = &self.blob_places {
            self.stored.push(blobs::read_stored(&Row(&Chosen { row, places }))?);
        }
        values::encode(&mut self.lines, row, self.width)?;
        self.rows += 1;
        self.content.rows += 1;
        if self.lines.len() >= PART_BYTES { self.flush() } else { Ok(()) }
    }
}

/// Some columns of an engine's row, in another order.
struct Chosen<'a> {
    row: &'a Row<'a>,
    places: &'a [usize],
}

impl Columns for Chosen<'_> {
    fn column(&self, index: usize) -> Result<Column<'_>, StorageError> {
        self.row.0.column(self.places[index])
    }
}

/// Copies the content of a blob, or notes that it is not what its name says.
fn copy_blob<W: Write>(
    job: &Job,
    stored: &Stored,
    archive: &mut ArchiveWriter<W>,
) -> Result<(), BackupError> {
    let id: BlobId = stored.place.sha256.parse()?;
    let open = || job.source.blobs.open_object(&job.runtime, &id, stored);
    let Some(mut object) = open()? else {
        return archive.missing_blob(&id);
    };
    if stored.size <= BLOB_BUFFER {
        let mut content = Vec::new();
        object.read_to_end(&mut content).map_err(into_cause)?;
        let whole = BlobId::of(&content) == id;
        let size = content.len() as u64;
        return if whole {
            archive.blob(&id, size, &mut &content[..])
        } else {
            archive.missing_blob(&id)
        };
    }
    if digest(&mut object)? != id.as_str() {
        return archive.missing_blob(&id);
    }
    let mut object = open()?.ok_or(BlobError::Corrupt { id: id.clone() })?;
    archive.blob(&id, stored.size, &mut object)
}

fn digest(object: &mut ObjectReader) -> Result<String, BackupError> {
    let (mut digest, mut chunk) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match object.read(&mut chunk).map_err(into_cause)? {
            0 => return Ok(hex(digest)),
            read => digest.update(&chunk[..read]),
        }
    }
}
