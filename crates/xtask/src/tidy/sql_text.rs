//! SQL is spelled in `store` modules and nowhere else, so that one file knows a table's columns.

mod makers;
mod statement;

use proc_macro2::{TokenStream, TokenTree};

use super::model::{Violation, Workspace};
use super::source::SourceFile;
use super::tokens::{self, Found};
use makers::Makers;
use statement::{Statement, recognise};

pub(crate) const RULE: &str = "sql text";

/// Where the engines' own session statements may stand.
const ENGINES: &str = "crates/palyra-storage/src/engine/";

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let product = workspace.sources.iter().filter(|source| source.is_product());
    let homes = product.clone().filter(|file| is_store(&file.path) || file.path == makers::HOME);
    let makers = Makers::known_to(homes.map(|file| &file.product));
    let elsewhere = product.filter(|source| {
        !is_store(&source.path) && !source.path.starts_with("crates/palyra-testkit/")
    });
    elsewhere
        .flat_map(|source| [check_texts(source), check_makers(source, &makers)].concat())
        .collect()
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

fn check_makers(source: &SourceFile, makers: &Makers) -> Vec<Violation> {
    if source.path == makers::HOME {
        return Vec::new();
    }
    let is_engine = source.path.starts_with(ENGINES);
    let made = makers.used_in(&source.product, |call| {
        is_engine && call.name == "sql" && is_session(&call.inside)
    });
    let report = |made: Found<String>| {
        let what = format!("{} outside of a store module", made.value);
        Violation::new(RULE, &source.path, what, FIX).at(made.line)
    };
    made.into_iter().map(report).collect()
}

/// Whether a call holds session statements as they are, and nothing that could become another.
fn is_session(inside: &TokenStream) -> bool {
    let is_plain = |tree: TokenTree| match tree {
        TokenTree::Ident(engine) => engine == "sqlite" || engine == "postgres",
        TokenTree::Punct(_) | TokenTree::Literal(_) => true,
        TokenTree::Group(_) => false,
    };
    let texts = tokens::strings(inside);
    !texts.is_empty()
        && texts.iter().all(|text| recognise(&text.value) == Some(Statement::Session))
        && inside.clone().into_iter().all(is_plain)
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
