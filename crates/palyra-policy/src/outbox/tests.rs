use palyra_common::queue::Backoff;
use palyra_common::runtime_contracts::{OutboxState, RetryClass, UnknownRule};
use palyra_common::time::{Duration, Timestamp};
use proptest::prelude::*;

use super::*;

mod lanes;

const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000_000);

const RULES: Rules = Rules {
    max_attempts: 3,
    backoff: Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) },
    expires_after: Duration::from_hours(24),
    repeat: Repeat::Never,
    max_looks: 2,
    look_after: Duration::from_secs(5),
    on_unknown: UnknownRule::Ask,
};

const fn at(now: Timestamp) -> Moment {
    Moment { now, connector: now }
}

fn later(length: Duration) -> Moment {
    at(NOW + length)
}

fn entry() -> Entry {
    Entry::pending(&RULES, at(NOW))
}

/// What becomes of an entry through events that all happen at `moment`.
fn after_at(start: Entry, rules: &Rules, moment: Moment, events: &[Event]) -> Entry {
    events.iter().fold(start, |entry, event| {
        match step(&entry, *event, rules, moment, Chance(u64::MAX)) {
            Step::Changed(change) => change.entry,
            Step::Unchanged(why) => panic!("{event:?} changes nothing in {entry:?}: {why:?}"),
        }
    })
}

fn after(rules: &Rules, events: &[Event]) -> Entry {
    after_at(entry(), rules, at(NOW), events)
}

fn retry(class: RetryClass, after: Option<Duration>) -> Event {
    Event::Outcome(Outcome::Retry { class, after })
}

const FAILED: Event =
    Event::Outcome(Outcome::Retry { class: RetryClass::TransientNetwork, after: None });

#[test]
fn an_attempt_is_written_down_before_it_is_made() {
    let sending = after(&RULES, &[Event::Turn]);
    assert_eq!(sending.state, OutboxState::Sending);
    assert_eq!((sending.attempts, sending.first_attempt_at), (0, Some(NOW)));
    let delivered = after(&RULES, &[Event::Turn, Event::Outcome(Outcome::Delivered)]);
    assert_eq!((delivered.state, delivered.attempts), (OutboxState::Delivered, 1));
}

#[test]
fn a_failure_waits_longer_each_time_and_the_last_one_kills() {
    let mut entry = entry();
    let mut now = NOW;
    for secs in [1, 2] {
        entry = after_at(entry, &RULES, at(now), &[Event::Turn, FAILED]);
        assert_eq!(entry.due_at, Some(now + Duration::from_secs(secs)));
        now = now + Duration::from_secs(secs);
    }
    entry = after_at(entry, &RULES, at(now), &[Event::Turn]);
    let Step::Changed(died) = step(&entry, FAILED, &RULES, at(now), Chance(0)) else {
        panic!("it lives")
    };
    assert_eq!((died.entry.state, died.entry.attempts), (OutboxState::Dead, 3));
    assert_eq!((died.place, died.death), (Place::Leaves, Some(Death::AttemptsExhausted)));
}

#[test]
fn the_platform_is_obeyed_to_the_millisecond() {
    let asked = Duration::from_millis(90_001);
    for class in [RetryClass::RateLimit, RetryClass::TransientNetwork] {
        let waits = after(&RULES, &[Event::Turn, retry(class, Some(asked))]);
        assert_eq!((waits.due_at, waits.attempts), (Some(NOW + asked), 0));
    }
    let until = NOW + asked;
    assert_eq!(after(&RULES, &[Event::NotAdmitted { until }]).due_at, Some(until));
}

/// Otherwise it would be tried again and again without a pause, and without an end.
#[test]
fn a_wait_of_no_time_is_none_that_the_platform_asked_for() {
    let nothing = Some(Duration::ZERO);
    for class in [RetryClass::RateLimit, RetryClass::ConnectorRestarting] {
        let waits = after(&RULES, &[Event::Turn, retry(class, nothing)]);
        assert_eq!((waits.due_at, waits.attempts), (Some(NOW + RULES.backoff.base), 0));
    }
    let failed = after(&RULES, &[Event::Turn, retry(RetryClass::TransientNetwork, nothing)]);
    assert_eq!(failed, after(&RULES, &[Event::Turn, FAILED]));
}

