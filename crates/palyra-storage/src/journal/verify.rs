//! Checking the chain.

use palyra_common::error::{ErrorCode, StableErrorEnvelope};

use super::chain::{genesis, link};
use super::{Hash, PAGE_LIMIT, Recorded, Segment};
use crate::store::journal as rows;
use crate::store::journal_head::{self as head_row, Head};
use crate::store::journal_segments as segments;
use crate::{Database, StorageError};

/// What a check of the chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Entries that were checked.
    pub entries: u64,
    /// Segments whose entries are gone and whose tombstone was checked.
    pub pruned_segments: u64,
    /// The first fault, if there is any. What follows a fault proves nothing.
    pub fault: Option<ChainFault>,
}

/// Where the chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal is broken at entry {seq}: {kind}")]
pub struct ChainFault {
    /// The number of the entry.
    pub seq: i64,
    /// In which way.
    pub kind: FaultKind,
}

impl ChainFault {
    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::JournalBrokenChain
    }

    /// The fault as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), crate::error::describe(self))
    }
}

/// How a chain can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The entry, or one before it, was changed.
    #[error("its hash does not fit its content and the entry before")]
    WrongHash,
    /// Entries are missing.
    #[error("entries before it are missing")]
    Missing,
    /// The entry stands in another segment than it was recorded in, or a sealed segment does
    /// not end as it was sealed.
    #[error("it does not fit the segments as they were sealed")]
    WrongSegment,
    /// The head of the chain is not where the entries end.
    #[error("the chain does not end where its head says")]
    WrongHead,
}

/// A check of the chain, entry by entry.
pub(crate) struct Walk {
    head: Head,
    segments: std::iter::Peekable<std::vec::IntoIter<Segment>>,
    seq: i64,
    hash: Hash,
    segment: i64,
    done: Verified,
}

/// A check that meets a segment being pruned starts again, this often.
const RESTARTS: usize = 8;

pub(super) async fn verify(db: &Database) -> Result<Verified, StorageError> {
    let mut verified = Walk::over(db).await?;
    for _ in 0..RESTARTS {
        if verified.fault.is_none() || !pruned_since(db, &verified).await? {
            break;
        }
        verified = Walk::over(db).await?;
    }
    Ok(verified)
}

/// Whether segments were pruned while the check was under way: their entries are not missing.
async fn pruned_since(db: &Database, verified: &Verified) -> Result<bool, StorageError> {
    let sealed = db.read(segments::all).await?;
    let pruned = sealed.iter().filter(|segment| segment.pruned_at.is_some()).count() as u64;
    Ok(pruned != verified.pruned_segments)
}

impl Walk {
    /// A check of the chain that ends at `head` and has these sealed segments, oldest first.
    pub(crate) fn new(head: Head, sealed: Vec<Segment>) -> Self {
        let done = Verified { entries: 0, pruned_segments: 0, fault: None };
        let segments = sealed.into_iter().peekable();
        Self { head, segments, seq: 0, hash: genesis(), segment: 1, done }
    }

    async fn over(db: &Database) -> Result<Verified, StorageError> {
        // What is sealed or recorded after this moment is left to the next check.
        let (head, sealed) = db.read(|tx| Ok((head_row::read(tx)?, segments::all(tx)?))).await?;
        let last = head.seq;
        let mut walk = Self::new(head, sealed);
        while !walk.is_over() {
            let cursor = walk.seq;
            let page = db.read(move |tx| rows::after(tx, cursor, PAGE_LIMIT)).await?;
            let page: Vec<_> = page.into_iter().take_while(|entry| entry.seq <= last).collect();
            page.iter().for_each(|entry| walk.next(entry));
            if page.is_empty() {
                break;
            }
        }
        Ok(walk.end())
    }

    fn is_over(&self) -> bool {
        self.done.fault.is_some() || self.seq >= self.head.seq
    }

    /// Checks the next entry. What follows a fault is passed over.
    pub(crate) fn next(&mut self, entry: &Recorded) {
        if self.done.fault.is_none() {
            let checked = self.pass_pruned().and_then(|()| self.entry(entry));
            self.done.fault = checked.err();
        }
    }

    /// Checks that the entries end where the head says.
    pub(crate) fn end(mut self) -> Verified {
        if self.done.fault.is_none() {
            self.done.fault = self.pass_pruned().and_then(|()| self.ends_well()).err();
        }
        self.done
    }

    fn ends_well(&self) -> Result<(), ChainFault> {
        if self.seq < self.head.seq {
            Err(self.fault(FaultKind::Missing))
        } else if self.seq == self.head.seq && self.hash == self.head.hash {
            Ok(())
        } else {
            Err(self.fault(FaultKind::WrongHead))
        }
    }

    /// Steps over segments whose entries were removed, trusting their tombstones.
    fn pass_pruned(&mut self) -> Result<(), ChainFault> {
        while let Some(pruned) = self.segments.next_if(|next| next.pruned_at.is_some()) {
            if pruned.first_seq != self.seq + 1 || pruned.segment != self.segment {
                return Err(self.fault(FaultKind::WrongSegment));
            }
            self.done.pruned_segments += 1;
            (self.seq, self.hash) = (pruned.last_seq, pruned.final_hash);
            self.segment += 1;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Recorded) -> Result<(), ChainFault> {
        if entry.seq <= self.seq && self.done.entries == 0 {
            // Of a segment that has its tombstone, and not removed yet.
            return Ok(());
        }
        if entry.seq != self.seq + 1 {
            return Err(self.fault(FaultKind::Missing));
        }
        if entry.segment != self.segment {
            return Err(self.fault(FaultKind::WrongSegment));
        }
        if link(&self.hash, entry.seq, entry.segment, &entry.event) != entry.hash {
            return Err(self.fault(FaultKind::WrongHash));
        }
        (self.seq, self.hash) = (entry.seq, entry.hash);
        self.done.entries += 1;
        if let Some(sealed) = self.segments.next_if(|next| next.last_seq == entry.seq) {
            if sealed.final_hash != entry.hash || sealed.segment != entry.segment {
                self.seq -= 1;
                return Err(self.fault(FaultKind::WrongSegment));
            }
            self.segment += 1;
        }
        Ok(())
    }

    fn fault(&self, kind: FaultKind) -> ChainFault {
        ChainFault { seq: self.seq + 1, kind }
    }
}
