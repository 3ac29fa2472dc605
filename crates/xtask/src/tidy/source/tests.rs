use super::*;

fn class_of(path: &str, text: &str) -> Class {
    SourceFile::parse(path, text).unwrap().class
}

#[test]
fn the_folder_and_the_list_of_generated_files_tell_the_class() {
    assert_eq!(class_of("crates/a/src/lib.rs", ""), Class::Product);
    assert_eq!(class_of("crates/a/src/latest.rs", ""), Class::Product);
    assert_eq!(class_of("crates/a/tests/it/lane.rs", ""), Class::Test);
    assert_eq!(class_of("crates/a/benches/lane.rs", ""), Class::Bench);
    assert_eq!(class_of("crates/a/src/wire.rs", "// @generated from wire.proto"), Class::Product);
    assert_eq!(class_of("docs/errors.md", ""), Class::Generated);
}

#[test]
fn a_name_alone_makes_no_test() {
    let parse = |path: &str, text: &str| SourceFile::parse(path, text).unwrap();
    let mut sources = [
        parse("crates/a/src/lib.rs", "mod tests; mod lane; mod twice;"),
        parse("crates/a/src/tests.rs", ""),
        parse("crates/a/src/tests/more.rs", ""),
        parse("crates/a/src/benches/more.rs", ""),
        parse("crates/a/src/lane.rs", "#[cfg(feature = \"tests\")] mod tests;"),
        parse("crates/a/src/lane/tests.rs", ""),
        parse("crates/a/src/twice.rs", "#[cfg(test)] mod tests; #[cfg(not(test))] mod tests;"),
        parse("crates/a/src/twice/tests.rs", ""),
    ];
    mark_test_modules(&mut sources);
    for source in sources {
        assert_eq!(source.class, Class::Product, "{}", source.path);
    }
}

#[test]
fn items_behind_cfg_test_are_dropped_with_their_lines() {
    let text = "\
fn kept() {}
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Dropped<A, B> {
    a: (A, B),
}
struct Also {
    #[cfg(test)]
    dropped: u8,
    kept: u8,
}
#[cfg(all(test, unix))]
use dropped::{a, b};
#[test]
fn dropped() {
    assert!(true);
}
#[cfg(not(test))]
fn kept_too() {}
#[cfg(test)]
mod tests;
";
    let source = SourceFile::parse("crates/a/src/lane.rs", text).unwrap();
    assert_eq!(
        source.product.to_string(),
        "fn kept () { } struct Also { kept : u8 , } ; # [cfg (not (test))] fn kept_too () { }",
    );
    assert_eq!(text.lines().count(), 21);
    assert_eq!(source.lines, 21 - 5 - 2 - 2 - 4 - 2);
}

#[test]
fn files_behind_a_test_module_are_tests() {
    let parse = |path: &str, text: &str| SourceFile::parse(path, text).unwrap();
    let mut sources = [
        parse("crates/a/src/lib.rs", "#[cfg(test)] mod harness; mod lane;"),
        parse("crates/a/src/harness.rs", "mod clock;"),
        parse("crates/a/src/harness/clock.rs", ""),
        parse("crates/a/src/harness_of_horses.rs", ""),
        parse("crates/a/src/lane.rs", "#[cfg(test)] mod bench_rig;"),
        parse("crates/a/src/lane/bench_rig.rs", ""),
    ];
    mark_test_modules(&mut sources);
    let tests: Vec<&str> = sources
        .iter()
        .filter(|source| source.class == Class::Test)
        .map(|source| source.path.as_str())
        .collect();
    assert_eq!(
        tests,
        [
            "crates/a/src/harness.rs",
            "crates/a/src/harness/clock.rs",
            "crates/a/src/lane/bench_rig.rs"
        ],
    );
}

#[test]
fn a_syntax_error_is_told_with_its_line() {
    for text in ["fn a() {}\n\nfn b( {}\n", "fn a() {}\n\nlet\n", "fn a() {}\n\n\"open"] {
        let Err(error) = SourceFile::parse("crates/a/src/lane.rs", text) else {
            panic!("{text} was read");
        };
        let told = format!("{error:#}");
        assert!(told.starts_with("crates/a/src/lane.rs:3: not valid Rust: "), "{text:?}: {told}");
    }
}
