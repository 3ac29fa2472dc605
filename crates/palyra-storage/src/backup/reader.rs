//! Reading a backup from beginning to end and checking everything on the way.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};
use tar::{Archive, Entry, EntryType};
use tokio::sync::watch;

use super::checks::Checks;
use super::format::{
    BlobSum, EntryName, FORMAT, Head, MAX_DOCUMENT, MAX_ROW, Manifest, NAMED_BLOBS, Object,
    TableSum, hex, sha256,
};
use super::seal::SealedReader;
use super::values::{self, Value};
use super::{BackupError, Missing, Progress, Verified};
use crate::blob::BlobId;
use crate::store::tables::{self, Table};

const SQLITE_FILE: &[u8] = b"SQLite format 3\0";

/// Sees what is in a backup, in its order. None of it is sure before the end.
pub(super) trait Visitor {
    fn head(&mut self, head: &Head) -> Result<(), BackupError>;
    fn table(&mut self, table: &'static Table, columns: &[String]) -> Result<(), BackupError>;
    fn row(&mut self, row: Vec<Value>) -> Result<(), BackupError>;
    fn table_end(&mut self) -> Result<(), BackupError>;
    /// `content` fails at its end if it is not what the name says.
    fn blob(&mut self, id: &BlobId, content: &mut dyn Read) -> Result<(), BackupError>;
}

/// Checks that a backup is whole: every digest and count, that every blob of a row is there or
/// noted as missing, and the audit chain. Needs no database. Blocks.
pub fn verify(
    input: impl Read,
    progress: &watch::Sender<Progress>,
) -> Result<Verified, BackupError> {
    let verified = read(input, &mut Nobody, progress)?;
    match verified.journal.fault.clone() {
        Some(fault) => Err(BackupError::Journal(fault)),
        None => Ok(verified),
    }
}

struct Nobody;

impl Visitor for Nobody {
    fn head(&mut self, _: &Head) -> Result<(), BackupError> {
        Ok(())
    }
    fn table(&mut self, _: &'static Table, _: &[String]) -> Result<(), BackupError> {
        Ok(())
    }
    fn row(&mut self, _: Vec<Value>) -> Result<(), BackupError> {
        Ok(())
    }
    fn table_end(&mut self) -> Result<(), BackupError> {
        Ok(())
    }
    fn blob(&mut self, _: &BlobId, content: &mut dyn Read) -> Result<(), BackupError> {
        std::io::copy(content, &mut std::io::sink()).map(drop).map_err(BackupError::reading)
    }
}

/// Reads a whole backup. What `visitor` was shown holds only if this succeeds.
pub(super) fn read(
    input: impl Read,
    visitor: &mut dyn Visitor,
    progress: &watch::Sender<Progress>,
) -> Result<Verified, BackupError> {
    let mut input = BufReader::new(SealedReader::new(input));
    if input.fill_buf().map_err(BackupError::reading)?.starts_with(SQLITE_FILE) {
        return Err(BackupError::invalid(
            "it is a SQLite database, such as the copies that migrations keep; go back to it with \
             `palyra backup restore`",
        ));
    }
    let mut archive = Archive::new(GzDecoder::new(&mut input));
    let mut reading = Reading::new(visitor, progress);
    let mut verified = None;
    for entry in archive.entries().map_err(BackupError::reading)?.raw(true) {
        if verified.is_some() {
            return Err(BackupError::invalid("something follows its manifest"));
        }
        verified = reading.entry(entry.map_err(BackupError::reading)?)?;
    }
    let verified = verified.ok_or_else(|| BackupError::invalid("it is cut off"))?;
    let mut padding = archive.into_inner();
    std::io::copy(&mut padding, &mut std::io::sink()).map_err(BackupError::reading)?;
    drop(padding);
    if !input.buffer().is_empty() {
        return Err(BackupError::invalid("something follows its end"));
    }
    input.into_inner().check()?;
    Ok(verified)
}

struct Reading<'a> {
    visitor: &'a mut dyn Visitor,
    progress: &'a watch::Sender<Progress>,
    content: Progress,
    head: Option<(Head, String)>,
    /// The tables that are still to come.
    ahead: Vec<&'static Table>,
    table: Option<OpenTable>,
    tables: Vec<TableSum>,
    blobs: BlobSum,
    checks: Checks,
}

