//! What the data directories of earlier schemas hold, in Postgres databases of these schemas.

use std::path::Path;

use palyra_storage::{Database, OpenOptions, Sql, StorageError, Tx, params, sql};
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};

use super::rows::{Cell, Rows, Table, by_column, compare, rows, tables};
use super::{at_schema, copy, on};

const SET_TOKEN: Sql = sql!("SELECT setval('fencing_tokens', $1)");

/// A database, and what was put into it.
pub(super) struct Filled {
    pub(super) database: TestDatabase,
    before: Rows,
}

/// A new Postgres database of this schema, with the rows of the SQLite file in `data`.
pub(super) async fn filled(data: &Path, schema: i64) -> Filled {
    let mut tables = tables(at_schema(data, schema)).await;
    let token = take_token(&mut tables);
    let before = by_column(&tables);
    let database = PostgresServer::shared().unwrap().create_database(DatabaseLocale::C).unwrap();
    let folder = private_tempdir().unwrap();
    let options = on(at_schema(folder.path(), schema), &database.url());
    let db = Database::open(options).await.unwrap();
    db.write(move |tx| fill(tx, &tables, token)).await.unwrap();
    db.close().await;
    Filled { database, before }
}

/// Of all counters this one is a sequence on Postgres.
fn take_token(tables: &mut [Table]) -> i64 {
    let counters = tables.iter_mut().find(|table| table.name == "counters").unwrap();
    assert_eq!(counters.columns, ["name", "value"]);
    let named = |row: &Vec<Cell>| row[0] == Cell::Text("fencing".to_owned());
    let place = counters.rows.iter().position(named).unwrap();
    match counters.rows.remove(place)[1] {
        Cell::Int(token) => token.max(1),
        ref other => panic!("{other:?} is no token"),
    }
}

fn fill(tx: &mut Tx<'_>, tables: &[Table], token: i64) -> Result<(), StorageError> {
    // Migrations have put rows of their own there.
    for Table { name, .. } in tables.iter().rev() {
        tx.execute(&statement(format!("DELETE FROM {name}")), params![])?;
    }
    for Table { name, columns, rows } in tables {
        let places: Vec<_> = (1..=columns.len()).map(|n| format!("${n}")).collect();
        let (columns, places) = (columns.join(", "), places.join(", "));
        let insert = statement(format!("INSERT INTO {name} ({columns}) VALUES ({places})"));
        let rows = rows.iter().map(|row| row.iter().map(Cell::param).collect::<Vec<_>>());
        tx.execute_many(&insert, rows)?;
    }
    tx.query(&SET_TOKEN, params![token], |_| Ok(())).map(drop)
}

/// Statements are constants of a program; here another database says what they are about.
fn statement(text: String) -> Sql {
    Sql::from_parts("", text.leak())
}

/// Nothing is lost, and what comes out is what comes out of the same rows on SQLite.
pub(super) async fn check_that_nothing_is_lost(data: &Path, schema: i64) {
    let other = private_tempdir().unwrap();
    copy(data, other.path());
    let Filled { database, before } = filled(data, schema).await;
    let folder = private_tempdir().unwrap();
    let after = rows(on(OpenOptions::in_directory(folder.path()), &database.url())).await;
    compare(schema, before, &after);

    let mut on_sqlite = tables(OpenOptions::in_directory(other.path())).await;
    take_token(&mut on_sqlite);
    for (place, values) in by_column(&on_sqlite) {
        assert_eq!(after.get(&place), Some(&values), "schema {schema}: {place:?}");
    }
}
