use super::*;
use crate::tidy::workbench::lines;

#[test]
fn statements_are_recognised() {
    for text in [
        "SELECT id FROM outbox",
        "SELECT id,\n  due_at\nFROM outbox\nWHERE due_at <= $1",
        "SELECT count(*) FROM outbox WHERE id IN ($1, $2)",
        "  INSERT INTO outbox (id) VALUES ($1)",
        "INSERT OR IGNORE INTO outbox VALUES ($1)",
        "UPDATE outbox SET due_at = $1",
        "UPDATE outbox AS o SET due_at = $1",
        "UPDATE {table} SET due_at = $1",
        "DELETE FROM outbox WHERE id = $1",
        "WITH due AS (SELECT id FROM outbox) DELETE FROM outbox",
        "WITH RECURSIVE up(id) AS (SELECT 1)",
        "CREATE TABLE outbox (id TEXT)",
        "CREATE UNIQUE INDEX by_due ON outbox (due_at)",
        "ALTER TABLE outbox ADD COLUMN lane TEXT",
        "DROP INDEX by_due",
        "EXISTS (SELECT 1 FROM outbox)",
        "x; DELETE FROM outbox",
        "WHERE id = $1",
        "ORDER BY due_at",
        "ON CONFLICT (id) DO NOTHING",
        "FROM outbox",
        "select * from outbox",
        "select id, due_at from outbox",
        "select id from outbox where id = $1",
        "insert into outbox (id) values ($1)",
        "update outbox set due_at = $1",
        "delete from outbox where id = $1",
        "create table if not exists outbox (id text)",
        "create index by_due on outbox (due_at)",
        "drop table if exists outbox",
        "select id from outbox",
        "select id from outbox limit 1",
        "select distinct lane from outbox",
        "Select * From outbox",
        "delete from outbox",
        "drop table outbox",
        "with due as (select id from outbox) delete from outbox",
        "exists (select 1 from outbox)",
        "-- what is due\nSELECT id FROM outbox",
        "/* what is due */ SELECT id FROM outbox",
        "/* a */\n-- b\n  WHERE id = $1",
        "SELECT id, /* not lane, */ due_at FROM outbox",
        "EXPLAIN SELECT id FROM outbox",
        "EXPLAIN QUERY PLAN SELECT id FROM outbox",
        "EXPLAIN (ANALYZE, BUFFERS) DELETE FROM outbox",
        "explain analyze select id from outbox",
        "MERGE INTO outbox USING due ON outbox.id = due.id WHEN MATCHED THEN DELETE",
        "merge into outbox using due on outbox.id = due.id when matched then delete",
        "select id, count(*) from outbox",
        "select id, due_at as due from outbox",
        "select due_at as due from outbox",
        "select coalesce(due_at, $1) as due, lane from outbox",
        "select o.id from outbox o where o.id = $1",
        "select id from outbox as o join lanes as l on l.id = o.lane",
        "select \"id\" from {table}",
        "update outbox as o set due_at = $1",
        "delete from outbox as o where o.id = $1",
    ] {
        assert_eq!(recognise(text), Some(Statement::Data), "{text}");
    }
}

#[test]
fn session_statements_are_recognised_as_such() {
    for text in [
        "PRAGMA journal_mode = WAL",
        "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;",
        "pragma user_version",
        "BEGIN",
        "BEGIN IMMEDIATE",
        "begin immediate",
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "COMMIT;",
        "ROLLBACK TO unit",
        "SAVEPOINT unit",
        "RELEASE unit",
        "LISTEN palyra",
        "SET statement_timeout = 1000",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SELECT 1",
        "SELECT pg_notify($1, $2)",
        "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    ] {
        assert_eq!(recognise(text), Some(Statement::Session), "{text}");
    }
}

#[test]
fn prose_and_clauses_without_a_name_are_not_sql() {
    for text in [
        "",
        "Select a channel from the list",
        "select one from the list",
        "select the lanes, then take them from the queue",
        "Update the set of rules",
        "update your settings",
        "insert into the queue",
        "Delete from disk?",
        "delete from the disk",
        "create table of contents",
        "create index cards",
        "drop table service now",
        "with the lease, as (owner)",
        "begin",
        "commit",
        "BEGIN WITH THE BASICS",
        "COMMIT OR LOSE IT",
        "SELECT must name its columns",
        "commit was lost: COMMIT did not answer",
        "SET",
        "set lines = 3",
        "where is it?",
        "from {source}",
        "FROM the daemon",
        "-----BEGIN CERTIFICATE-----",
        "a listener for LISTEN and NOTIFY",
        "savepoint {name} is gone",
        "values (one per line)",
        "returning to the caller",
        "FOR UPDATE SKIP LOCKED",
        "explain select rows",
        "EXPLAIN what was SELECTED",
        "merge into main using a rebase",
        "MERGE conflicts",
        "-- a separator --",
        "--help",
        "accepts */* and text/*",
        "select it as the default from now on",
        "select one channel as default, then another, from the list",
    ] {
        assert_eq!(recognise(text), None, "{text}");
    }
}

