use super::*;
use crate::tidy::workbench::lines;

const OURS: &str = include_str!("../../../../../Cargo.toml");
const PATH: &str = "crates/palyra-gateway/src/router.rs";
const LIB: &str = "crates/palyra-gateway/src/lib.rs";

fn check_root_text(manifest: &str, expected: &[&str]) {
    assert_eq!(lines(&check(&Workspace::empty().with_text(ROOT, manifest))), expected);
}

#[test]
fn the_workspace_sets_its_lints() {
    check_root_text(OURS, &[]);
    check_root_text(&OURS.replace("panic = \"warn\"", "panic = \"deny\""), &[]);
    for off in ["panic = \"allow\"", "panic = { level = \"allow\" }", ""] {
        let said = "Cargo.toml: [workspace.lints.clippy] has panic below \"warn\"";
        check_root_text(&OURS.replace("panic = \"warn\"", off), &[said]);
    }
    check_root_text(
        &OURS.replace("unsafe_code = \"forbid\"", "unsafe_code = \"warn\""),
        &["Cargo.toml: [workspace.lints.rust] has unsafe_code below \"forbid\""],
    );
    assert_eq!(check(&Workspace::empty()).len(), LINTS.len());
}

fn check_library(name: &str, text: &str, expected: &[&str]) {
    let mut workspace = Workspace::empty().with_text(ROOT, OURS).with_package(name, &[]);
    workspace.packages[0].is_library = true;
    let lib = format!("crates/{name}/src/lib.rs");
    assert_eq!(lines(&check(&workspace.with_source(&lib, text))), expected);
}

#[test]
fn a_library_crate_documents_what_is_public() {
    check_library("palyra-gateway", "#![warn(missing_docs)]", &[]);
    check_library("palyra-gateway", "#![deny(missing_docs, unused)]", &[]);
    check_library("palyra-testkit", "", &[]);
    let said = format!("{LIB}: a library crate without #![warn(missing_docs)]");
    check_library("palyra-gateway", "", &[&said]);
    check_library("palyra-gateway", "#![warn(unused)]", &[&said]);
}

fn check_text(text: &str, expected: &[&str]) {
    let workspace = Workspace::empty().with_text(ROOT, OURS).with_source(PATH, text);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn product_code_does_not_silence_what_keeps_it_from_panicking() {
    for attribute in [
        "#[allow(clippy::unwrap_used)]",
        "#[expect(clippy::unwrap_used, reason = \"quick\")]",
        "#![allow(dead_code, clippy::unwrap_used)]",
        "#[cfg_attr(unix, allow(clippy::unwrap_used))]",
        "#[cfg_attr(unix, cfg_attr(feature = \"a\", allow(clippy::unwrap_used)))]",
    ] {
        let said = format!("{PATH}:1: silences unwrap_used in product code");
        check_text(&format!("{attribute} fn f() {{}}"), &[&said]);
    }
    for lint in NEVER_SILENCED {
        let said = format!("{PATH}:1: silences {lint} in product code");
        check_text(&format!("#[allow({lint})] fn f() {{}}"), &[&said]);
    }
}

#[test]
fn tests_may_panic_and_other_lints_may_be_silenced() {
    check_text("#[cfg(test)] mod tests { #![allow(clippy::panic)] }", &[]);
    check_text("#[expect(dead_code, reason = \"it is held\")] struct Held(File);", &[]);
    check_text("#[allow(clippy::print_stderr, reason = \"panic: warnings\")] fn f() {}", &[]);
    check_text("fn allow(panic: bool) { caller.allow(panic) }", &[]);
}
