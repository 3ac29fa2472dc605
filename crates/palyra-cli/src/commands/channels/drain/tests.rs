use super::*;

#[track_caller]
fn check(before: u64, after: u64, expected: Option<&str>) {
    let grown = Grown::between(before, after);
    assert_eq!(grown.told("letter", "letters").as_deref(), expected, "{before} to {after}");
    assert_eq!(grown.is_nothing(), expected.is_none());
}

#[test]
fn what_is_new_is_counted_as_far_as_anybody_counts() {
    check(3, 3, None);
    check(3, 2, None);
    check(3, 4, Some("1 letter"));
    check(0, 9_999, Some("9999 letters"));
    check(9_000, 10_000, Some("at least 1000 letters"));
    // However many have come, the number stays.
    check(10_000, 10_000, Some("10000 or more letters, by now or before"));
}
