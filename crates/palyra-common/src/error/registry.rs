//! The table of all codes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::code::{Retry, UnknownErrorCode, error_codes};
use crate::serde_text;

error_codes! {
    CommonInvalidInput = "common/invalid_input", Final,
        means: "the request has a value that cannot be accepted",
        hint: "Correct the value that the message names and send the request again.";
    CommonNotFound = "common/not_found", Final,
        means: "what the request names does not exist",
        hint: "Check the id or name; list what exists to see whether it was removed.";
    CommonConflict = "common/conflict", Final,
        means: "the request contradicts what is already there",
        hint: "Read the current state, decide again on what it says, and send a new request.";

    StorageUnavailable = "storage/unavailable", Retryable,
        means: "the database cannot be reached",
        hint: "With Postgres, check that the server runs and that `storage.url` points to it. With SQLite, check the disk and that the data directory is a folder that can be made and opened. Work goes on by itself once the cause is gone.";
    StorageBusy = "storage/busy", Retryable,
        means: "others were using the database for longer than the request was tried",
        hint: "Try again in a moment. If it lasts, look for another program that holds the database or its rows, such as a backup, and for a slow disk.";
    StorageDiskFull = "storage/disk_full", Retryable,
        means: "the disk that holds the data directory is full",
        hint: "Free space on that disk or move the data directory to a larger one. Work goes on by itself once there is space.";
    StorageReadOnly = "storage/read_only", Final,
        means: "the data directory or database does not allow writing",
        hint: "Give the user that runs the daemon write permission on the data directory, or remount its file system writable; on Postgres, point `storage.url` to the primary.";
    StorageCorrupt = "storage/corrupt", Final,
        means: "the database file is damaged or is not a database",
        hint: "Stop the daemon, keep a copy of the damaged file, and put the newest good backup in its place.";
    StorageNewerSchema = "storage/newer_schema", Final,
        means: "the database was written by a newer version of Palyra",
        hint: "Start the newer version, or restore the copy that was kept beside the database before it was migrated.";
    StorageMigrationFailed = "storage/migration_failed", Final,
        means: "bringing the database up to this version failed",
        hint: "The database is as it was before the step that failed. Fix the cause that the message names and start again, or go on with the previous version.";
    StorageLocked = "storage/locked", Final,
        means: "another process holds the data directory",
        hint: "Stop the other daemon, or give this one its own directory with `--data-dir`. To run several daemons on one state, use Postgres.";
    StorageCommitUnknown = "storage/commit_unknown", Final,
        means: "the connection was lost while committing, and whether the commit happened could not be learnt",
        hint: "Look whether the change is there before you make it again.";
    StorageConstraint = "storage/constraint", Final,
        means: "a row that must be unique is already there, or a row that must exist is missing",
        hint: "Read the current state; what the request wants to create may exist already, or what it refers to may be gone.";
    StorageStaleLease = "storage/stale_lease", Final,
        means: "the work was taken over by another owner, so this one's write was refused",
        hint: "Nothing to do: the new owner goes on with the work. If it repeats, check that the node is not starved of CPU and that its connection to the database is steady.";
    StorageInvalidValue = "storage/invalid_value", Final,
        means: "a stored or given value has the wrong shape",
        hint: "If the value was given, correct it. If it was stored, the data was changed from outside or by a faulty version: restore a backup, or report it.";
    StorageShuttingDown = "storage/shutting_down", Retryable,
        means: "the daemon is stopping and takes no more work",
        hint: "Try again when the daemon is back, or on another node.";
    StorageInternal = "storage/internal", Final,
        means: "the storage layer met a case that it does not expect",
        hint: "This is a defect in Palyra. Report it with the message and the log around it.";

    JournalBrokenChain = "journal/broken_chain", Final,
        means: "the audit journal does not match its own hash chain",
        hint: "Keep a copy of the database as evidence, and compare the entries around the one that the message names with a backup.";

    BlobNotFound = "blob/not_found", Final,
        means: "the content that a row refers to is not in the blob store",
        hint: "Check that the blob store is the one that this database was used with; restore the missing content from a backup.";
    BlobCorrupt = "blob/corrupt", Final,
        means: "stored content does not match its SHA-256",
        hint: "Check the disk or bucket for damage and restore the content from a backup.";
    BlobUnavailable = "blob/unavailable", Retryable,
        means: "the blob store cannot be reached",
        hint: "Check the folder or the S3 endpoint, its credentials and the network. Work goes on by itself once it answers.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Exact: codes are written by programs, not by people.
impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|code| code.as_str() == text);
        known.copied().ok_or_else(|| UnknownErrorCode(text.to_owned()))
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_text::deserialize(deserializer, "a stable error code")
    }
}
