use std::borrow::Cow;

use super::{nearest, shell_word, strip_nul};

fn check(input: &str, expected: &str) {
    assert_eq!(strip_nul(input), expected, "input {input:?}");
}

#[test]
fn every_nul_goes_and_nothing_else_does() {
    check("", "");
    check("\0", "");
    check("\0\0a\0b\0", "ab");
    check("tab\tnewline\nbell\u{7}é\u{1F600}", "tab\tnewline\nbell\u{7}é\u{1F600}");
    // U+0100 has a zero byte in UTF-16 but is not U+0000.
    check("\u{100}", "\u{100}");
}

#[test]
fn clean_text_is_not_copied() {
    assert!(matches!(strip_nul("clean"), Cow::Borrowed("clean")));
}

#[test]
fn only_what_is_near_is_meant() {
    let known = ["http", "grpc", "log"];
    assert_eq!(nearest("htpp", known), Some("http"));
    assert_eq!(nearest("lgo", known), Some("log"));
    assert_eq!(nearest("log", known), Some("log"));
    assert_eq!(nearest("x", known), None);
    assert_eq!(nearest("deployment", known), None);
    assert_eq!(nearest("htpp", []), None);
}

#[test]
fn a_shell_reads_one_word() {
    for plain in ["/srv/palyra.db", "a-b_c+d:e@f,g=h%i", "größe"] {
        assert!(matches!(shell_word(plain), Cow::Borrowed(word) if word == plain));
    }
    assert_eq!(shell_word(""), "''");
    assert_eq!(shell_word("my data"), "'my data'");
    assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
}
