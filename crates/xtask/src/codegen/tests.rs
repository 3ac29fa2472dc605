use std::fs;
use std::path::Path;

use super::{Generated, errors, generate, runtime_contracts, verify};

const SAMPLES: &[Generated] = &[
    Generated { path: "docs/one.md", render: || Ok("one\n".to_owned()) },
    Generated { path: "schemas/json/two.json", render: || Ok("{}\n".to_owned()) },
];

/// What `--check` prints, and whether it passed.
fn check(root: &Path) -> (String, bool) {
    let mut out = Vec::new();
    let passed = verify(root, SAMPLES, &mut out).is_ok();
    (String::from_utf8(out).unwrap(), passed)
}

fn generated() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    generate(root.path(), SAMPLES, &mut Vec::new()).unwrap();
    root
}

#[test]
fn freshly_generated_files_pass() {
    let root = generated();
    assert_eq!(fs::read_to_string(root.path().join("docs/one.md")).unwrap(), "one\n");
    assert_eq!(check(root.path()), ("codegen: 2 files are up to date\n".to_owned(), true));
}

#[test]
fn a_changed_file_is_named_and_fails() {
    let root = generated();
    fs::write(root.path().join("docs/one.md"), "one").unwrap();
    let report = "docs/one.md: differs from its definition\n";
    assert_eq!(check(root.path()), (report.to_owned(), false));
}

#[test]
fn a_missing_file_is_named_and_fails() {
    let root = generated();
    fs::remove_file(root.path().join("schemas/json/two.json")).unwrap();
    let report = "schemas/json/two.json: differs from its definition\n";
    assert_eq!(check(root.path()), (report.to_owned(), false));
}

#[test]
fn every_drifted_file_is_named_and_checking_repairs_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (first, second) = (check(root.path()), check(root.path()));
    assert_eq!(first.0.lines().count(), SAMPLES.len());
    assert_eq!(first, second);
}

#[test]
fn generating_writes_only_what_differs() {
    let root = generated();
    fs::write(root.path().join("docs/one.md"), "changed").unwrap();
    let mut out = Vec::new();
    generate(root.path(), SAMPLES, &mut out).unwrap();
    let report = "docs/one.md: written\ncodegen: 2 files are up to date\n";
    assert_eq!(String::from_utf8(out).unwrap(), report);
}

/// What the daemon tells about itself is left to `codegen --check`: it would be built for this.
#[test]
fn real_files_render_the_same_twice_and_end_in_one_newline() {
    for render in [errors::render, runtime_contracts::render] {
        let rendered = render().unwrap();
        assert_eq!(rendered, render().unwrap());
        assert!(rendered.ends_with('\n') && !rendered.ends_with("\n\n"));
    }
}
