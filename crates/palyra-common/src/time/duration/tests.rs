use proptest::prelude::*;

use super::{Duration, DurationParseError};

fn check(text: &str, expected: Result<Duration, DurationParseError>) {
    assert_eq!(text.parse::<Duration>(), expected, "parsing {text:?}");
}

#[test]
fn parses_a_number_and_a_unit() {
    check("0s", Ok(Duration::ZERO));
    check("1500ms", Ok(Duration::from_millis(1500)));
    check("10s", Ok(Duration::from_secs(10)));
    check("15m", Ok(Duration::from_mins(15)));
    check("24h", Ok(Duration::from_hours(24)));
    check("7d", Ok(Duration::from_days(7)));
    check("007d", Ok(Duration::from_days(7)));
    check("18446744073709551615ms", Ok(Duration::MAX));
}

#[test]
fn refuses_everything_else_and_says_why() {
    check("", Err(DurationParseError::NoNumber));
    check("s", Err(DurationParseError::NoNumber));
    check("-1s", Err(DurationParseError::NoNumber));
    check("+1s", Err(DurationParseError::NoNumber));
    check(" 1s", Err(DurationParseError::NoNumber));
    check("٣s", Err(DurationParseError::NoNumber));
    check("10", Err(DurationParseError::UnknownUnit));
    check("10 s", Err(DurationParseError::UnknownUnit));
    check("10S", Err(DurationParseError::UnknownUnit));
    check("1.5s", Err(DurationParseError::UnknownUnit));
    check("1h30m", Err(DurationParseError::UnknownUnit));
    check("18446744073709551616ms", Err(DurationParseError::TooLong));
    check("213503982335d", Err(DurationParseError::TooLong));
}

#[test]
fn displays_in_the_largest_exact_unit() {
    let shown = |length: Duration| length.to_string();
    assert_eq!(shown(Duration::ZERO), "0s");
    assert_eq!(shown(Duration::from_millis(1500)), "1500ms");
    assert_eq!(shown(Duration::from_secs(90)), "90s");
    assert_eq!(shown(Duration::from_secs(120)), "2m");
    assert_eq!(shown(Duration::from_hours(36)), "36h");
    assert_eq!(shown(Duration::from_hours(48)), "2d");
}

#[test]
fn constructors_saturate() {
    for longest in [
        Duration::from_secs(u64::MAX),
        Duration::from_mins(u64::MAX),
        Duration::from_hours(u64::MAX),
        Duration::from_days(u64::MAX),
        Duration::from(std::time::Duration::MAX),
    ] {
        assert_eq!(longest, Duration::MAX);
    }
}

#[test]
fn converts_to_and_from_std_dropping_below_a_millisecond() {
    let length = Duration::from_millis(1500);
    assert_eq!(std::time::Duration::from(length), std::time::Duration::from_millis(1500));
    assert_eq!(Duration::from(std::time::Duration::from_micros(1_500_999)), length);
}

proptest! {
    #[test]
    fn what_is_displayed_parses_back(millis: u64, unit in 0_u32..5) {
        let unit = [1, 1_000, 60_000, 3_600_000, 86_400_000][unit as usize];
        let length = Duration::from_millis(millis / unit * unit);
        prop_assert_eq!(length.to_string().parse(), Ok(length));
        let json = serde_json::to_string(&length).unwrap();
        prop_assert_eq!(&json, &format!("\"{length}\""));
        prop_assert_eq!(serde_json::from_str::<Duration>(&json).unwrap(), length);
    }
}