/// The table whose parts are being read.
struct OpenTable {
    table: &'static Table,
    width: usize,
    part: u32,
    rows: u64,
    digest: Sha256,
}

impl<'a> Reading<'a> {
    fn new(visitor: &'a mut dyn Visitor, progress: &'a watch::Sender<Progress>) -> Self {
        Self {
            visitor,
            progress,
            content: Progress::default(),
            head: None,
            ahead: Vec::new(),
            table: None,
            tables: Vec::new(),
            blobs: BlobSum::default(),
            checks: Checks::default(),
        }
    }

    /// Reads an entry. Returns what the whole was when it was the last.
    fn entry(&mut self, entry: Entry<'_, impl Read>) -> Result<Option<Verified>, BackupError> {
        let path = entry.path_bytes();
        let name = std::str::from_utf8(&path).ok().map(EntryName::parse);
        let name = name.unwrap_or_else(|| Err(BackupError::invalid("an entry has no name")))?;
        drop(path);
        if entry.header().entry_type() != EntryType::Regular {
            return Err(BackupError::invalid("an entry is not a file"));
        }
        if self.head.is_none() && name != EntryName::Head {
            return Err(BackupError::invalid("it does not begin like a backup of Palyra"));
        }
        match name {
            EntryName::Head => self.head(entry)?,
            EntryName::Part { table, part } => self.part(&table, part, entry)?,
            EntryName::Blob { id, object } => self.blob(&id, object, entry)?,
            EntryName::Manifest => return self.manifest(entry).map(Some),
        }
        self.progress.send_replace(self.content);
        Ok(None)
    }

    fn head(&mut self, entry: impl Read) -> Result<(), BackupError> {
        let text = document(entry)?;
        // What a newer format has besides is not known, but its number is.
        #[derive(serde::Deserialize)]
        struct Format {
            format: u32,
        }
        let unreadable = |_| BackupError::invalid("its first entry cannot be read");
        let Format { format } = serde_json::from_slice(&text).map_err(unreadable)?;
        if format != FORMAT {
            let what = format!("its format is {format}, this program reads {FORMAT}");
            return Err(BackupError::invalid(what));
        }
        let head: Head = serde_json::from_slice(&text).map_err(unreadable)?;
        if self.head.is_some() || head.schema < 1 {
            return Err(BackupError::invalid("its first entry has no meaning"));
        }
        if head.schema > crate::SCHEMA_VERSION {
            let (found, known) = (head.schema, crate::SCHEMA_VERSION);
            return Err(crate::StorageError::NewerSchema { found, known }.into());
        }
        self.ahead = tables::of_schema(head.schema).collect();
        self.ahead.reverse();
        self.visitor.head(&head)?;
        self.head = Some((head, sha256(&text)));
        Ok(())
    }

    fn part(&mut self, name: &str, part: u32, entry: impl Read) -> Result<(), BackupError> {
        let mut lines = BufReader::new(entry);
        let follows = self
            .table
            .as_ref()
            .is_some_and(|open| open.table.name == name && open.part + 1 == part);
        if !follows {
            self.end_table()?;
            match self.ahead.pop().filter(|next| next.name == name && part == 1) {
                Some(table) => self.open_table(table, &mut lines)?,
                None => return Err(BackupError::invalid(format!("{name} is out of its order"))),
            }
        }
        let Some(open) = &mut self.table else {
            return Err(BackupError::invalid(format!("{name} is out of its order")));
        };
        open.part = part;
        let mut line = Vec::new();
        while next_line(&mut lines, &mut line)? {
            open.digest.update(&line);
            open.rows += 1;
            self.content.rows += 1;
            self.content.bytes += line.len() as u64;
            let row = values::decode(&line, open.width)?;
            self.checks.row(&row)?;
            self.visitor.row(row)?;
        }
        Ok(())
    }

