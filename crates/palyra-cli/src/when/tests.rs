use super::*;

#[test]
fn a_time_is_a_moment_or_a_length_ago() {
    let now = Timestamp::from_unix_millis(10_000_000);
    let seen = |text: &str| text.parse::<When>().map(|when| when.seen_from(now).as_unix_millis());
    assert_eq!(seen("10s"), Ok(9_990_000));
    assert_eq!(seen("1970-01-01T00:00:01Z"), Ok(1_000));
    assert_eq!(seen("1970-01-01T01:00:01+01:00"), Ok(1_000));
    for text in ["", "yesterday", "10", "2026-01-31"] {
        assert!(seen(text).is_err(), "{text:?}");
    }
}

#[test]
fn the_stamp_of_a_file_sorts_by_time() {
    let stamp = |millis| stamp(Timestamp::from_unix_millis(millis));
    assert_eq!(stamp(1_700_000_000_000), "20231114T221320.000Z");
    assert_eq!(stamp(1_700_000_000_012), "20231114T221320.012Z");
}
