use proptest::prelude::*;

use super::*;

#[test]
fn a_change_stands_between_what_is_around_it() {
    let shown = diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\ne\nf\n");
    assert_eq!(shown, "@@ -2,5 +2,5 @@\n b\n c\n-d\n+X\n e\n f\n");
}

#[test]
fn what_comes_and_goes_alone() {
    assert_eq!(diff("", "a\n"), "@@ -1,0 +1,1 @@\n+a\n");
    assert_eq!(diff("a\n", ""), "@@ -1,1 +1,0 @@\n-a\n");
    assert_eq!(diff("a\n", "a\n"), "");
    assert_eq!(diff("a\na\n", "a\na\na\n"), "@@ -1,2 +1,3 @@\n a\n a\n+a\n");
}

#[test]
fn nothing_hides_in_it() {
    let shown = diff("a\n", "\u{1b}[2Jb\u{202e}\r");
    assert!(shown.contains("+\\u{1b}[2Jb\\u{202e}\\u{d}  [no line end]"), "{shown}");
}

#[test]
fn a_large_one_is_cut_on_both_sides() {
    let shown = diff(&"old\n".repeat(1_000), &"new\n".repeat(1_000));
    assert!(shown.contains("-[980 more lines]") && shown.contains("+[980 more lines]"), "{shown}");
    assert!(diff("", &"x".repeat(1 << 20)).len() < 400);
}

proptest! {
    #[test]
    fn any_two_texts_have_one(old in "[ab\n]{0,30}", new in "[ab\n]{0,30}") {
        prop_assert_eq!(diff(&old, &new).is_empty(), old == new);
    }
}
