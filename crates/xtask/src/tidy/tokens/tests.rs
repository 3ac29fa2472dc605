use super::*;

fn parse(text: &str) -> TokenStream {
    text.parse().unwrap()
}

#[test]
fn strings_are_found_in_macros_and_not_in_docs() {
    let found = strings(&parse(
        "//! inner\n/// outer\n#[doc = \"spelled\"]\nfn f() {\n m!(a, [\"one\"], r#\"two\"#);\n b\"three\"; c\"four\" }",
    ));
    let values: Vec<(usize, &str)> =
        found.iter().map(|found| (found.line, found.value.as_str())).collect();
    assert_eq!(values, [(5, "one"), (5, "two"), (6, "three"), (6, "four")]);
}

#[test]
fn functions_are_measured_from_fn_to_brace() {
    let found = functions(&parse(
        "/// Docs.\n#[inline]\npub fn outer<F: Fn(u8)>(f: F) -> fn(u8)\nwhere\n F: Copy,\n{\n fn inner() {}\n}\ntrait T { fn declared(); }",
    ));
    let values: Vec<(usize, &str, usize)> = found
        .iter()
        .map(|found| (found.line, found.value.name.as_str(), found.value.lines))
        .collect();
    assert_eq!(values, [(3, "outer", 6), (7, "inner", 1)]);
}

#[test]
fn paths_are_joined_through_use_groups() {
    let found =
        paths(&parse("use ::std::{fs, time::{self, Instant as Clock}};\na.b::<c::D>().await"));
    let values: Vec<String> = found.iter().map(|found| found.value.join("::")).collect();
    assert_eq!(
        values,
        [
            "use",
            "std::fs",
            "std::time::self",
            "std::time::Instant",
            "as",
            "std::time::Clock",
            "a",
            "b",
            "c::D",
            "await",
        ],
    );
}

#[test]
fn modules_are_found_on_every_level() {
    let found = modules(&parse("mod a;\nmod b { pub mod c {} }"));
    let values: Vec<(usize, &str)> =
        found.iter().map(|found| (found.line, found.value.as_str())).collect();
    assert_eq!(values, [(1, "a"), (2, "b"), (2, "c")]);
}

#[test]
fn renames_are_found_in_use_and_nowhere_else() {
    let found = renames(&parse("use a::b as c;\npub use d::{e, f::{g as h}}; let i = j as k;"));
    let values: Vec<(usize, &str, &str)> = found
        .iter()
        .map(|found| (found.line, found.value.from.as_str(), found.value.to.as_str()))
        .collect();
    assert_eq!(values, [(1, "b", "c"), (2, "g", "h")]);
}

#[test]
fn macros_are_told_apart_from_their_definitions() {
    let text = parse("macro_rules! a { () => { b!(c) } }\nd::e![];");
    let called: Vec<(usize, String)> =
        macros(&text).into_iter().map(|found| (found.line, found.value.name)).collect();
    assert_eq!(called, [(1, "b".to_owned()), (2, "e".to_owned())]);
    let defined: Vec<String> = macro_rules(&text).into_iter().map(|found| found.name).collect();
    assert_eq!(defined, ["a"]);
}
