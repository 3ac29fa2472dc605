//! The chain: what is hashed, and how entries are appended.

use palyra_common::time::Timestamp;
use sha2::{Digest, Sha256};

use super::{JournalEvent, Recorded, SEGMENT_ENTRIES};
use crate::store::journal as rows;
use crate::store::journal_head::{self as head_row, Head};
use crate::store::journal_segments::{self as segments, Segment};
use crate::value::{Column, FromColumn};
use crate::{StorageError, Tx};

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromColumn for Hash {
    const SHAPE: &'static str = "32 bytes";
    fn from_column(column: Column<'_>) -> Option<Self> {
        Vec::<u8>::from_column(column)?.try_into().ok().map(Hash)
    }
}

/// What the first entry of all builds on.
pub(super) const fn genesis() -> Hash {
    Hash([0; 32])
}

/// A digest of content that is kept elsewhere, or no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentDigest {
    /// The digest of salt and content.
    pub digest: Hash,
    /// The salt, until it is forgotten.
    pub salt: Option<Vec<u8>>,
}

impl ContentDigest {
    /// Digests `content` under a fresh salt.
    pub fn of(content: &[u8]) -> Self {
        let salt = crate::clock::random::<16>();
        Self { digest: salted(&salt, content), salt: Some(salt.to_vec()) }
    }

    /// Whether this is the digest of `content`. `None` once the salt is forgotten.
    pub fn is_of(&self, content: &[u8]) -> Option<bool> {
        self.salt.as_ref().map(|salt| salted(salt, content) == self.digest)
    }
}

fn salted(salt: &[u8], content: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(b"palyra.content.v1\0");
    field(&mut hasher, salt);
    field(&mut hasher, content);
    Hash(hasher.finalize().into())
}

/// The hash of an entry. Fields are prefixed with their length, so that no two entries share
/// their bytes.
pub(super) fn link(before: &Hash, seq: i64, segment: i64, event: &JournalEvent) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(b"palyra.journal.v1\0");
    hasher.update(before.0);
    hasher.update(seq.to_be_bytes());
    hasher.update(segment.to_be_bytes());
    hasher.update(event.at.as_unix_millis().to_be_bytes());
    let id = event.id.to_string();
    let JournalEvent { actor, action, subject, origin, outcome, detail, .. } = event;
    for text in [&id, actor, action, subject, origin, outcome, detail] {
        field(&mut hasher, text.as_bytes());
    }
    field(&mut hasher, event.content.as_ref().map_or(&[], |content| content.digest.as_slice()));
    Hash(hasher.finalize().into())
}

fn field(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}

/// Appends to the chain. The head is locked from the first statement on, so this is the last
/// thing that a transaction does.
pub(crate) fn append(tx: &mut Tx<'_>, events: &[JournalEvent]) -> Result<(), StorageError> {
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let mut head = head_row::advance(tx, count)?;
    let first = head.seq - count + 1;
    for (seq, event) in (first..).zip(events) {
        if seq - head.segment_first_seq >= SEGMENT_ENTRIES {
            head = seal(tx, &head, seq - 1, event.at)?;
        }
        if seq == head.segment_first_seq {
            head.segment_opened_at = event.at;
        }
        let hash = link(&head.hash, seq, head.segment, event);
        let recorded = Recorded { seq, segment: head.segment, event: event.clone(), hash };
        rows::insert(tx, &recorded)?;
        head.hash = hash;
    }
    head_row::set(tx, &head)
}

/// Closes the open segment behind entry `last_seq` and opens the next.
pub(super) fn seal(
    tx: &mut Tx<'_>,
    head: &Head,
    last_seq: i64,
    now: Timestamp,
) -> Result<Head, StorageError> {
    let sealed = Segment {
        segment: head.segment,
        first_seq: head.segment_first_seq,
        last_seq,
        final_hash: head.hash,
        sealed_at: now,
        pruned_at: None,
    };
    segments::seal(tx, &sealed)?;
    Ok(Head {
        segment: head.segment + 1,
        segment_first_seq: last_seq + 1,
        segment_opened_at: now,
        ..head.clone()
    })
}
