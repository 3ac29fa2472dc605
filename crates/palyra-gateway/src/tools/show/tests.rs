use super::*;

#[test]
fn what_is_not_seen_is_written_out() {
    assert_eq!(plain("a\u{202e}b\u{1b}[2J\u{200b}"), "a\\u{202e}b\\u{1b}[2J\\u{200b}");
    assert_eq!(plain("a\tb\nc"), "a    b⏎c");
    assert_eq!(plain("Zażółć 🙂"), "Zażółć 🙂");
}

#[test]
fn a_cut_falls_between_characters() {
    assert_eq!(cut("żółć", 2), "żó…");
    assert_eq!(cut("żółć", 4), "żółć");
    assert_eq!(cut("", 0), "");
}
