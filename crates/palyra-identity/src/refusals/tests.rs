use palyra_common::time::{Duration, Timestamp};

use super::{Counter, Counters, Refusal};

#[test]
fn each_kind_has_its_own_count() {
    let counters = Counters::default();
    for (n, refusal) in Refusal::ALL.into_iter().enumerate() {
        for _ in 0..=n {
            counters.note(refusal, Timestamp::UNIX_EPOCH);
        }
    }
    let counts = counters.read();
    assert_eq!(counts.iter().map(|(_, count)| count).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(counts.of(Refusal::LinkExpired), 7);
}

#[test]
fn a_flood_is_one_line_a_second() {
    let counter = Counter::default();
    let at =
        |millis| Timestamp::from_unix_millis(1_700_000_000_000) + Duration::from_millis(millis);
    let logged = |millis| counter.may_log(at(millis));
    assert!(logged(5_000));
    assert!(!logged(5_000));
    assert!(!logged(5_999));
    assert!(logged(6_000));
    assert!(logged(100), "a clock that went back does not silence the log");
    assert!(!logged(100));
}
