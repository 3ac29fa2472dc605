//! Product code stands where the other rules look at it, as what it is.

use super::model::{Violation, Workspace};
use super::source::{self, SourceFile};
use super::tokens;
use crate::codegen;

pub(crate) const RULE: &str = "in sight";

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let product = workspace.sources.iter().filter(|source| source.is_product());
    claims(workspace).chain(product.flat_map(check_source)).collect()
}

/// Who reads a change passes over files that call themselves generated.
fn claims(workspace: &Workspace) -> impl Iterator<Item = Violation> {
    let sources = workspace.sources.iter().filter(|source| source.claims_generated);
    let texts = workspace.texts.iter().filter(|(_, text)| source::claims_generated(text));
    let paths = sources.map(|source| &source.path).chain(texts.map(|(path, _)| path));
    paths.filter(|path| !codegen::writes(path)).map(|path| {
        let what = "says @generated, but codegen does not write it";
        let fix = "remove the word, or list the file in crates/xtask/src/codegen.rs";
        Violation::new(RULE, path, what, fix)
    })
}

fn check_source(source: &SourceFile) -> Vec<Violation> {
    let fix = "make it a module, in the file that bears its name";
    let report = |line, what: &str| Violation::new(RULE, &source.path, what, fix).at(line);
    let included = tokens::macros(&source.product)
        .into_iter()
        .filter(|call| call.value.name == "include")
        .map(|call| report(call.line, "include! brings in code that nothing looks at"));
    let elsewhere = tokens::attributes(&source.product)
        .into_iter()
        .filter(|attribute| attribute.value.path().is_ident("path"))
        .map(|attribute| report(attribute.line, "#[path] hides where a module is"));
    included.chain(elsewhere).collect()
}

#[cfg(test)]
mod tests;