const STATEMENT: &str = r#"const CLAIM: &str = "SELECT id FROM outbox";"#;

fn check_at(path: &str, text: &str, expected: &[&str]) {
    let workspace = Workspace::empty().with_source(path, text);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn sql_stands_in_store_modules_tests_benches_and_the_testkit() {
    for path in [
        "crates/palyra-storage/src/store.rs",
        "crates/palyra-storage/src/store/outbox.rs",
        "crates/palyra-storage/src/store/outbox/ended.rs",
        "crates/palyra-gateway/tests/it/router.rs",
        "crates/palyra-storage/benches/storage.rs",
        "crates/palyra-testkit/src/postgres.rs",
    ] {
        check_at(path, STATEMENT, &[]);
    }
    let tests = Workspace::empty()
        .with_source("crates/palyra-gateway/src/router.rs", "#[cfg(test)] mod tests;")
        .with_source("crates/palyra-gateway/src/router/tests.rs", STATEMENT);
    assert_eq!(lines(&check(&tests)), [""; 0]);
    for path in [
        "crates/palyra-gateway/src/router.rs",
        "crates/palyra-gateway/src/router/store.rs",
        "crates/palyra-gateway/src/router/store/rules.rs",
        "crates/palyra-gateway/src/migrations/v1.rs",
        "crates/palyra-gateway/store/rules.rs",
    ] {
        let said = "SQL outside of a store module: \"SELECT id FROM outbox\"";
        check_at(path, STATEMENT, &[&format!("{path}:1: {said}")]);
    }
}

#[test]
fn statements_are_made_in_store_modules() {
    let path = "crates/palyra-gateway/src/router.rs";
    for (text, name) in [
        ("const A: Sql = sql!(include_str!(\"a.txt\"));", "sql!"),
        (
            "const A: Sql = palyra_storage::claim_sql!(concat!(\"SEL\", \"ECT\"), \"\");",
            "claim_sql!",
        ),
        ("const A: Sql = hold_sql!(TEXT);", "hold_sql!"),
        ("const A: Sql = lock_sql![TEXT];", "lock_sql!"),
        ("use palyra_storage::{Tx, sql as statement};", "sql!"),
        ("const A: Sql = Sql::from_parts(TEXT, TEXT);", "Sql::from_parts"),
    ] {
        let said = format!("{path}:1: {name} outside of a store module");
        check_at(path, text, &[&said]);
        check_at("crates/palyra-gateway/src/store/rules.rs", text, &[]);
        check_at("crates/palyra-gateway/benches/router.rs", text, &[]);
    }
    check_at(path, "fn sql(sql: &str) { macro_rules! sql { () => {} } }", &[]);
    check_at(
        "crates/palyra-storage/src/engine/sqlite.rs",
        "const NOW: Sql = sql!(\"SELECT unixepoch()\");",
        &[],
    );
}

#[test]
fn engines_may_hold_session_statements_and_nothing_more() {
    let engine = "crates/palyra-storage/src/engine/sqlite.rs";
    check_at(engine, r#"fn begin() { run("BEGIN IMMEDIATE") }"#, &[]);
    check_at(
        engine,
        STATEMENT,
        &[
            "crates/palyra-storage/src/engine/sqlite.rs:1: SQL outside of a store module: \"SELECT id \
           FROM outbox\"",
        ],
    );
    check_at(
        "crates/palyra-storage/src/lease.rs",
        r#"fn begin() { run("BEGIN IMMEDIATE") }"#,
        &["crates/palyra-storage/src/lease.rs:1: SQL outside of a store module: \"BEGIN \
           IMMEDIATE\""],
    );
}

#[test]
fn macros_and_raw_strings_are_looked_into_and_comments_are_not() {
    let text = r##"
//! SELECT id FROM outbox
/// DELETE FROM outbox
fn claim() {
    // DELETE FROM outbox
    run!(format!(r#"DELETE FROM {outbox} WHERE a_very_long_column_name = $1"#));
}

#[cfg(test)]
mod inline {
    const CLAIM: &str = "SELECT id FROM outbox";
}
"##;
    check_at(
        "crates/palyra-gateway/src/router.rs",
        text,
        &["crates/palyra-gateway/src/router.rs:6: SQL outside of a store module: \"DELETE FROM \
           {outbox} WHERE a_very_long_column_name…\""],
    );
}
