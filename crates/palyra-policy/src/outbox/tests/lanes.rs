//! Whatever happens, in whatever order.

use super::*;

fn retry_classes() -> impl Strategy<Value = Event> {
    let after = prop::option::of(0..600_000_u64);
    (prop::sample::select(RetryClass::ALL), after)
        .prop_map(|(class, after)| retry(class, after.map(Duration::from_millis)))
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Turn),
        2 => Just(Event::Outcome(Outcome::Unknown)),
        1 => Just(Event::Outcome(Outcome::Delivered)),
        1 => Just(Event::Outcome(Outcome::Rejected)),
        1 => Just(Event::Outcome(Outcome::AuthFailed)),
        3 => retry_classes(),
        1 => (0..600_000_u64)
            .prop_map(|wait| Event::NotAdmitted { until: NOW + Duration::from_millis(wait) }),
        1 => Just(Event::Abandoned),
        1 => Just(Event::Reconciled(Reconciled::Delivered)),
        1 => Just(Event::Reconciled(Reconciled::NotDelivered)),
        2 => Just(Event::Reconciled(Reconciled::StillUnknown)),
        1 => Just(Event::Resolved(Resolution::Resend)),
        1 => Just(Event::Resolved(Resolution::MarkDelivered)),
        1 => Just(Event::Approved),
        1 => Just(Event::Cancelled),
        1 => Just(Event::EarlierPartFailed),
        1 => Just(Event::Replayed),
        1 => Just(Event::Discarded),
    ]
}

fn rules() -> impl Strategy<Value = Rules> {
    let window = Duration::from_mins(1);
    let repeat = vec![Repeat::Never, Repeat::Within(window), Repeat::Always];
    (prop::sample::select(repeat), prop::sample::select(UnknownRule::ALL))
        .prop_map(|(repeat, on_unknown)| Rules { repeat, on_unknown, ..RULES })
}

type Happening = (Event, u64, u64);

fn happenings(count: usize) -> impl Strategy<Value = Vec<Happening>> {
    prop::collection::vec((events(), any::<u64>(), 0..90_000_u64), 0..count)
}

proptest! {
    #[test]
    fn the_end_is_the_end_and_nothing_is_uncounted(
        rules in rules(), held: bool, happenings in happenings(80),
    ) {
        let mut now = NOW;
        let mut entry = if held { Entry::held(&rules) } else { Entry::pending(&rules, at(NOW)) };
        for (event, chance, passes) in happenings {
            now = now + Duration::from_millis(passes);
            let Step::Changed(change) = step(&entry, event, &rules, at(now), Chance(chance)) else {
                continue;
            };
            let (is, was) = (change.entry, entry);
            prop_assert!(!matches!(was.state, OutboxState::Delivered | OutboxState::Cancelled));
            prop_assert!(is.attempts >= was.attempts && is.attempt_limit >= was.attempt_limit);
            prop_assert!(is.attempts <= is.attempt_limit);
            if let Event::Outcome(Outcome::Retry { class: RetryClass::RateLimit, .. })
                | Event::NotAdmitted { .. } = event
            {
                prop_assert_eq!(is.attempts, was.attempts);
                prop_assert_eq!(is.state, OutboxState::Pending);
            }
            // Only what a human sends on its way goes behind the others.
            let by_human = matches!(
                event,
                Event::Approved | Event::Replayed | Event::Resolved(Resolution::Resend)
            );
            prop_assert_eq!(change.place == Place::Tail, by_human);
            prop_assert_eq!(change.death.is_some(), is.state == OutboxState::Dead);
            prop_assert!(!(is.state == OutboxState::Dead && is.doubtful));
            // An attempt begins only if no earlier one can make it a second copy.
            if is.state == OutboxState::Sending && was.doubtful {
                prop_assert!(rules.repeat != Repeat::Never);
            }
            let waits = matches!(is.state, OutboxState::Pending);
            prop_assert!(!waits || is.due_at.is_some(), "nobody will look at it: {:?}", is);
            entry = is;
        }
    }

    /// A lane as storage keeps it: the first that has not stepped aside is worked on, and nothing
    /// behind it before it has left or stepped aside.
    #[test]
    fn what_keeps_its_place_arrives_in_order(
        rules in rules(), happenings in happenings(300),
    ) {
        let mut now = NOW;
        let first: Vec<_> = (0..12_u32).map(|seq| (seq, entry())).collect();
        let (mut lane, mut arrived) = (first, Vec::new());
        let mut tail = 12;
        for (event, chance, passes) in happenings {
            now = now + Duration::from_millis(passes);
            let Some((seq, head)) = lane.first().copied() else { break };
            let Step::Changed(change) = step(&head, event, &rules, at(now), Chance(chance)) else {
                continue;
            };
            match change.place {
                Place::Keeps => lane[0].1 = change.entry,
                Place::Aside | Place::Leaves => drop(lane.remove(0)),
                Place::Tail => {
                    lane.remove(0);
                    lane.push((tail, change.entry));
                    tail += 1;
                }
            }
            if change.entry.state == OutboxState::Delivered {
                arrived.push(seq);
            }
        }
        prop_assert!(arrived.is_sorted(), "{:?}", arrived);
    }
}

#[test]
fn parts_wait_for_the_part_before_them_and_share_its_fate() {
    let told = |aside| {
        let states = OutboxState::ALL.iter();
        states.map(|&state| after_earlier(Earlier { state, aside })).collect::<Vec<_>>()
    };
    use Follow::{Fail, Go, StepAside, Wait};
    // held, pending, sending, delivered, unknown, dead, cancelled
    assert_eq!(told(false), [StepAside, Wait, Wait, Go, Wait, Fail, Fail]);
    assert_eq!(told(true), [StepAside, StepAside, StepAside, Go, StepAside, Fail, Fail]);
}
