//! What a backup is made of; see the [module](super) for the whole picture.

use palyra_common::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::BackupError;
use crate::blob::BlobId;
use crate::store::blobs::Stored;

/// The format that this program writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;
pub(super) const HEAD: &str = "palyra-backup.json";
pub(super) const MANIFEST: &str = "manifest.json";
/// A part of a table is closed when it has grown this large, because an entry of a tar file says
/// its size before its content.
pub(super) const PART_BYTES: usize = 1 << 20;
/// Blobs up to this size are read into memory, larger ones twice: an entry says its size first.
pub(super) const BLOB_BUFFER: u64 = 8 << 20;
/// Larger documents and rows are not ours. SQLite's own limit of a row is a little less.
pub(super) const MAX_ROW: u64 = 1 << 30;
pub(super) const MAX_DOCUMENT: u64 = 1 << 20;
/// So many missing blobs are named, of others only the number is kept.
pub(super) const NAMED_BLOBS: usize = 1_000;

/// The first entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) format: u32,
    /// The schema of the rows.
    pub(super) schema: i64,
    pub(super) engine: String,
    /// Unix milliseconds.
    pub(super) made_at: i64,
    pub(super) program: String,
    pub(super) node: String,
    /// No fencing token given so far is larger.
    pub(super) fencing_token: i64,
}

impl Head {
    pub(super) fn made_at(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.made_at)
    }
}

/// The last entry. A backup without it was cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The digest of the first entry.
    pub(super) head: String,
    pub(super) tables: Vec<TableSum>,
    pub(super) blobs: BlobSum,
}

/// What was written of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableSum {
    pub(super) name: String,
    pub(super) rows: u64,
    /// Of all its parts, one after the other.
    pub(super) sha256: String,
}

/// What was written of the blobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlobSum {
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// How many have a row and no whole object.
    pub(super) missing: u64,
    /// The first of them.
    pub(super) named: Vec<String>,
}

/// An entry by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryName {
    Head,
    Part { table: String, part: u32 },
    Blob { id: BlobId, object: Object },
    Manifest,
}

/// Whether the content of a blob is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    Whole,
    Missing,
}

impl EntryName {
    pub(super) fn parse(name: &str) -> Result<Self, BackupError> {
        let unknown = || BackupError::invalid(format!("it has an entry {name:?} of no meaning"));
        if let Some(part) = name.strip_prefix("tables/") {
            let (table, part) = part.split_once('/').ok_or_else(unknown)?;
            let digits = part.strip_suffix(".jsonl").ok_or_else(unknown)?;
            let part = digits.parse().map_err(|_| unknown())?;
            let read = EntryName::Part { table: table.to_owned(), part };
            return if read.to_string() == name { Ok(read) } else { Err(unknown()) };
        }
        if let Some(blob) = name.strip_prefix("blobs/") {
            let (id, object) = match blob.strip_suffix(".missing") {
                Some(id) => (id, Object::Missing),
                None => (blob, Object::Whole),
            };
            return Ok(EntryName::Blob { id: id.parse().map_err(|_| unknown())?, object });
        }
        match name {
            HEAD => Ok(EntryName::Head),
            MANIFEST => Ok(EntryName::Manifest),
            _ => Err(unknown()),
        }
    }
}

impl std::fmt::Display for EntryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EntryName::Head => f.write_str(HEAD),
            EntryName::Part { table, part } => write!(f, "tables/{table}/{part:06}.jsonl"),
            EntryName::Blob { id, object: Object::Whole } => write!(f, "blobs/{id}"),
            EntryName::Blob { id, object: Object::Missing } => write!(f, "blobs/{id}.missing"),
            EntryName::Manifest => f.write_str(MANIFEST),
        }
    }
}

/// A digest over the blobs in their order: that of the rows and that of the entries agree if
/// every row has its entry and the other way round.
#[derive(Default)]
pub(super) struct BlobOrder(Sha256);

impl BlobOrder {
    pub(super) fn row(&mut self, stored: &Stored) {
        self.add(&stored.place.sha256);
    }

    pub(super) fn entry(&mut self, id: &BlobId) {
        self.add(id.as_str());
    }

    fn add(&mut self, sha256: &str) {
        self.0.update(sha256.as_bytes());
        self.0.update(b"\n");
    }

    pub(super) fn sum(self) -> String {
        hex(self.0)
    }
}

/// A digest in the form in which it is written.
pub(super) fn hex(hasher: Sha256) -> String {
    let digest: [u8; 32] = hasher.finalize().into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}
