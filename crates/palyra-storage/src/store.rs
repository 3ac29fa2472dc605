//! One file per table: its statements and what its rows mean. Nothing else spells a column.

pub(crate) mod approvals;
pub(crate) mod blob_trash;
pub(crate) mod blobs;
pub(crate) mod commit_marks;
pub(crate) mod counters;
pub(crate) mod events;
pub(crate) mod idempotency_keys;
pub(crate) mod journal;
pub(crate) mod journal_head;
pub(crate) mod journal_segments;
pub(crate) mod leases;
pub(crate) mod schema;
pub(crate) mod tables;
