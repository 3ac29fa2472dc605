use super::*;
use crate::tidy::workbench::{foreign, lines, own};

const MANIFEST: &str = "crates/palyra-common/Cargo.toml";
const LINTS: &str = "[lints]\nworkspace = true\n";

fn check_dependency(dependency: Dependency, expected: &[&str]) {
    let workspace =
        Workspace::empty().with_package("palyra-common", &[dependency]).with_text(MANIFEST, LINTS);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn dependencies_are_released_versions_or_our_own() {
    check_dependency(foreign("serde"), &[]);
    check_dependency(own("palyra-policy"), &[]);
    check_dependency(
        Dependency { origin: Origin::Git, ..foreign("serde") },
        &["crates/palyra-common/Cargo.toml: serde comes from git"],
    );
    check_dependency(
        Dependency { origin: Origin::Elsewhere, ..foreign("serde") },
        &["crates/palyra-common/Cargo.toml: serde is a folder outside of the workspace"],
    );
    for requirement in ["*", "1.*"] {
        check_dependency(
            Dependency { requirement: requirement.to_owned(), ..foreign("serde") },
            &["crates/palyra-common/Cargo.toml: serde has no version"],
        );
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for manifest in ["", "[lints]\nworkspace = false\n", "[lints.rust]\n"] {
        let workspace =
            Workspace::empty().with_package("palyra-common", &[]).with_text(MANIFEST, manifest);
        assert_eq!(
            lines(&check(&workspace)),
            ["crates/palyra-common/Cargo.toml: does not take the lints of the workspace"],
        );
    }
}

#[test]
fn a_crate_outside_of_the_folder_of_crates_is_told_so() {
    let mut workspace = Workspace::empty().with_package("palyra-common", &[]);
    workspace.packages[0].dir = "tools/palyra-common".to_owned();
    assert_eq!(
        lines(&check(&workspace)),
        ["tools/palyra-common/Cargo.toml: is outside of crates/, where nothing looks at its \
          sources"],
    );
}

#[test]
fn no_crate_is_published() {
    let mut workspace =
        Workspace::empty().with_package("palyra-common", &[]).with_text(MANIFEST, LINTS);
    assert_eq!(lines(&check(&workspace)), [""; 0]);
    workspace.packages[0].publishable = true;
    assert_eq!(lines(&check(&workspace)), ["crates/palyra-common/Cargo.toml: could be published"],);
}

fn check_source(path: &str, text: &str, expected: &[&str]) {
    let workspace = Workspace::empty().with_source(path, text);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn names_say_what_a_thing_is() {
    check_source("crates/palyra-common/src/ids.rs", "mod parse;", &[]);
    check_source("crates/palyra-common/src/utility_meter.rs", "", &[]);
    check_source(
        "crates/palyra-common/src/util.rs",
        "",
        &["crates/palyra-common/src/util.rs: a file or folder named util says nothing"],
    );
    check_source(
        "crates/palyra-common/tests/common/mod.rs",
        "",
        &["crates/palyra-common/tests/common/mod.rs: a file or folder named common says nothing"],
    );
    check_source(
        "crates/palyra-common/src/ids.rs",
        "\npub mod helpers {}",
        &["crates/palyra-common/src/ids.rs:2: a module named helpers says nothing"],
    );
}
