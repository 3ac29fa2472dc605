//! What rows must say about each other.

use super::BackupError;
use super::format::BlobOrder;
use super::values::{Picked, Value, places};
use crate::blob::BlobId;
use crate::journal::{self, Segment, Walk};
use crate::store::journal_head::Head;
use crate::store::tables::Table;
use crate::store::{blobs, journal as entries, journal_head, journal_segments};

/// Follows the rows of a backup.
#[derive(Default)]
pub(super) struct Checks {
    of: Subject,
    places: Vec<usize>,
    sealed: Vec<Segment>,
    head: Option<Head>,
    walk: Option<Walk>,
    /// Blobs as rows name them, and as they follow.
    named: BlobOrder,
    seen: BlobOrder,
}

/// What the rows that come now are about.
#[derive(Clone, Copy, Default)]
enum Subject {
    #[default]
    Else,
    Segments,
    Head,
    Entries,
    Blobs,
}

impl Checks {
    /// The rows of another table begin.
    pub(super) fn table(&mut self, table: &Table, columns: &[String]) -> Result<(), BackupError> {
        let (of, wanted) = match table.name {
            journal_segments::TABLE => (Subject::Segments, journal_segments::COLUMNS),
            journal_head::TABLE => (Subject::Head, journal_head::COLUMNS),
            entries::TABLE => (Subject::Entries, entries::COLUMNS),
            blobs::TABLE => (Subject::Blobs, blobs::COLUMNS),
            _ => (Subject::Else, [].as_slice()),
        };
        let unknown = || BackupError::invalid(format!("{} has other columns", table.name));
        self.places = places(columns, wanted).ok_or_else(unknown)?;
        self.of = of;
        if let Subject::Entries = of {
            let head = self.head.take().ok_or_else(|| BackupError::invalid("it has no journal"))?;
            self.walk = Some(Walk::new(head, std::mem::take(&mut self.sealed)));
        }
        Ok(())
    }

    pub(super) fn row(&mut self, row: &[Value]) -> Result<(), BackupError> {
        let picked = Picked { row, places: &self.places };
        let unreadable = |error| BackupError::invalid(crate::error::describe(&error));
        match self.of {
            Subject::Else => {}
            Subject::Segments => {
                self.sealed.push(picked.read(journal_segments::read).map_err(unreadable)?);
            }
            Subject::Head => {
                self.head = Some(picked.read(journal_head::read_row).map_err(unreadable)?);
            }
            Subject::Entries => {
                let entry = picked.read(entries::read).map_err(unreadable)?;
                self.walk.iter_mut().for_each(|walk| walk.next(&entry));
            }
            Subject::Blobs => {
                self.named.row(&picked.read(blobs::read_stored).map_err(unreadable)?);
            }
        }
        Ok(())
    }

    pub(super) fn blob_entry(&mut self, id: &BlobId) {
        self.seen.entry(id);
    }

    /// Says what became of the audit chain.
    pub(super) fn end(self) -> Result<journal::Verified, BackupError> {
        if self.named.sum() != self.seen.sum() {
            return Err(BackupError::invalid("its blobs are not those that its rows name"));
        }
        let walk = self.walk.ok_or_else(|| BackupError::invalid("it has no journal"))?;
        Ok(walk.end())
    }
}
