//! SQL is spelled in `store` modules and nowhere else, so that one file knows a table's columns.

mod statement;

use std::collections::BTreeMap;

use super::model::{Violation, Workspace};
use super::source::SourceFile;
use super::tokens::{self, Found};
use statement::{Statement, recognise};

pub(crate) const RULE: &str = "sql text";

/// Where the engines' own session statements may stand.
const ENGINES: &str = "crates/palyra-storage/src/engine/";

/// What makes a statement of a text, whatever the text is put together from, and where it is made.
const MACROS: &[&str] = &["sql", "claim_sql", "hold_sql", "lock_sql"];
const MACROS_HOME: &str = "crates/palyra-storage/src/sql.rs";

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let elsewhere = workspace.sources.iter().filter(|source| {
        source.is_product()
            && !is_store(&source.path)
            && !source.path.starts_with("crates/palyra-testkit/")
    });
    elsewhere.flat_map(|source| [check_texts(source), check_macros(source)].concat()).collect()
}

fn check_texts(source: &SourceFile) -> Vec<Violation> {
    let is_engine = source.path.starts_with(ENGINES);
    let texts = tokens::strings(&source.product).into_iter();
    let statements = texts.filter(|text| match recognise(&text.value) {
        Some(Statement::Data) => true,
        Some(Statement::Session) => !is_engine,
        None => false,
    });
    let report = |text: Found<String>| {
        let what = format!("SQL outside of a store module: {}", excerpt(&text.value));
        Violation::new(RULE, &source.path, what, FIX).at(text.line)
    };
    statements.map(report).collect()
}

fn check_macros(source: &SourceFile) -> Vec<Violation> {
    if source.path.starts_with(ENGINES) || source.path == MACROS_HOME {
        return Vec::new();
    }
    let called = tokens::macros(&source.product).into_iter().map(|call| (call.line, call.value));
    let mut made: BTreeMap<usize, String> = called
        .filter(|(_, name)| MACROS.contains(&name.as_str()))
        .map(|(line, name)| (line, format!("{name}!")))
        .collect();
    for path in tokens::paths(&source.product) {
        let words: Vec<&str> = path.value.iter().map(String::as_str).collect();
        match words.as_slice() {
            // Under another name its calls would go unseen.
            ["palyra_storage", name] if MACROS.contains(name) => {
                made.entry(path.line).or_insert_with(|| format!("{name}!"));
            }
            [.., "Sql", "from_parts"] => {
                made.insert(path.line, "Sql::from_parts".to_owned());
            }
            _ => {}
        }
    }
    let report = |(line, name): (usize, String)| {
        let what = format!("{name} outside of a store module");
        Violation::new(RULE, &source.path, what, FIX).at(line)
    };
    made.into_iter().map(report).collect()
}

const FIX: &str =
    "move it to src/store.rs, or the file under src/store/, of the crate that owns the table";

/// The `store` module of a crate; a folder of that name elsewhere is none.
fn is_store(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["crates", _, "src", "store.rs"] | ["crates", _, "src", "store", ..])
}

fn excerpt(text: &str) -> String {
    const SHOWN: usize = 50;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", &flat[..end]),
        None => format!("\"{flat}\""),
    }
}

#[cfg(test)]
mod tests;
