//! Watching the size of the write-ahead log.
//!
//! SQLite starts the log over when no reader needs it any more. Readers that always overlap never
//! let it, and the log grows without bound. When it has grown large the writer waits for the
//! readers that are there, for a moment, and starts the log over. A backup reads for longer, and
//! delays it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::connection::BUSY;
use super::files::with_ending;

/// The log is looked at every so many commits.
const COMMITS_BETWEEN_LOOKS: u32 = 256;
/// Larger than what ordinary checkpoints leave behind.
const LARGE: u64 = 64 << 20;
/// How long everybody who writes waits for readers, most of which are done sooner.
const WAIT_FOR_READERS: Duration = Duration::from_millis(50);

pub(super) struct LogSize {
    path: PathBuf,
    limit: u64,
    commits: u32,
}

impl LogSize {
    pub(super) fn of(database: &Path) -> Self {
        Self::with_limit(database, LARGE)
    }

    fn with_limit(database: &Path, limit: u64) -> Self {
        Self { path: with_ending(database, "-wal"), limit, commits: 0 }
    }

    /// How large the log is now.
    pub(super) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |log| log.len())
    }

    /// To be called after each commit.
    pub(super) fn committed(&mut self, connection: &Connection) {
        self.commits += 1;
        if self.commits >= COMMITS_BETWEEN_LOOKS {
            self.commits = 0;
            self.look(connection);
        }
    }

    fn look(&self, connection: &Connection) {
        let bytes = self.bytes();
        if bytes <= self.limit {
            return;
        }
        match truncate_soon(connection) {
            Ok(Log::Emptied) => tracing::info!(bytes, "started the write-ahead log over"),
            Ok(Log::Read) => {
                tracing::warn!(bytes, "a long read keeps the write-ahead log from shrinking");
            }
            Err(error) => tracing::warn!(%error, bytes, "could not shrink the write-ahead log"),
        }
    }

    /// Moves all of the log into the database, at the end. What cannot be moved stays in the log,
    /// which the next start reads.
    pub(super) fn empty(&self, connection: &Connection) {
        let log = self.path.display();
        match truncate(connection) {
            Ok(Log::Emptied) => {}
            Ok(Log::Read) => tracing::warn!(%log, "another program reads the database: its \
                write-ahead log stays and belongs to it"),
            Err(error) => tracing::warn!(%error, %log, "could not empty the write-ahead log; the \
                next start reads it"),
        }
    }
}

enum Log {
    Emptied,
    /// Somebody still needs what it holds.
    Read,
}

/// While commits wait.
fn truncate_soon(connection: &Connection) -> rusqlite::Result<Log> {
    connection.busy_timeout(WAIT_FOR_READERS)?;
    let log = truncate(connection);
    connection.busy_timeout(BUSY)?;
    log
}

fn truncate(connection: &Connection) -> rusqlite::Result<Log> {
    let busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(if busy == 0 { Log::Emptied } else { Log::Read })
}

#[cfg(test)]
mod tests;