#[test]
fn a_rate_limit_longer_than_all_tries_kills_nothing() {
    let hold = retry(RetryClass::RateLimit, Some(Duration::from_mins(1)));
    let (mut entry, mut now) = (entry(), NOW);
    for _ in 0..100 {
        entry = after_at(entry, &RULES, at(now), &[Event::Turn, hold]);
        now = now + Duration::from_mins(1);
    }
    assert_eq!((entry.state, entry.attempts), (OutboxState::Pending, 0));
}

#[test]
fn a_refused_credential_burns_nothing() {
    let kept = after(&RULES, &[Event::Turn, Event::Outcome(Outcome::AuthFailed)]);
    assert_eq!((kept.state, kept.attempts, kept.due_at), (OutboxState::Pending, 0, Some(NOW)));
}

#[test]
fn what_waited_for_too_long_is_not_sent() {
    let day = later(RULES.expires_after);
    let Step::Changed(died) = step(&entry(), Event::Turn, &RULES, day, Chance(0)) else {
        panic!("it lives")
    };
    assert_eq!((died.entry.state, died.death), (OutboxState::Dead, Some(Death::Expired)));
    // A wait that would end later ends then: those behind it are not held up for longer.
    let until = NOW + Duration::from_days(3);
    let waits = after(&RULES, &[Event::NotAdmitted { until }]);
    assert_eq!(waits.due_at, Some(day.now));
    // And then it is given up, however long the platform asks to wait.
    let held = after_at(waits, &RULES, day, &[Event::NotAdmitted { until }]);
    assert_eq!(held.state, OutboxState::Dead);
}

#[test]
fn the_clock_of_a_stopped_connector_stands_still() {
    let hours = Duration::from_hours;
    // Stopped for 30 hours of the 50 that have passed.
    let now = NOW + hours(50);
    let connector = connector_time(now, Some(NOW + hours(30)), hours(10));
    assert_eq!(connector, NOW + hours(20));
    let moment = Moment { now, connector };
    assert_eq!(after_at(entry(), &RULES, moment, &[Event::Turn]).state, OutboxState::Sending);
    let until = now + hours(9);
    let waits = after_at(entry(), &RULES, moment, &[Event::NotAdmitted { until }]);
    assert_eq!(waits.due_at, Some(now + hours(4)));
}

#[test]
fn in_doubt_it_is_sent_again_only_where_the_platform_throws_the_second_away() {
    let unclear = [Event::Turn, Event::Outcome(Outcome::Unknown)];
    let abandoned = [Event::Turn, Event::Abandoned];
    for events in [unclear, abandoned] {
        let unknown = after(&RULES, &events);
        assert_eq!((unknown.state, unknown.attempts), (OutboxState::Unknown, 1));
        assert_eq!(unknown.due_at, Some(NOW + RULES.look_after));
        for repeat in [Repeat::Always, Repeat::Within(Duration::from_mins(1))] {
            let pending = after(&Rules { repeat, ..RULES }, &events);
            assert_eq!((pending.state, pending.attempts), (OutboxState::Pending, 1));
        }
    }
}

#[test]
fn beyond_the_window_or_a_clock_that_went_back_nothing_is_sent_again() {
    let rules = Rules { repeat: Repeat::Within(Duration::from_mins(1)), ..RULES };
    let doubtful = after(&rules, &[Event::Turn, Event::Abandoned]);
    let within = later(Duration::from_secs(59));
    assert_eq!(after_at(doubtful, &rules, within, &[Event::Turn]).state, OutboxState::Sending);
    let beyond = later(Duration::from_mins(1));
    assert_eq!(after_at(doubtful, &rules, beyond, &[Event::Turn]).state, OutboxState::Unknown);
    let back = at(NOW - Duration::from_secs(1));
    let doubtful = Entry { due_at: Some(back.now), ..doubtful };
    assert_eq!(after_at(doubtful, &rules, back, &[Event::Turn]).state, OutboxState::Unknown);
}

#[test]
fn an_entry_in_doubt_never_counts_as_dead() {
    let rules = Rules { repeat: Repeat::Within(Duration::from_days(2)), ..RULES };
    let doubtful = after(&rules, &[Event::Turn, Event::Outcome(Outcome::Unknown)]);
    let due = at(doubtful.due_at.unwrap());
    let refused = [Event::Turn, Event::Outcome(Outcome::Rejected)];
    assert_eq!(after_at(doubtful, &rules, due, &refused).state, OutboxState::Unknown);
    let old = later(RULES.expires_after);
    assert_eq!(after_at(doubtful, &rules, old, &[Event::Turn]).state, OutboxState::Unknown);
}

