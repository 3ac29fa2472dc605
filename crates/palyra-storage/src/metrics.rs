//! The names of this crate's figures, and where they are counted.
//!
//! They are looked up with every commit and not kept: beside a commit that costs nothing, and it
//! does not matter whether figures are collected from before the database was opened.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use crate::Database;

/// How long commits took, in seconds: on SQLite of a whole group, on Postgres of one unit.
pub const COMMIT_SECONDS: &str = "palyra_storage_commit_seconds";
/// Units of work that were committed.
pub const WRITES: &str = "palyra_storage_writes_total";
/// Units of work that wait to be written.
pub const WAITING_WRITES: &str = "palyra_storage_waiting_writes";

/// Tells whoever collects figures what these mean.
pub fn describe() {
    describe_histogram!(COMMIT_SECONDS, "How long commits took");
    describe_counter!(WRITES, "Units of work that were committed");
    describe_gauge!(WAITING_WRITES, "Units of work that wait to be written");
}

/// Reads off what is not counted while it happens.
pub fn observe(db: &Database) {
    gauge!(WAITING_WRITES).set(db.waiting_writes() as f64);
}

/// A commit with `writes` units in it is on the disk.
pub(crate) fn committed(took: Duration, writes: u64) {
    histogram!(COMMIT_SECONDS).record(took.as_secs_f64());
    counter!(WRITES).increment(writes);
}
