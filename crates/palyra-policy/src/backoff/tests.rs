use proptest::prelude::*;

use super::*;

const HOUR: Duration = Duration::from_hours(1);

fn backoff() -> Backoff {
    Backoff { base: Duration::from_secs(1), cap: HOUR }
}

#[test]
fn the_bound_doubles_up_to_the_cap() {
    let bounds = [1, 2, 3, 12, 13, 64, 65, u32::MAX].map(|failures| bound(backoff(), failures));
    let secs = |secs| Duration::from_secs(secs);
    assert_eq!(bounds, [secs(1), secs(2), secs(4), secs(2048), HOUR, HOUR, HOUR, HOUR]);
}

#[test]
fn chance_decides_between_no_wait_and_the_whole_bound() {
    assert_eq!(wait(backoff(), 3, Chance(0)), Duration::ZERO);
    assert_eq!(wait(backoff(), 3, Chance(u64::MAX / 2)), Duration::from_secs(2));
    assert_eq!(wait(backoff(), 3, Chance(u64::MAX)), Duration::from_secs(4));
}

proptest! {
    #[test]
    fn no_wait_is_longer_than_its_bound(
        base: u64, cap: u64, failures: u32, chance: u64,
    ) {
        let (base, cap) = (Duration::from_millis(base), Duration::from_millis(cap));
        let backoff = Backoff { base, cap };
        prop_assert!(wait(backoff, failures, Chance(chance)) <= bound(backoff, failures));
        prop_assert!(bound(backoff, failures) <= cap);
    }
}
