use super::*;
use crate::tidy::workbench::{lines, own};

/// A workspace whose crates are all described.
fn described() -> Workspace {
    let rows = TABLE.iter().map(|row| format!("| layer | `{}` | things |\n", row.name));
    Workspace::empty().with_text(ARCHITECTURE, &rows.collect::<String>())
}

fn check_one(name: &str, dependency: Dependency, expected: &[&str]) {
    let workspace = described().with_package(name, &[dependency]);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn a_crate_may_use_the_layers_below() {
    check_one("palyra-storage", own("palyra-common"), &[]);
    check_one("palyra-daemon", own("palyra-gateway"), &[]);
    check_one("palyra-gateway", own("palyra-common").kind(Kind::Build), &[]);
    check_one("xtask", own("palyra-daemon"), &[]);
}

#[test]
fn a_crate_may_not_use_the_layers_above() {
    check_one(
        "palyra-storage",
        own("palyra-gateway"),
        &["crates/palyra-storage/Cargo.toml: palyra-storage (layer 1) depends on palyra-gateway \
           (layer 4)"],
    );
    check_one(
        "palyra-common",
        own("palyra-storage").kind(Kind::Build),
        &["crates/palyra-common/Cargo.toml: palyra-common (layer 0) depends on palyra-storage \
           (layer 1)"],
    );
}

#[test]
fn the_same_layer_needs_a_word_in_the_table() {
    check_one("palyra-policy", own("palyra-common"), &[]);
    check_one("palyra-cli", own("palyra-client"), &[]);
    check_one(
        "palyra-common",
        own("palyra-policy"),
        &["crates/palyra-common/Cargo.toml: palyra-common (layer 0) depends on palyra-policy \
           (layer 0)"],
    );
    check_one(
        "palyra-vault",
        own("palyra-identity"),
        &["crates/palyra-vault/Cargo.toml: palyra-vault (layer 2) depends on palyra-identity \
           (layer 2)"],
    );
}

#[test]
fn tests_may_use_the_testkit_the_layers_below_and_the_crate_itself() {
    check_one("palyra-common", own("palyra-testkit").kind(Kind::Dev), &[]);
    check_one("palyra-storage", own("palyra-common").kind(Kind::Dev), &[]);
    check_one("palyra-storage", own("palyra-storage").kind(Kind::Dev), &[]);
    check_one(
        "palyra-storage",
        own("palyra-gateway").kind(Kind::Dev),
        &["crates/palyra-storage/Cargo.toml: palyra-storage (layer 1) depends on palyra-gateway \
           (layer 4)"],
    );
}

#[test]
fn nothing_uses_the_tools_and_the_guest_sdk_uses_nothing() {
    check_one(
        "palyra-daemon",
        own("xtask").kind(Kind::Dev),
        &["crates/palyra-daemon/Cargo.toml: palyra-daemon (layer 5) depends on xtask (a tool)"],
    );
    check_one(
        "palyra-plugins-sdk",
        own("palyra-common"),
        &["crates/palyra-plugins-sdk/Cargo.toml: palyra-plugins-sdk (for guests) depends on \
           palyra-common (layer 0)"],
    );
    check_one(
        "palyra-plugins-runtime",
        own("palyra-plugins-sdk"),
        &["crates/palyra-plugins-runtime/Cargo.toml: palyra-plugins-runtime (layer 2) depends on \
           palyra-plugins-sdk (for guests)"],
    );
}

#[test]
fn the_client_does_not_reach_storage_through_others() {
    let through = |between: &[Dependency]| {
        described()
            .with_package("palyra-client", &[own("palyra-identity")])
            .with_package("palyra-identity", between)
            .with_package("palyra-storage", &[])
    };
    assert_eq!(lines(&check(&through(&[own("palyra-storage").kind(Kind::Dev)]))), [""; 0]);
    assert_eq!(
        lines(&check(&through(&[own("palyra-storage")]))),
        ["crates/palyra-client/Cargo.toml: palyra-client reaches palyra-storage, which it must \
          never see"],
    );
}

#[test]
fn a_crate_without_a_layer_is_named() {
    let workspace = Workspace::empty().with_package("palyra-surprise", &[]);
    assert_eq!(
        lines(&check(&workspace)),
        ["crates/palyra-surprise/Cargo.toml: palyra-surprise has no layer"],
    );
}

#[test]
fn every_crate_is_described() {
    let text = "`palyra-net` calls.\n| 0 values | `palyra-common` | uses `palyra-net` |\n";
    let workspace = Workspace::empty()
        .with_text(ARCHITECTURE, text)
        .with_package("palyra-common", &[])
        .with_package("palyra-net", &[]);
    assert_eq!(
        lines(&check(&workspace)),
        ["ARCHITECTURE.md: palyra-net has no row in the table of crates"],
    );
}

#[test]
fn the_table_is_consistent() {
    for row in TABLE {
        assert_eq!(TABLE.iter().filter(|other| other.name == row.name).count(), 1, "{}", row.name);
        for used in row.uses {
            let place = super::row(used).map(|of| of.place);
            assert_eq!(place, Some(row.place), "{} uses {used}, which is another layer", row.name);
        }
    }
}
