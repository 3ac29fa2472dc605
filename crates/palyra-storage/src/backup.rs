//! Backups: everything that a database and its blobs hold, in one file that either engine can be
//! restored from.
//!
//! # The file
//!
//! A tar archive, compressed with gzip, that any tool unpacks:
//!
//! - `palyra-backup.json`: format, schema, where and when it was made, and a number that no
//!   fencing token given so far exceeds;
//! - `tables/NAME/000001.jsonl` and so on, for each table: a line with the names of its columns,
//!   then one line for each row, in the order of its key, as a JSON array in which bytes are
//!   `{"b": "base64"}`;
//! - `blobs/SHA256` for each blob, in the order of their rows; `blobs/SHA256.missing`, empty, for
//!   one whose object was gone or damaged;
//! - `manifest.json`: digests and counts of all that;
//! - after the archive a gzip member without content, whose comment is the SHA-256 of every byte
//!   before it.
//!
//! Neither leases nor commit marks nor blob trash are in it: they are about processes,
//! connections and objects that a restored database does not have.
//!
//! # Copies that migrations keep
//!
//! Before a SQLite file is migrated, a copy is kept beside it as `palyra.db.schema-N.copy`. It is
//! a database, not a backup: [`put_back`] makes it the database of its data directory again, for the
//! version that made it, and keeps the one that was there as `palyra.db.replaced-N`.

mod begun;
mod checks;
mod copy;
mod create;
mod error;
mod format;
mod names;
mod reader;
mod restore;
mod rows;
mod seal;
mod values;
mod writer;

use palyra_common::time::Timestamp;

pub use copy::{PutBack, is_copy, put_back, verify_copy};
pub use create::{Created, Source, create, create_file};
pub use error::BackupError;
pub use reader::verify;
pub use restore::restore;
pub(crate) use values::Value;

use crate::blob::BlobId;
use crate::store::counters;
use crate::{StorageError, Tx, journal};

/// Whether nobody has seen yet to what a restore has brought back: logins that were ended since,
/// messages that were sent since. Whoever is told so sees to it in this transaction; nobody else is.
pub fn first_look(tx: &mut Tx<'_>) -> Result<bool, StorageError> {
    counters::take_restored(tx)
}

/// How far an operation has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows so far.
    pub rows: u64,
    /// Blobs so far.
    pub blobs: u64,
    /// Bytes of rows and blobs so far, before compression.
    pub bytes: u64,
}

/// What is in a backup that was read to its end and is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The schema of its rows.
    pub schema: i64,
    /// The engine that it was made of.
    pub engine: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// The version of the program that made it.
    pub program: String,
    /// How much is in it.
    pub content: Progress,
    /// Blobs that the database knew and whose content was missing or damaged.
    pub missing: Missing,
    /// What a check of the audit chain found in its rows.
    pub journal: journal::Verified,
}

/// Blobs without content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// How many.
    pub count: u64,
    /// The first thousand of them.
    pub named: Vec<BlobId>,
}
