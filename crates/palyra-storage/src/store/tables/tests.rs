use super::*;
use crate::{MIGRATIONS, SCHEMA_VERSION};

#[test]
fn every_table_of_the_migrations_is_named_once() {
    // A table that takes the place of another is known by the other's name.
    let renamed = |name: &str| {
        let rename = format!("ALTER TABLE {name} RENAME");
        MIGRATIONS.iter().any(|step| step.text.contains(&rename))
    };
    let mut made: Vec<_> = MIGRATIONS
        .iter()
        .flat_map(|step| step.text.lines().map(move |line| (step.version, line)))
        .filter_map(|(version, line)| {
            let name = line.strip_prefix("CREATE TABLE ")?.split([' ', '(']).next()?;
            Some((name, version))
        })
        .filter(|(name, _)| !STAYING.contains(name) && !renamed(name))
        .collect();
    let mut named: Vec<_> = TRAVELLING.iter().map(|table| (table.name, table.since)).collect();
    made.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, made, "a new table goes to TRAVELLING or STAYING");
    let has_history = |schema| of_schema(schema).any(|table| table.name == "outbox_history");
    assert!(has_history(6) && !has_history(SCHEMA_VERSION));
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
