//! Migrations: forward only, embedded, run at start by whoever has the lock.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::StorageError;
use crate::engine::EngineKind;
use crate::error::Cause;
pub use crate::store::schema::SchemaState;

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its number, from 1 without gaps.
    pub version: i64,
    /// What it is about.
    pub name: &'static str,
    /// The oldest program, by the newest schema it knows, that can still work with the database
    /// afterwards: its nodes run on while a new one migrates. Nodes of an older one are told the next
    /// time they look, and must be stopped before.
    pub oldest_binary: i64,
    /// The statements; see the first file for the few words that stand for others.
    pub text: &'static str,
}

/// Every step so far. What was released is never changed, only followed.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "ground",
        oldest_binary: 1,
        text: include_str!("../migrations/0001_ground.sql"),
    },
    Migration {
        version: 2,
        name: "access and secrets",
        oldest_binary: 1,
        text: include_str!("../migrations/0002_access_and_secrets.sql"),
    },
    Migration {
        version: 3,
        name: "lineage",
        oldest_binary: 2,
        text: include_str!("../migrations/0003_lineage.sql"),
    },
    Migration {
        version: 4,
        name: "channels",
        oldest_binary: 2,
        text: include_str!("../migrations/0004_channels.sql"),
    },
    Migration {
        version: 5,
        name: "idempotency keys",
        oldest_binary: 2,
        text: include_str!("../migrations/0005_idempotency_keys.sql"),
    },
    Migration {
        version: 6,
        name: "router",
        oldest_binary: 2,
        text: include_str!("../migrations/0006_router.sql"),
    },
    Migration {
        version: 7,
        name: "outbox in place",
        oldest_binary: 7,
        text: include_str!("../migrations/0007_outbox_in_place.sql"),
    },
    Migration {
        version: 8,
        name: "runs",
        oldest_binary: 7,
        text: include_str!("../migrations/0008_runs.sql"),
    },
    Migration {
        version: 9,
        name: "names and places",
        oldest_binary: 9,
        text: include_str!("../migrations/0009_names_and_places.sql"),
    },
    Migration {
        version: 10,
        name: "lanes as history",
        oldest_binary: 10,
        text: include_str!("../migrations/0010_lanes_as_history.sql"),
    },
    Migration {
        version: 11,
        name: "surfaces",
        oldest_binary: 11,
        text: include_str!("../migrations/0011_surfaces.sql"),
    },
];

/// The newest schema that this program knows.
pub const SCHEMA_VERSION: i64 = newest(MIGRATIONS);

pub(crate) const fn newest(migrations: &[Migration]) -> i64 {
    match migrations.last() {
        Some(last) => last.version,
        None => 0,
    }
}

/// What is to be done to a database in this state, or why this program must leave it alone.
///
/// A SQLite file has one user, so any newer schema is refused. On Postgres a node of the previous
/// release may come back during an upgrade, as far as the schema says that it can.
pub(crate) fn plan(
    engine: EngineKind,
    state: SchemaState,
    migrations: &'static [Migration],
) -> Result<&'static [Migration], StorageError> {
    let known = newest(migrations);
    let too_new = match engine {
        EngineKind::Sqlite => state.version > known,
        EngineKind::Postgres => state.oldest_binary > known,
    };
    if too_new {
        return Err(StorageError::NewerSchema { found: state.version, known });
    }
    let done = migrations.iter().take_while(|step| step.version <= state.version).count();
    Ok(&migrations[done..])
}

/// The statements of a migration in an engine's own words.
pub(crate) fn render(migration: &Migration, engine: EngineKind) -> String {
    let words: [(&str, &str); 4] = match engine {
        EngineKind::Sqlite => {
            [("{text}", "TEXT"), ("{int}", "INTEGER"), ("{bytes}", "BLOB"), ("{strict}", "STRICT")]
        }
        EngineKind::Postgres => [
            // Keys are compared bytewise, whatever the database's own collation is.
            ("{text}", "TEXT COLLATE \"C\""),
            ("{int}", "BIGINT"),
            ("{bytes}", "BYTEA"),
            ("{strict}", ""),
        ],
    };
    let mut meant = true;
    let mut script = String::new();
    for line in migration.text.lines() {
        if let Some(only) = line.strip_prefix("--! ") {
            meant = only.trim() == engine.as_str();
        } else if meant {
            script.push_str(line);
            script.push('\n');
        }
    }
    words.iter().fold(script, |script, (word, own)| script.replace(word, own))
}

/// A failed step, with its number.
pub(crate) fn failed(migration: &Migration, error: StorageError) -> StorageError {
    // What concerns the machine and not the migration keeps its own code.
    let refused = matches!(error, StorageError::Foreign { .. } | StorageError::Forbidden { .. });
    if refused || crate::tx::fails_everything(&error) {
        return error;
    }
    let cause: Cause = match error {
        // What a statement of the migration met is no defect of the storage layer.
        StorageError::Internal { what } => Arc::new(std::io::Error::other(what)),
        error => Arc::new(error),
    };
    StorageError::Migration { version: migration.version, cause }
}
