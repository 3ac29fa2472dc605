//! What is in the tables of a database, and whether migrations have kept it.

use std::collections::BTreeMap;
use std::path::Path;

use palyra_storage::{Database, OpenOptions, Sql, StorageError, Tx, params, sql};

use super::at_schema;
use super::make::copy;

const TABLES: Sql =
    sql!("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
const COLUMNS: Sql = sql!("SELECT name FROM pragma_table_info($1)");

/// Whose rows are about the schema itself, and about a process that has ended.
const NOT_KEPT: [&str; 2] = ["schema_state", "leases"];

/// Tables that no daemon with this schema fills: the first one is for content that is put again
/// while it is being deleted, and nothing reads channels by a cursor yet.
fn never_filled(schema: i64) -> &'static [&'static str] {
    match schema {
        // There was no way to reach a connector.
        4 | 5 => &[
            "blob_trash",
            "connectors",
            "outbox",
            "outbox_lanes",
            "outbox_history",
            "inbound_events",
            "inbound_cursors",
        ],
        // Nothing ran the engine, and echo has no connection to take up again.
        8 | 9 => &[
            "blob_trash",
            "inbound_cursors",
            "connector_resume",
            "agents",
            "sessions",
            "runs",
            "tape",
            "run_signals",
            "approvals",
            "budgets",
            "budget_reservations",
        ],
        _ => &["blob_trash", "inbound_cursors", "connector_resume"],
    }
}

/// Where the rows or one column of a table are since a migration, which is to be listed here: what
/// is not is lost.
const MOVED: [(&str, &str, &str, &str); 3] = [
    ("outbox_history", "ended_at", "outbox", "changed_at"),
    ("outbox_history", "*", "outbox", "*"),
    ("outbox", "aside", "outbox", "place"),
];

/// The values that each column of each table has, as SQL spells them; `*` for the rows.
pub(super) type Rows = BTreeMap<(String, String), Vec<String>>;

pub(super) async fn rows(options: OpenOptions) -> Rows {
    let db = Database::open(options).await.unwrap();
    let found = db.read(read).await.unwrap();
    db.close().await;
    found
}

fn read(tx: &mut Tx<'_>) -> Result<Rows, StorageError> {
    let mut found = Rows::new();
    let tables: Vec<String> = tx.query(&TABLES, params![], |row| row.get(0))?;
    for table in tables.iter().filter(|table| !NOT_KEPT.contains(&table.as_str())) {
        let columns: Vec<String> = tx.query(&COLUMNS, params![table], |row| row.get(0))?;
        for column in columns.iter().map(String::as_str).chain(["*"]) {
            let value = if column == "*" { "1" } else { column };
            let text = format!(
                "SELECT quote({value}) AS v FROM {table} WHERE {value} IS NOT NULL ORDER BY v"
            );
            // Statements are constants of a program; here the catalogue says what they are about.
            let values = Sql::from_parts(text.leak(), "");
            let values = tx.query(&values, params![], |row| row.get(0))?;
            found.insert((table.clone(), column.to_owned()), values);
        }
    }
    Ok(found)
}

fn moved(table: &str, column: &str) -> (String, String) {
    let goes = |(from, what, _, _): &&(&str, &str, &str, &str)| {
        *from == table && (*what == column || *what == "*")
    };
    match MOVED.iter().find(goes) {
        Some((_, "*", to, _)) => ((*to).to_owned(), column.to_owned()),
        Some((_, _, to, into)) => ((*to).to_owned(), (*into).to_owned()),
        None => (table.to_owned(), column.to_owned()),
    }
}

/// Opens one copy with the schema it has and another with that of today, and compares. Two, for a
/// process that is being started elsewhere in this one may hold a lock for a moment longer.
pub(super) async fn check_that_nothing_is_lost(data: &Path, schema: i64) {
    let other = tempfile::tempdir().unwrap();
    copy(data, other.path());
    let before = rows(at_schema(data, schema)).await;
    for ((table, column), values) in &before {
        let filled = !values.is_empty() || never_filled(schema).contains(&table.as_str());
        assert!(column != "*" || filled, "schema {schema}: nothing is in {table}");
    }
    let after = rows(OpenOptions::in_directory(other.path())).await;
    let mut expected = Rows::new();
    for ((table, column), values) in before {
        expected.entry(moved(&table, &column)).or_default().extend(values);
    }
    for ((table, column), values) in expected {
        let found = after.get(&(table.clone(), column.clone()));
        let Some(found) = found else { panic!("schema {schema}: {table}.{column} is gone") };
        let mut left = found.clone();
        for value in &values {
            let kept = left.iter().position(|other| other == value);
            let Some(kept) = kept else {
                panic!("schema {schema}: {table}.{column} has lost {value}: {found:?}")
            };
            left.remove(kept);
        }
        assert!(column != "*" || left.is_empty(), "schema {schema}: {table} has new rows");
    }
}
