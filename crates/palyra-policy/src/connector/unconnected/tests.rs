use ConnectorEventKind as Kind;

use super::*;

const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

/// What is said a minute after the start, of what happened at these seconds, the newest first.
#[track_caller]
fn check(last: &[(Kind, u64)], expected: Unconnected) {
    let last: Vec<_> = last.iter().map(|(kind, at)| (*kind, after(*at))).collect();
    assert_eq!(unconnected(&last, START, after(60)), expected, "{last:?}");
}

fn after(seconds: u64) -> Timestamp {
    START + Duration::from_secs(seconds)
}

#[test]
fn whoever_was_just_told_to_run_need_not_be_connected() {
    check(&[(Kind::Added, 50)], Unconnected::Starting);
    check(&[(Kind::Added, 49)], Unconnected::Lost);
    check(&[(Kind::Enabled, 55), (Kind::Disabled, 40), (Kind::Lost, 30)], Unconnected::Starting);
    check(&[(Kind::Started, 55), (Kind::Stopped, 20)], Unconnected::Starting);
    check(&[(Kind::Silent, 56), (Kind::Started, 55), (Kind::Added, 5)], Unconnected::Starting);
}

#[test]
fn what_fails_again_and_again_is_not_about_to_connect() {
    check(&[(Kind::Lost, 59), (Kind::Started, 59), (Kind::Added, 58)], Unconnected::Failing);
    check(&[(Kind::Started, 60), (Kind::Lost, 59)], Unconnected::Failing);
    check(&[(Kind::Started, 60), (Kind::Resumed, 60), (Kind::Lost, 59)], Unconnected::Failing);
}

#[test]
fn what_was_started_long_ago_had_the_time() {
    check(&[(Kind::Started, 20), (Kind::Added, 20)], Unconnected::Lost);
    check(&[(Kind::HeardAgain, 59), (Kind::Silent, 58)], Unconnected::Lost);
    check(&[], Unconnected::Lost);
}

/// Of an earlier life nothing says that it ended.
#[test]
fn a_daemon_that_was_just_started_starts_it() {
    let last = [(Kind::Started, START), (Kind::Stopped, START)];
    assert_eq!(unconnected(&last, after(55), after(60)), Unconnected::Starting);
    assert_eq!(unconnected(&[], after(55), after(60)), Unconnected::Starting);
    assert_eq!(unconnected(&last, after(40), after(60)), Unconnected::Lost);
}
