use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);
const RULES: Rules = Rules {
    failures: 3,
    pause: Backoff { base: Duration::from_secs(10), cap: Duration::from_mins(5) },
    patience: Duration::from_mins(10),
};

fn at(secs: u64) -> Timestamp {
    NOW + Duration::from_secs(secs)
}

fn after(is: Breaker, outcomes: &[Outcome]) -> Breaker {
    outcomes.iter().fold(is, |is, outcome| settle(is, *outcome, &RULES, NOW))
}

#[test]
fn only_failures_in_a_row_count() {
    use Outcome::{Answered, Failed};
    let closed = after(Breaker::default(), &[Failed, Failed, Answered, Failed, Failed]);
    assert_eq!(closed, Breaker::Closed { failures: 2 });
    assert_eq!(ask(closed, &RULES, NOW), (closed, Verdict::Go));
    let open = after(closed, &[Failed]);
    assert_eq!(ask(open, &RULES, at(3)), (open, Verdict::Wait(Duration::from_secs(7))));
}

#[test]
fn after_the_pause_one_call_tries_for_all() {
    let open = after(Breaker::default(), &[Outcome::Failed; 3]);
    let (trying, verdict) = ask(open, &RULES, at(10));
    assert_eq!(verdict, Verdict::Go);
    assert_eq!(ask(trying, &RULES, at(11)).1, Verdict::Wait(Duration::from_secs(10)));
    assert_eq!(settle(trying, Outcome::Answered, &RULES, at(12)), Breaker::default());
    let again = settle(trying, Outcome::Failed, &RULES, at(12));
    assert_eq!(ask(again, &RULES, at(12)).1, Verdict::Wait(Duration::from_secs(20)));
}

#[test]
fn a_try_that_is_given_up_leaves_its_place() {
    let open = after(Breaker::default(), &[Outcome::Failed; 3]);
    let (trying, _) = ask(open, &RULES, at(10));
    let left = settle(trying, Outcome::Abandoned, &RULES, at(11));
    assert_eq!(ask(left, &RULES, at(11)).1, Verdict::Go);
    // Also where nobody said so.
    assert_eq!(ask(trying, &RULES, at(610)).1, Verdict::Go);
}

#[test]
fn who_asks_for_time_is_given_it_up_to_a_limit() {
    let limited = |secs| Outcome::Limited(Duration::from_secs(secs));
    let is = after(Breaker::default(), &[limited(30), limited(5)]);
    assert_eq!(ask(is, &RULES, at(1)).1, Verdict::Wait(Duration::from_secs(29)));
    assert_eq!(ask(is, &RULES, at(30)).1, Verdict::Go);
    let is = after(is, &[limited(1 << 40)]);
    assert_eq!(ask(is, &RULES, NOW).1, Verdict::Wait(LONGEST));
}

#[test]
fn a_clock_that_is_put_back_holds_nobody_up() {
    let open = after(Breaker::default(), &[Outcome::Failed; 3]);
    assert_eq!(ask(open, &RULES, NOW - Duration::from_secs(1)).1, Verdict::Go);
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Answered),
        Just(Outcome::Failed),
        any::<u64>().prop_map(|millis| Outcome::Limited(Duration::from_millis(millis))),
        Just(Outcome::Abandoned),
    ]
}

proptest! {
    /// Whatever happens, nobody waits for longer than the limit, a wait that was told is enough, and
    /// while one tries nobody else does.
    #[test]
    fn every_wait_ends(
        steps in prop::collection::vec((outcomes(), -5_000..600_000_i64), 0..80),
        failures in 0..5_u32,
    ) {
        let rules = Rules { failures, ..RULES };
        let (mut is, mut now) = (Breaker::default(), NOW);
        for (outcome, passes) in steps {
            now = Timestamp::from_unix_millis(now.as_unix_millis() + passes);
            let (next, verdict) = ask(is, &rules, now);
            match (verdict, next) {
                (Verdict::Go, Breaker::Trying { .. }) => {
                    prop_assert!(ask(next, &rules, now).1 != Verdict::Go, "two try at once");
                    is = settle(next, outcome, &rules, now);
                }
                (Verdict::Go, _) => is = settle(next, outcome, &rules, now),
                (Verdict::Wait(wait), _) => {
                    prop_assert!(wait > Duration::ZERO && wait <= LONGEST, "{wait}");
                    prop_assert_eq!(next, is);
                    if let Breaker::Open { .. } = is {
                        prop_assert_eq!(ask(is, &rules, now + wait).1, Verdict::Go);
                    }
                    // Late news of a call that was under way.
                    is = settle(is, outcome, &rules, now);
                }
            }
            let (settled, verdict) = ask(is, &rules, now + LONGEST);
            prop_assert!(verdict == Verdict::Go, "{settled:?}");
        }
    }
}
