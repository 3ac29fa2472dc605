use super::*;
use crate::{MIGRATIONS, SCHEMA_VERSION};

#[test]
fn every_table_of_the_migrations_is_named_once() {
    let mut made: Vec<_> = MIGRATIONS
        .iter()
        .flat_map(|step| step.text.lines().map(move |line| (step.version, line)))
        .filter_map(|(version, line)| {
            let name = line.strip_prefix("CREATE TABLE ")?.split([' ', '(']).next()?;
            Some((name, version))
        })
        .filter(|(name, _)| !STAYING.contains(name))
        .collect();
    let mut named: Vec<_> = TRAVELLING.iter().map(|table| (table.name, table.since)).collect();
    made.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, made, "a new table goes to TRAVELLING or STAYING");
    assert_eq!(of_schema(SCHEMA_VERSION).count(), TRAVELLING.len());
}

#[test]
fn statements_name_the_columns_that_the_database_has() {
    let table = Table { only: "n > 1", ..all("notes", "id", 1) };
    assert_eq!(table.select(), "SELECT * FROM notes WHERE n > 1 ORDER BY id");
    assert_eq!(
        table.insert(&["id".into(), "at".into()], '$'),
        "INSERT INTO notes (\"id\", \"at\") VALUES ($1, $2)"
    );
}
