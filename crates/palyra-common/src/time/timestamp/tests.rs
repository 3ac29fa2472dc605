use proptest::prelude::*;

use super::{Duration, Timestamp};

fn check_display(millis: i64, expected: &str) {
    assert_eq!(Timestamp::from_unix_millis(millis).to_string(), expected);
}

#[test]
fn displays_as_rfc_3339_in_utc_with_milliseconds() {
    check_display(0, "1970-01-01T00:00:00.000Z");
    check_display(1, "1970-01-01T00:00:00.001Z");
    check_display(-1, "1969-12-31T23:59:59.999Z");
    check_display(1_709_164_800_120, "2024-02-29T00:00:00.120Z");
    check_display(253_370_764_800_999, "9999-01-01T00:00:00.999Z");
}

#[test]
fn displays_even_where_no_calendar_reaches() {
    check_display(i64::MAX, "9223372036854775807ms after 1970-01-01T00:00:00Z");
    check_display(i64::MIN, "-9223372036854775808ms after 1970-01-01T00:00:00Z");
}

#[test]
fn serialises_as_the_integer() {
    let at = Timestamp::from_unix_millis(1_709_164_800_120);
    assert_eq!(serde_json::to_string(&at).unwrap(), "1709164800120");
    assert_eq!(serde_json::from_str::<Timestamp>("1709164800120").unwrap(), at);
    assert!(serde_json::from_str::<Timestamp>("\"2024-02-29T00:00:00Z\"").is_err());
}

#[test]
fn arithmetic_saturates() {
    let second = Duration::from_secs(1);
    assert_eq!(Timestamp::MAX + second, Timestamp::MAX);
    assert_eq!(Timestamp::MIN - second, Timestamp::MIN);
    assert_eq!(Timestamp::MIN + Duration::MAX, Timestamp::MAX);
    assert_eq!(Timestamp::MAX.since(Timestamp::MIN), Duration::MAX);
    assert_eq!(Timestamp::MIN.since(Timestamp::MAX), Duration::ZERO);
}

proptest! {
    #[test]
    fn since_undoes_adding(millis in -(1_i64 << 60)..(1_i64 << 60), length in 0_u64..(1 << 60)) {
        let earlier = Timestamp::from_unix_millis(millis);
        let length = Duration::from_millis(length);
        prop_assert_eq!((earlier + length).since(earlier), length);
        prop_assert_eq!((earlier + length) - length, earlier);
    }
}
