//! Writing the entries of a backup.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use palyra_common::time::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

use super::BackupError;
use super::format::{BlobSum, EntryName, Head, Manifest, Object, TableSum, hex, sha256};
use super::seal::SealingWriter;
use crate::blob::BlobId;

/// An archive that is being written.
pub(super) struct ArchiveWriter<W: Write> {
    archive: Builder<GzEncoder<SealingWriter<W>>>,
    made_at: Timestamp,
    manifest: Manifest,
}

/// What a finished archive is.
pub(super) struct Finished<W> {
    pub(super) out: W,
    pub(super) file_bytes: u64,
    pub(super) blobs: BlobSum,
}

impl<W: Write> ArchiveWriter<W> {
    pub(super) fn begin(out: W, head: &Head) -> Result<Self, BackupError> {
        let packed = GzEncoder::new(SealingWriter::new(out), Compression::fast());
        let archive = Builder::new(packed);
        let mut writer = Self { archive, made_at: head.made_at(), manifest: Manifest::default() };
        writer.manifest.head = writer.document(&EntryName::Head, head)?;
        Ok(writer)
    }

    /// Writes one part of a table.
    pub(super) fn part(&mut self, table: &str, part: u32, lines: &[u8]) -> Result<(), BackupError> {
        let name = EntryName::Part { table: table.to_owned(), part };
        self.entry(&name, lines.len() as u64, lines)
    }

    /// Notes that a table is complete.
    pub(super) fn table_done(&mut self, name: &str, rows: u64, digest: Sha256) {
        let sum = TableSum { name: name.to_owned(), rows, sha256: hex(digest) };
        self.manifest.tables.push(sum);
    }

    /// Writes a blob whose content is known to be `size` bytes and to have this name.
    pub(super) fn blob(
        &mut self,
        id: &BlobId,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<(), BackupError> {
        let mut content = HashedRead { content, digest: Sha256::new() };
        let name = EntryName::Blob { id: id.clone(), object: Object::Whole };
        self.entry(&name, size, &mut content)?;
        if hex(content.digest) != id.as_str() {
            // It was whole a moment ago, and an entry that was written cannot be taken back.
            return Err(crate::blob::BlobError::Corrupt { id: id.clone() }.into());
        }
        self.manifest.blobs.count += 1;
        self.manifest.blobs.bytes += size;
        Ok(())
    }

    /// Notes a blob whose content is gone or damaged.
    pub(super) fn missing_blob(&mut self, id: &BlobId) -> Result<(), BackupError> {
        let name = EntryName::Blob { id: id.clone(), object: Object::Missing };
        self.entry(&name, 0, io::empty())?;
        let blobs = &mut self.manifest.blobs;
        blobs.missing += 1;
        if blobs.named.len() < super::format::NAMED_BLOBS {
            blobs.named.push(id.to_string());
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Finished<W>, BackupError> {
        let manifest = self.manifest.clone();
        self.document(&EntryName::Manifest, &manifest)?;
        let finish = || {
            let sealing = self.archive.into_inner()?.finish()?;
            sealing.seal()
        };
        let (out, file_bytes) = finish().map_err(BackupError::Output)?;
        Ok(Finished { out, file_bytes, blobs: manifest.blobs })
    }

    fn document(
        &mut self,
        name: &EntryName,
        document: &impl Serialize,
    ) -> Result<String, BackupError> {
        let text =
            serde_json::to_vec_pretty(document).map_err(|e| BackupError::Output(e.into()))?;
        self.entry(name, text.len() as u64, text.as_slice())?;
        Ok(sha256(&text))
    }

    fn entry(
        &mut self,
        name: &EntryName,
        size: u64,
        content: impl Read,
    ) -> Result<(), BackupError> {
        let mut header = Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(self.made_at.as_unix_millis() / 1_000).unwrap_or(0));
        let written = self.archive.append_data(&mut header, name.to_string(), content);
        written.map_err(into_cause)
    }
}

/// A failure of the blob store comes through the archive as one of its input.
pub(super) fn into_cause(error: io::Error) -> BackupError {
    match error.downcast::<crate::blob::BlobError>() {
        Ok(blob) => BackupError::Blob(blob),
        Err(error) => BackupError::Output(error),
    }
}

struct HashedRead<'a> {
    content: &'a mut dyn Read,
    digest: Sha256,
}

impl Read for HashedRead<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        self.digest.update(&into[..read]);
        Ok(read)
    }
}
