use super::*;
use crate::tidy::workbench::lines;

const PATH: &str = "crates/palyra-gateway/src/router.rs";

fn file_of(lines: usize) -> String {
    "const LANES: usize = 1;\n".repeat(lines)
}

fn function_of(lines: usize) -> String {
    format!("fn route() {{\n{}}}\n", "    lane();\n".repeat(lines - 2))
}

fn check_at(path: &str, text: &str, exceptions: &str, expected: &[&str]) {
    let workspace = Workspace::empty().with_source(path, text).with_text(EXCEPTIONS, exceptions);
    let listed = exceptions.matches("[[exception]]").count();
    assert_eq!(lines(&check_with(&workspace, listed)), expected);
}

fn exception(function: Option<&str>, lines: usize, reason: &str) -> String {
    let function = function.map(|name| format!("function = {name:?}\n")).unwrap_or_default();
    format!("[[exception]]\npath = {PATH:?}\n{function}lines = {lines}\nreason = {reason:?}\n")
}

#[test]
fn a_file_has_at_most_five_hundred_lines() {
    check_at(PATH, &file_of(500), "", &[]);
    check_at(
        PATH,
        &file_of(501),
        "",
        &["crates/palyra-gateway/src/router.rs: has 501 lines, 500 are allowed"],
    );
}

#[test]
fn tests_and_benches_may_be_longer() {
    let long = file_of(501) + &function_of(61);
    let tests = Workspace::empty()
        .with_source(PATH, "#[cfg(test)] mod tests;")
        .with_source("crates/palyra-gateway/src/router/tests.rs", &long);
    assert_eq!(lines(&check(&tests)), [""; 0]);
    check_at("crates/palyra-gateway/tests/it/main.rs", &long, "", &[]);
    check_at("crates/palyra-gateway/benches/router.rs", &long, "", &[]);
    let inline = format!("{}#[cfg(test)]\nmod tests {{\n{long}}}\n", file_of(500));
    check_at(PATH, &inline, "", &[]);
}

#[test]
fn a_function_has_at_most_sixty_lines() {
    check_at(PATH, &function_of(60), "", &[]);
    check_at(
        PATH,
        &format!("\n{}", function_of(61)),
        "",
        &["crates/palyra-gateway/src/router.rs:2: function route has 61 lines, 60 are allowed"],
    );
}

#[test]
fn a_closure_outside_of_functions_counts_as_one() {
    let closure = |lines: usize, head: &str| {
        format!(
            "static LANES: Lanes = Lanes::new({head} {{\n{}}});\n",
            "    lane();\n".repeat(lines - 2)
        )
    };
    for head in ["||", "|one, two|", "move |one| -> Vec<Lane>"] {
        check_at(PATH, &closure(60, head), "", &[]);
        check_at(
            PATH,
            &closure(61, head),
            "",
            &[
                "crates/palyra-gateway/src/router.rs:1: function closure has 61 lines, 60 are allowed",
            ],
        );
    }
    // Inside of a function it is a part of it.
    let inside =
        format!("fn route() {{\n    go(|| {{\n{}    }});\n}}\n", "    lane();\n".repeat(60));
    check_at(
        PATH,
        &inside,
        "",
        &["crates/palyra-gateway/src/router.rs:1: function route has 64 lines, 60 are allowed"],
    );
    check_at(PATH, &format!("const BITS: u8 = ONE | TWO;\n{}", function_of(60)), "", &[]);
}

#[test]
fn functions_inside_macros_count_too() {
    let text = format!("macro_rules! lanes {{ ($name:ident) => {{\n{}}} }}", {
        function_of(61).replace("route", "$name")
    });
    check_at(
        PATH,
        &text,
        "",
        &["crates/palyra-gateway/src/router.rs:2: function $name has 61 lines, 60 are allowed"],
    );
}

#[test]
fn an_exception_allows_exactly_what_is_there() {
    check_at(PATH, &file_of(520), &exception(None, 520, "one table"), &[]);
    check_at(PATH, &function_of(70), &exception(Some("route"), 70, "one match"), &[]);
    check_at(
        PATH,
        &file_of(521),
        &exception(None, 520, "one table"),
        &["crates/palyra-gateway/src/router.rs: has 521 lines, 520 are allowed"],
    );
    check_at(
        PATH,
        &function_of(69),
        &exception(Some("route"), 70, "one match"),
        &["crates/xtask/tidy-exceptions.toml: route in crates/palyra-gateway/src/router.rs has \
           shrunk to 69 lines, the exception says 70"],
    );
}

#[test]
fn an_exception_goes_when_nothing_needs_it() {
    check_at(
        PATH,
        &file_of(500),
        &exception(None, 520, "one table"),
        &[
            "crates/xtask/tidy-exceptions.toml: crates/palyra-gateway/src/router.rs has 500 lines and \
           needs no exception",
        ],
    );
    check_at(
        PATH,
        &file_of(1),
        &exception(Some("gone"), 70, "one match"),
        &["crates/xtask/tidy-exceptions.toml: names gone in crates/palyra-gateway/src/router.rs, \
           which is not there"],
    );
}

#[test]
fn an_exception_gives_its_reason() {
    check_at(
        PATH,
        &file_of(520),
        &exception(None, 520, " "),
        &["crates/xtask/tidy-exceptions.toml: the exception for \
           crates/palyra-gateway/src/router.rs has no reason"],
    );
    check_at(
        PATH,
        &file_of(1),
        "[[exception]]\npath = 'x'\n",
        &["crates/xtask/tidy-exceptions.toml: cannot be read: missing field `lines`"],
    );
}

#[test]
fn the_list_of_exceptions_only_shrinks() {
    let listed = exception(None, 520, "one table");
    let workspace =
        Workspace::empty().with_source(PATH, &file_of(520)).with_text(EXCEPTIONS, &listed);
    assert_eq!(
        lines(&check(&workspace)),
        ["crates/xtask/tidy-exceptions.toml: lists 1, but the list only shrinks, and is at 0"],
    );
    assert_eq!(
        lines(&check_with(&workspace, 2)),
        ["crates/xtask/tidy-exceptions.toml: lists only 1, and MOST_EXCEPTIONS still says 2"],
    );
}

#[test]
fn files_of_the_web_console_have_at_most_three_hundred_lines() {
    let check_web = |text: &str, expected: &[&str]| {
        let workspace = Workspace::empty().with_text("apps/web/src/app.tsx", text);
        assert_eq!(lines(&check(&workspace)), expected);
    };
    check_web(&file_of(300), &[]);
    check_web(&file_of(301), &["apps/web/src/app.tsx: has 301 lines, 300 are allowed"]);
}

#[test]
fn lib_rs_is_a_table_of_contents() {
    let lib = "crates/palyra-gateway/src/lib.rs";
    let clean = "//! Docs.\n#![warn(missing_docs)]\n#[macro_use]\nmod router;\npub use router::Lane;\n\
                 pub mod prelude { pub use crate::router::Lane; }\n";
    check_at(lib, clean, "", &[]);
    check_at(PATH, "fn route() {}", "", &[]);
    for body in ["fn route() {}", "const LANES: usize = 1;", "pub mod a { struct Lane; }"] {
        check_at(
            lib,
            &format!("mod router;\n{body}\n"),
            "",
            &["crates/palyra-gateway/src/lib.rs:2: lib.rs holds more than docs, attributes, mod \
               and use"],
        );
    }
}
