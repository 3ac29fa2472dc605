use super::*;

fn check(written: &str, expected: Option<&str>) {
    let found = WorkPath::parse(written).ok();
    assert_eq!(found.as_ref().map(WorkPath::os), expected, "{written:?}");
}

#[test]
fn a_path_has_one_spelling() {
    check("a/b.md", Some("a/b.md"));
    check("./a//b.md", Some("a/b.md"));
    check("a/./b/", Some("a/b"));
    check("", Some("."));
    check(".", Some("."));
    check("...", Some("..."));
    check("a\\b", Some("a\\b"));
}

#[test]
fn what_leads_out_or_misleads_is_refused() {
    for written in [
        "/etc/passwd",
        "//etc",
        "..",
        "a/../../b",
        "a/..",
        "./../x",
        "/proc/self/root/etc",
        "a\0b",
        "a\nb",
        "a\u{1b}[2Jb",
        "notes\u{202e}dm.exe",
        "no\u{200b}tes",
        "notes.md ",
        " notes.md",
    ] {
        check(written, None);
    }
    check(&"a".repeat(256), None);
    check(&"a/".repeat(33), None);
    check(&"abc/".repeat(300), None);
}

#[test]
fn a_file_is_not_the_root() {
    for written in ["", ".", "./", "a/"] {
        assert!(WorkPath::of_file(written).is_err(), "{written:?}");
    }
    assert_eq!(WorkPath::of_file("a/b").unwrap().split(), (WorkPath("a".into()), "b"));
    assert_eq!(WorkPath::of_file("b").unwrap().split(), (WorkPath::root(), "b"));
}
