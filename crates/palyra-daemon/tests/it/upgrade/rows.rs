//! What is in the tables of a database, and whether migrations have kept it.

use std::collections::BTreeMap;
use std::path::Path;

use palyra_storage::{
    Column, Database, FromColumn, OpenOptions, Param, Sql, StorageError, Tx, params, sql,
};
use palyra_testkit::fs::private_tempdir;

use super::at_schema;
use super::make::copy;

/// Of a SQLite file in the order in which they were made: what others refer to comes first.
const TABLES: Sql = sql!(
    sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
        ORDER BY rowid",
    postgres: "SELECT CAST(tablename AS TEXT) FROM pg_catalog.pg_tables
        WHERE schemaname = current_schema()",
);
const COLUMNS: Sql = sql!(
    sqlite: "SELECT name FROM pragma_table_info($1)",
    postgres: "SELECT CAST(column_name AS TEXT) FROM information_schema.columns
        WHERE table_schema = current_schema() AND CAST(table_name AS TEXT) = $1",
);

/// Whose rows are about the schema itself, about a process that has ended, and about a connection.
const NOT_KEPT: [&str; 3] = ["schema_state", "leases", "commit_marks"];

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
        8 => &[
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
        // Signals and reservations are there as long as a worker has a run. The offline model follows no
        // instructions, so that no side call is made.
        11.. => &[
            "blob_trash",
            "inbound_cursors",
            "connector_resume",
            "run_signals",
            "budget_reservations",
            "auxiliary_tasks",
            "session_summaries",
        ],
        // The same before there were side calls.
        _ => &[
            "blob_trash",
            "inbound_cursors",
            "connector_resume",
            "run_signals",
            "budget_reservations",
        ],
    }
}

/// Where the rows or one column of a table are since a migration, which is to be listed here: what
/// is not is lost.
const MOVED: [(&str, &str, &str, &str); 3] = [
    ("outbox_history", "ended_at", "outbox", "changed_at"),
    ("outbox_history", "*", "outbox", "*"),
    ("outbox", "aside", "outbox", "place"),
];

/// Columns whose values a migration has replaced, and the first schema that has the new ones. Tests of
/// the storage say which.
const REPLACED: [(&str, &str, i64); 1] = [("outbox", "lane_seq", 10)];

/// What a column of a row holds, on either engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl FromColumn for Cell {
    const SHAPE: &'static str = "anything but a real";

    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Null => Some(Self::Null),
            Column::Int(value) => Some(Self::Int(value)),
            Column::Text(value) => Some(Self::Text(value.to_owned())),
            Column::Blob(value) => Some(Self::Bytes(value.to_vec())),
            Column::Real(_) => None,
        }
    }
}

impl Cell {
    pub(super) fn param(&self) -> Param<'_> {
        match self {
            Self::Null => Param::Null,
            Self::Int(value) => Param::Int(*value),
            Self::Text(value) => value.into(),
            Self::Bytes(value) => value.as_slice().into(),
        }
    }
}

pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

pub(super) async fn tables(options: OpenOptions) -> Vec<Table> {
    let db = Database::open(options).await.unwrap();
    let found = db.read(read).await.unwrap();
    db.close().await;
    found
}

fn read(tx: &mut Tx<'_>) -> Result<Vec<Table>, StorageError> {
    let mut names: Vec<String> = tx.query(&TABLES, params![], |row| row.get(0))?;
    names.retain(|name| !NOT_KEPT.contains(&name.as_str()));
    let table = |name: String| {
        let columns: Vec<String> = tx.query(&COLUMNS, params![&name], |row| row.get(0))?;
        // Statements are constants of a program; here the catalogue says what they are about.
        let text: &str = format!("SELECT {} FROM {name}", columns.join(", ")).leak();
        let all = Sql::from_parts(text, text);
        let rows =
            tx.query(&all, params![], |row| (0..columns.len()).map(|n| row.get(n)).collect())?;
        Ok(Table { name, columns, rows })
    };
    names.into_iter().map(table).collect()
}

/// The values that each column of each table has, in order; `*` for the rows.
pub(super) type Rows = BTreeMap<(String, String), Vec<Cell>>;

pub(super) fn by_column(tables: &[Table]) -> Rows {
    let mut found = Rows::new();
    for Table { name, columns, rows } in tables {
        found.insert((name.clone(), "*".to_owned()), vec![Cell::Int(1); rows.len()]);
        for (n, column) in columns.iter().enumerate() {
            let mut values: Vec<_> = rows.iter().map(|row| row[n].clone()).collect();
            values.retain(|value| *value != Cell::Null);
            values.sort();
            found.insert((name.clone(), column.clone()), values);
        }
    }
    found
}

pub(super) async fn rows(options: OpenOptions) -> Rows {
    by_column(&tables(options).await)
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
    let other = private_tempdir().unwrap();
    copy(data, other.path());
    let before = rows(at_schema(data, schema)).await;
    for ((table, column), values) in &before {
        let filled = !values.is_empty() || never_filled(schema).contains(&table.as_str());
        assert!(column != "*" || filled, "schema {schema}: nothing is in {table}");
    }
    compare(schema, before, &rows(OpenOptions::in_directory(other.path())).await);
}

/// Panics where something of `before`, which has this schema, is not in the schema of today.
pub(super) fn compare(schema: i64, before: Rows, after: &Rows) {
    let mut expected = Rows::new();
    for ((table, column), values) in before {
        expected.entry(moved(&table, &column)).or_default().extend(values);
    }
    expected.retain(|(table, column), _| {
        !REPLACED.iter().any(|(of, which, since)| table == of && column == which && schema < *since)
    });
    for ((table, column), values) in expected {
        let found = after.get(&(table.clone(), column.clone()));
        let Some(found) = found else { panic!("schema {schema}: {table}.{column} is gone") };
        let mut left = found.clone();
        for value in &values {
            let kept = left.iter().position(|other| other == value);
            let Some(kept) = kept else {
                panic!("schema {schema}: {table}.{column} has lost {value:?}: {found:?}")
            };
            left.remove(kept);
        }
        assert!(column != "*" || left.is_empty(), "schema {schema}: {table} has new rows");
    }
}
