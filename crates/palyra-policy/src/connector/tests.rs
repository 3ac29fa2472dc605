use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);
const RULES: Rules = Rules {
    backoff: Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) },
    stable_after: Duration::from_mins(10),
};

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Enabled),
        Just(Event::Disabled),
        Just(Event::Changed),
        Just(Event::Lacks(ConnectorReadiness::AuthFailed)),
        Just(Event::Due),
        Just(Event::Connected),
        Just(Event::Reconnecting),
        Just(Event::Ended(Ended::AsAsked)),
        Just(Event::Ended(Ended::Crashed)),
        Just(Event::Ended(Ended::AuthFailed)),
        Just(Event::Ended(Ended::MissingCredential)),
        Just(Event::Ended(Ended::Misconfigured)),
    ]
}

fn after(events: &[Event]) -> (Connector, Action) {
    let start = (Connector::new(Wanted::On), Action::Nothing);
    events.iter().fold(start, |(is, _), event| step(&is, *event, &RULES, NOW, Chance(u64::MAX)))
}

proptest! {
    /// What the supervisor would do: at most one task, and it always knows what to wait for.
    #[test]
    fn there_is_never_a_second_task_and_none_is_forgotten(
        events in prop::collection::vec((events(), any::<u64>(), 0..600_000_u64), 0..60),
    ) {
        let (mut is, mut task, mut now) = (Connector::new(Wanted::Off), false, NOW);
        for (event, chance, passes) in events {
            now = now + Duration::from_millis(passes);
            // Only a task that is there can report or end.
            let from_task =
                matches!(event, Event::Connected | Event::Reconnecting | Event::Ended(_));
            if from_task && !task {
                continue;
            }
            task &= !matches!(event, Event::Ended(_));
            let (next, action) = step(&is, event, &RULES, now, Chance(chance));
            match action {
                Action::Start => {
                    prop_assert!(!task, "started twice");
                    task = true;
                }
                Action::Stop => prop_assert!(task, "stopped what does not run"),
                Action::Nothing => {}
            }
            is = next;
            let waits_for_human = is.readiness != ConnectorReadiness::Ready;
            let forgotten = is.wanted == Wanted::On && !task && is.start_at.is_none();
            prop_assert!(!forgotten || waits_for_human, "nobody will start it: {is:?}");
            prop_assert!(is.wanted == Wanted::On || is.start_at.is_none());
        }
    }
}

#[test]
fn a_crash_is_followed_by_longer_and_longer_waits() {
    let mut is = after(&[Event::Enabled]).0;
    for secs in [1, 2, 4, 8] {
        is = step(&is, Event::Ended(Ended::Crashed), &RULES, NOW, Chance(u64::MAX)).0;
        assert_eq!(is.liveness, ConnectorLiveness::Crashed);
        assert_eq!(is.start_at, Some(NOW + Duration::from_secs(secs)));
        let due = NOW + Duration::from_secs(secs);
        let (next, action) = step(&is, Event::Due, &RULES, due, Chance(0));
        assert_eq!(action, Action::Start);
        is = next;
    }
}

#[test]
fn one_that_held_for_long_is_forgiven() {
    let crashed = [Event::Ended(Ended::Crashed), Event::Enabled];
    let mut is = after(&[&crashed[..], &crashed[..], &[Event::Connected]].concat()).0;
    is.crashes = 7;
    let later = NOW + RULES.stable_after;
    let is = step(&is, Event::Ended(Ended::Crashed), &RULES, later, Chance(u64::MAX)).0;
    assert_eq!((is.crashes, is.start_at), (1, Some(later + Duration::from_secs(1))));
}

#[test]
fn a_refused_credential_waits_for_a_new_one() {
    let (is, _) = after(&[Event::Enabled, Event::Ended(Ended::AuthFailed)]);
    assert_eq!((is.readiness, is.start_at), (ConnectorReadiness::AuthFailed, None));
    assert_eq!(step(&is, Event::Due, &RULES, NOW, Chance(0)), (is, Action::Nothing));
    let (is, action) = step(&is, Event::Changed, &RULES, NOW, Chance(0));
    assert_eq!((is.readiness, action), (ConnectorReadiness::Ready, Action::Start));
}

#[test]
fn what_is_known_to_be_lacking_is_not_tried() {
    let lacks = Event::Lacks(ConnectorReadiness::AuthFailed);
    // When it is first heard of, and when it waits to be started again.
    for before in [&[][..], &[Event::Enabled, Event::Ended(Ended::Crashed)]] {
        let (is, action) = after(&[before, &[lacks]].concat());
        assert_eq!((is.start_at, action), (None, Action::Nothing));
        assert_eq!(step(&is, Event::Changed, &RULES, NOW, Chance(0)).1, Action::Start);
    }
}

#[test]
fn a_change_of_settings_restarts_a_running_one_at_once() {
    let (is, action) = after(&[Event::Enabled, Event::Connected, Event::Changed]);
    assert_eq!(action, Action::Stop);
    let (is, _) = step(&is, Event::Ended(Ended::AsAsked), &RULES, NOW, Chance(0));
    assert_eq!(step(&is, Event::Due, &RULES, NOW, Chance(0)).1, Action::Start);
}