    fn open_table(
        &mut self,
        table: &'static Table,
        lines: &mut impl BufRead,
    ) -> Result<(), BackupError> {
        let mut line = Vec::new();
        let unreadable = || BackupError::invalid(format!("{} has no columns", table.name));
        if !next_line(lines, &mut line)? {
            return Err(unreadable());
        }
        let columns: Vec<String> = serde_json::from_slice(&line).map_err(|_| unreadable())?;
        self.content.bytes += line.len() as u64;
        self.checks.table(table, &columns)?;
        self.visitor.table(table, &columns)?;
        let digest = Sha256::new_with_prefix(&line);
        self.table = Some(OpenTable { table, width: columns.len(), part: 0, rows: 0, digest });
        Ok(())
    }

    fn end_table(&mut self) -> Result<(), BackupError> {
        let Some(OpenTable { table, rows, digest, .. }) = self.table.take() else {
            return Ok(());
        };
        self.tables.push(TableSum { name: table.name.to_owned(), rows, sha256: hex(digest) });
        self.visitor.table_end()
    }

    fn end_tables(&mut self) -> Result<(), BackupError> {
        self.end_table()?;
        match self.ahead.last() {
            Some(table) => Err(BackupError::invalid(format!("{} is missing", table.name))),
            None => Ok(()),
        }
    }

    fn blob(
        &mut self,
        id: &BlobId,
        object: Object,
        entry: Entry<'_, impl Read>,
    ) -> Result<(), BackupError> {
        self.end_tables()?;
        self.checks.blob_entry(id);
        let size = entry.size();
        match object {
            Object::Missing if size > 0 => {
                return Err(BackupError::invalid(format!("blob {id} is missing and there")));
            }
            Object::Missing => {
                self.blobs.missing += 1;
                if self.blobs.named.len() < NAMED_BLOBS {
                    self.blobs.named.push(id.to_string());
                }
            }
            Object::Whole => {
                let mut content = Named { content: entry, id, digest: Sha256::new() };
                self.visitor.blob(id, &mut content)?;
                self.blobs.count += 1;
                self.blobs.bytes += size;
                self.content.blobs += 1;
                self.content.bytes += size;
            }
        }
        Ok(())
    }

    fn manifest(&mut self, entry: impl Read) -> Result<Verified, BackupError> {
        self.end_tables()?;
        let text = document(entry)?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|_| BackupError::invalid("its manifest cannot be read"))?;
        let Some((head, digest)) = self.head.take() else {
            return Err(BackupError::invalid("it has no beginning"));
        };
        let (tables, blobs) = (std::mem::take(&mut self.tables), std::mem::take(&mut self.blobs));
        let found = Manifest { head: digest, tables, blobs };
        if found != manifest {
            return Err(BackupError::invalid("what it holds is not what its manifest says"));
        }
        let journal = std::mem::take(&mut self.checks).end()?;
        let named = found.blobs.named.iter().map(|id| id.parse()).collect::<Result<_, _>>()?;
        Ok(Verified {
            schema: head.schema,
            made_at: head.made_at(),
            engine: head.engine,
            program: head.program,
            content: self.content,
            missing: Missing { count: found.blobs.missing, named },
            journal,
        })
    }
}

/// A small entry as a whole.
fn document(entry: impl Read) -> Result<Vec<u8>, BackupError> {
    let mut text = Vec::new();
    entry.take(MAX_DOCUMENT).read_to_end(&mut text).map_err(BackupError::reading)?;
    Ok(text)
}

/// Reads a line with its end. Says whether there was one.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, BackupError> {
    line.clear();
    lines.take(MAX_ROW).read_until(b'\n', line).map_err(BackupError::reading)?;
    match line.last() {
        None => Ok(false),
        Some(b'\n') => Ok(true),
        Some(_) => Err(BackupError::invalid("a row is cut off")),
    }
}

/// Content that must have the digest that it is named by.
struct Named<'a, R> {
    content: R,
    id: &'a BlobId,
    digest: Sha256,
}

impl<R: Read> Read for Named<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.content.read(into)?;
        self.digest.update(&into[..read]);
        if read == 0 && !into.is_empty() && hex(self.digest.clone()) != self.id.as_str() {
            let wrong = format!("blob {} does not have the content that it is named by", self.id);
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, wrong));
        }
        Ok(read)
    }
}