#[test]
fn what_became_of_it_is_asked_a_few_times_and_then_a_human() {
    let unknown = after(&RULES, &[Event::Turn, Event::Abandoned]);
    let still = Event::Reconciled(Reconciled::StillUnknown);
    let asked = after_at(unknown, &RULES, at(NOW), &[still]);
    assert_eq!(asked.due_at, Some(NOW + RULES.look_after));
    let Step::Changed(aside) = step(&asked, still, &RULES, at(NOW), Chance(0)) else {
        panic!("asked for ever")
    };
    assert_eq!((aside.place, aside.entry.due_at), (Place::Aside, None));
    assert_eq!(next(&aside.entry, at(NOW)), Next::Wait);
    let again = after_at(aside.entry, &RULES, at(NOW), &[Event::Resolved(Resolution::Resend)]);
    assert_eq!((again.state, again.doubtful), (OutboxState::Pending, false));
    assert_eq!((again.attempts, again.attempt_limit), (1, 1 + RULES.max_attempts));
    let there = Event::Resolved(Resolution::MarkDelivered);
    let there = after_at(aside.entry, &RULES, at(NOW), &[there]);
    assert_eq!(there.state, OutboxState::Delivered);
}

#[test]
fn the_operator_can_choose_what_becomes_of_the_unknown() {
    let still = Event::Reconciled(Reconciled::StillUnknown);
    let fate = |on_unknown| {
        let rules = Rules { on_unknown, max_looks: 1, ..RULES };
        after(&rules, &[Event::Turn, Event::Abandoned, still]).state
    };
    assert_eq!(
        UnknownRule::ALL.iter().copied().map(fate).collect::<Vec<_>>(),
        [OutboxState::Unknown, OutboxState::Pending, OutboxState::Cancelled]
    );
    // Also a platform that never tells is not asked for ever.
    let rules = Rules { on_unknown: UnknownRule::Resend, max_looks: 1, ..RULES };
    let round = [Event::Turn, Event::Abandoned, still];
    let all = [round, round, round].concat();
    assert_eq!(after(&rules, &all).state, OutboxState::Unknown);
}

#[test]
fn what_was_not_delivered_is_sent_again_in_its_place() {
    let not = Event::Reconciled(Reconciled::NotDelivered);
    let again = after(&RULES, &[Event::Turn, Event::Abandoned, not]);
    assert_eq!(
        (again.state, again.doubtful, again.due_at),
        (OutboxState::Pending, false, Some(NOW))
    );
    let round = [Event::Turn, Event::Abandoned, not];
    let all = [round, round, round].concat();
    assert_eq!(after(&RULES, &all).state, OutboxState::Dead);
}

#[test]
fn a_dead_letter_is_replayed_with_new_tries_or_closed() {
    let dead = after(&RULES, &[Event::Turn, Event::Outcome(Outcome::Rejected)]);
    let tomorrow = later(Duration::from_hours(48));
    let replayed = after_at(dead, &RULES, tomorrow, &[Event::Replayed]);
    assert_eq!((replayed.state, replayed.attempts), (OutboxState::Pending, 1));
    assert_eq!(replayed.attempt_limit, 1 + RULES.max_attempts);
    assert_eq!(replayed.expires_at, Some(tomorrow.now + RULES.expires_after));
    assert_eq!(after_at(dead, &RULES, tomorrow, &[Event::Discarded]).state, OutboxState::Cancelled);
}

#[test]
fn a_held_entry_waits_without_growing_old() {
    let held = Entry::held(&RULES);
    assert_eq!(next(&held, at(NOW)), Next::Wait);
    let week = later(Duration::from_days(7));
    let released = after_at(held, &RULES, week, &[Event::Approved, Event::Turn]);
    assert_eq!(released.state, OutboxState::Sending);
    assert_eq!(after_at(held, &RULES, week, &[Event::Cancelled]).state, OutboxState::Cancelled);
}

#[test]
fn what_takes_its_place_again_is_as_young_as_new_and_its_tries_stay_counted() {
    let tried = after(&RULES, &[Event::Turn, FAILED]);
    let week = later(Duration::from_days(7));
    let back = returned(tried, &RULES, week);
    assert_eq!(back, Entry { expires_at: Some(week.now + RULES.expires_after), ..tried });
    assert_eq!(after_at(back, &RULES, week, &[Event::Turn]).state, OutboxState::Sending);
}
