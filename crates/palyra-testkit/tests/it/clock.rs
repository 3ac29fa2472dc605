use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_testkit::clock::FakeClock;

#[test]
fn the_clock_moves_only_when_told_and_all_its_clones_together() {
    let at = Timestamp::from_unix_millis;
    let clock = FakeClock::new(at(1000));
    let port: Box<dyn Clock> = Box::new(clock.clone());
    assert_eq!(port.now(), at(1000));
    assert_eq!(clock.advance(Duration::from_secs(2)), at(3000));
    assert_eq!(port.now(), at(3000));
    clock.set(at(-5));
    assert_eq!(port.now(), at(-5));
}
