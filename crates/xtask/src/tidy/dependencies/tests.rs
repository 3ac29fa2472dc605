use super::*;
use crate::tidy::model::Kind;
use crate::tidy::workbench::{foreign, lines, own};

fn check_docs(docs: &str, expected: &[&str]) {
    let workspace = Workspace::empty()
        .with_package("palyra-common", &[foreign("serde")])
        .with_package(
            "palyra-storage",
            &[own("palyra-common"), foreign("serde"), foreign("insta").kind(Kind::Dev)],
        )
        .with_text(DOCS, docs);
    assert_eq!(lines(&check(&workspace)), expected);
}

const SERDE: &str = "| `serde` | `palyra-common`, `palyra-storage` | wire formats |\n";
const INSTA: &str = "| `insta` | `palyra-storage` | snapshots |\n";

#[test]
fn a_row_per_dependency_is_enough() {
    check_docs(&format!("| crate | where | why |\n|---|---|---|\n{SERDE}{INSTA}"), &[]);
}

#[test]
fn a_dependency_without_a_row_is_named() {
    check_docs(SERDE, &["docs/dependencies.md: insta (used by palyra-storage) has no row"]);
}

#[test]
fn a_row_without_a_dependency_is_named() {
    check_docs(
        &format!("{SERDE}{INSTA}| `rand` | `palyra-common` | chance |\n"),
        &["docs/dependencies.md:3: rand has a row, but no crate depends on it"],
    );
}

#[test]
fn a_row_says_where_and_why() {
    check_docs(
        &format!("| `serde` | `palyra-common` | |\n{INSTA}"),
        &[
            "docs/dependencies.md:1: serde: the row says palyra-common",
            "docs/dependencies.md:1: serde: the row gives no reason",
        ],
    );
}

#[test]
fn a_second_row_for_the_same_crate_is_named() {
    check_docs(
        &format!("{SERDE}{INSTA}| `serde` | `palyra-common`, `palyra-storage` | once more |\n"),
        &["docs/dependencies.md:3: serde has a row already, in line 1"],
    );
}
