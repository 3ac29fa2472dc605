use super::*;
use crate::tidy::workbench::lines;

fn check_docs(docs: &str, expected: &[&str]) {
    let workspace = Workspace::empty()
        .with_error_codes(&["storage/busy", "storage/locked"])
        .with_text(DOCS, docs);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn headings_and_rows_explain_codes() {
    check_docs(
        "# Errors\n\n## `storage/busy`\n\nSee `storage/gone`.\n\n| `storage/locked` | x |\n",
        &[],
    );
}

#[test]
fn a_code_without_an_entry_is_named() {
    check_docs(
        "## `storage/busy`\n\nUnlike `storage/locked`, it passes.\n",
        &["docs/errors.md: does not explain storage/locked"],
    );
}

#[test]
fn an_entry_without_a_code_is_named() {
    check_docs(
        "## `storage/busy`\n## `storage/locked`\n## `storage/gone`\n",
        &["docs/errors.md:3: explains storage/gone, which is not in the registry of palyra-common"],
    );
}

#[test]
fn missing_docs_explain_nothing() {
    let workspace = Workspace::empty().with_error_codes(&["storage/busy"]);
    assert_eq!(lines(&check(&workspace)), ["docs/errors.md: does not explain storage/busy"]);
}
