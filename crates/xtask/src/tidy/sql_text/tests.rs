use super::*;
use crate::tidy::workbench::lines;

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
    let path = "crates/palyra-storage/src/router.rs";
    for (text, name) in [
        ("const A: Sql = sql!(include_str!(\"a.txt\"));", "sql!"),
        (
            "const A: Sql = palyra_storage::claim_sql!(concat!(\"SEL\", \"ECT\"), \"\");",
            "claim_sql!",
        ),
        ("const A: Sql = hold_sql!(TEXT);", "hold_sql!"),
        ("const A: Sql = lock_sql![TEXT];", "lock_sql!"),
        ("use palyra_storage::{Tx, sql as statement};", "sql! under another name"),
        ("use crate::sql as statement;", "sql! under another name"),
        ("use super::{hold_sql as statement, Tx};", "hold_sql! under another name"),
        ("const A: Sql = Sql::from_parts(TEXT, TEXT);", "Sql::from_parts"),
        (
            "use palyra_storage::Sql as S; const A: S = S::from_parts(TEXT, TEXT);",
            "Sql under another name",
        ),
    ] {
        let said = format!("{path}:1: {name} outside of a store module");
        check_at(path, text, &[&said]);
        check_at("crates/palyra-gateway/src/store/rules.rs", text, &[]);
        check_at("crates/palyra-gateway/benches/router.rs", text, &[]);
    }
    check_at(path, "fn sql(sql: &str) { macro_rules! sql { () => {} } }", &[]);
    check_at(path, "use crate::{Sql, sql}; fn a(sql: u8) -> u16 { sql as u16 }", &[]);
}

#[test]
fn what_a_store_module_makes_statements_with_stays_there() {
    let path = "crates/palyra-gateway/src/router.rs";
    for (store, text, name) in [
        ("macro_rules! made { ($t:expr) => { sql!($t) }; }", "made!(TEXT)", "made!"),
        (
            "macro_rules! outer { () => { inner!() } }
             macro_rules! inner { () => { Sql::from_parts(\"\", \"\") } }",
            "crate::store::outer!()",
            "outer!",
        ),
        ("pub(crate) use palyra_storage::sql as made;", "made!(TEXT)", "made!"),
        ("pub(crate) use palyra_storage::Sql as S;", "S::from_parts(TEXT, TEXT)", "S::from_parts"),
    ] {
        let workspace = Workspace::empty()
            .with_source("crates/palyra-gateway/src/store/rules.rs", store)
            .with_source(path, &format!("const A: Sql = {text};"));
        let said = format!("{path}:1: {name} outside of a store module");
        assert_eq!(lines(&check(&workspace)), [said]);
    }
    let harmless = Workspace::empty()
        .with_source(
            "crates/palyra-gateway/src/store/rules.rs",
            "macro_rules! columns { () => { \"id\" } } const A: Sql = sql!(columns!());",
        )
        .with_source(path, "const A: &[&str] = columns!();");
    assert_eq!(lines(&check(&harmless)), [""; 0]);
}

#[test]
fn engines_make_session_statements_and_nothing_more() {
    let engine = "crates/palyra-storage/src/engine/sqlite.rs";
    for text in [
        "use crate::{Sql, sql}; const NOW: Sql = sql!(\"SELECT unixepoch()\");",
        "const NOW: Sql = crate::sql!(sqlite: \"SELECT unixepoch()\", postgres: \"SELECT now()\",);",
    ] {
        check_at(engine, text, &[]);
    }
    for (text, name) in [
        ("const A: Sql = sql!(TEXT);", "sql!"),
        ("const A: Sql = sql!(concat!(\"SELECT now()\", REST));", "sql!"),
        ("const A: Sql = sql!(include_str!(\"a.txt\"));", "sql!"),
        ("const A: Sql = sql!(\"outbox\");", "sql!"),
        ("const A: Sql = sql!();", "sql!"),
        ("const A: Sql = claim_sql!(\"SELECT now()\", \"\");", "claim_sql!"),
        ("use crate::sql as statement;", "sql! under another name"),
        ("const A: Sql = Sql::from_parts(TEXT, TEXT);", "Sql::from_parts"),
    ] {
        check_at(engine, text, &[&format!("{engine}:1: {name} outside of a store module")]);
    }
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
