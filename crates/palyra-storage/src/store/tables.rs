//! Tables as a whole: which of them a backup holds, and how they are read and written without
//! knowing what they mean.

#[cfg(test)]
mod tests;

use crate::{Sql, StorageError, Tx, params, sql};

/// A table that a backup holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The order of its rows in a backup: the primary key, the same on both engines.
    key: &'static str,
    /// The schema that brought it.
    since: i64,
    /// The last schema that had it.
    until: i64,
    /// Which of its rows travel; empty: all.
    only: &'static str,
}

/// Every table that travels, parents before those that refer to them, and what says where the
/// journal ends before the journal.
pub(crate) const TRAVELLING: &[Table] = &[
    // The counter of tokens is a row on one engine and a sequence on the other; a restore writes its
    // mark itself.
    Table { only: "name NOT IN ('fencing', 'restored')", ..all("counters", "name", 1) },
    all("events", "seq", 1),
    all("journal_segments", "segment", 1),
    all("journal_head", "id", 1),
    all("journal", "seq", 1),
    // What is being uploaded or deleted has no object that could be kept.
    Table { only: "state = 'live'", ..all("blobs", "sha256", 1) },
    Table {
        only: "sha256 IN (SELECT sha256 FROM blobs WHERE state = 'live')",
        ..all("blob_references", "sha256, holder", 1)
    },
    all("principals", "id", 2),
    all("login_codes", "digest", 2),
    all("api_tokens", "id", 2),
    all("console_logins", "id", 2),
    all("vault_keys", "id", 2),
    all("secrets", "scope, name, version", 2),
    all("connectors", "id", 4),
    all("outbox_lanes", "connector_id, conversation", 4),
    all("outbox", "connector_id, envelope_id, part", 4),
    Table { until: 6, ..all("outbox_history", "connector_id, envelope_id, part", 4) },
    all("inbound_events", "connector_id, native_message_id", 4),
    all("inbound_cursors", "connector_id, conversation", 4),
    all("idempotency_keys", "principal, operation, key", 5),
    all("router_rules", "id", 6),
    all("connector_events", "id", 6),
    all("agents", "id", 8),
    all("sessions", "id", 8),
    all("runs", "id", 8),
    all("tape", "run_id, seq", 8),
    all("run_signals", "id", 8),
    all("approvals", "id", 8),
    all("budgets", "scope", 8),
    all("budget_reservations", "run_id, turn, attempt", 8),
    all("surfaces", "session_id, surface_id", 11),
];

/// Tables that do not: the schema is made anew, nobody holds a lease on a restored database,
/// trash and marks are about objects and connections that it does not have, no node runs its
/// connectors, and what a platform would send again where a connection was lost came after the
/// backup and may have been answered.
#[cfg(test)]
pub(crate) const STAYING: &[&str] = &[
    "schema_state",
    "leases",
    "blob_trash",
    "commit_marks",
    "connector_status",
    "connector_resume",
];

const fn all(name: &'static str, key: &'static str, since: i64) -> Table {
    Table { name, key, since, until: i64::MAX, only: "" }
}

/// The tables of a database.
const CATALOG: Sql = sql!(
    sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
        ORDER BY name",
    postgres: "SELECT CAST(tablename AS TEXT) FROM pg_catalog.pg_tables
        WHERE schemaname = current_schema() ORDER BY 1",
);

/// What travels of a database with schema `version`, in the order of a backup.
pub(crate) fn of_schema(version: i64) -> impl Iterator<Item = &'static Table> {
    TRAVELLING.iter().filter(move |table| (table.since..=table.until).contains(&version))
}

/// The names of all tables that there are.
pub(crate) fn catalog(tx: &mut Tx<'_>) -> Result<Vec<String>, StorageError> {
    tx.query(&CATALOG, params![], |row| row.get(0))
}

impl Table {
    /// All rows that travel, with all columns that there are.
    pub(crate) fn select(&self) -> String {
        let Self { name, key, only, .. } = self;
        let only = if only.is_empty() { String::new() } else { format!(" WHERE {only}") };
        format!("SELECT * FROM {name}{only} ORDER BY {key}")
    }

    /// Takes away what migrations have put there.
    pub(crate) fn clear(&self) -> String {
        format!("DELETE FROM {}", self.name)
    }

    /// Adds a row. The columns are those of the database's own catalogue, never what a file says.
    pub(crate) fn insert(&self, columns: &[String], placeholder: char) -> String {
        let names: Vec<_> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let values: Vec<_> = (1..=columns.len()).map(|n| format!("{placeholder}{n}")).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        format!("INSERT INTO {} ({names}) VALUES ({values})", self.name)
    }
}
