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

fn happening() -> impl Strategy<Value = Happening> {
    (events(), any::<u64>(), 0..90_000_u64)
}

fn happenings(count: usize) -> impl Strategy<Value = Vec<Happening>> {
    prop::collection::vec(happening(), 0..count)
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

    /// Whatever happens to whichever entry: one at a time is sent, and only what has waited for a
    /// human goes out behind what came after it.
    #[test]
    fn one_is_sent_at_a_time_and_in_order(
        rules in rules(), happenings in prop::collection::vec((happening(), prop::option::of(0..5_usize)), 0..400),
    ) {
        let mut lane = Lane::of(5);
        for ((event, chance, passes), which) in happenings {
            lane.now = lane.now + Duration::from_millis(passes);
            // Mostly to the first, or most would come to nothing.
            let Some(which) = which.or_else(|| lane.first()) else { continue };
            let Some(change) = lane.happens(which, event, &rules, Chance(chance)) else { continue };
            let sending = lane.sending().collect::<Vec<_>>();
            prop_assert!(sending.len() <= 1, "{:?}", sending);
            prop_assert!(sending.iter().all(|standing| !standing.aside), "{:?}", sending);
            let state = change.entry.state;
            prop_assert_eq!(change.place == Place::Aside, state == OutboxState::Unknown
                && change.entry.due_at.is_none());
            let ended = [OutboxState::Dead, OutboxState::Delivered, OutboxState::Cancelled];
            prop_assert_eq!(change.place == Place::Leaves, ended.contains(&state));
            prop_assert!(lane.arrived.is_sorted_by(|one, next| one < next), "{:?}", lane.arrived);
        }
    }
}

/// An entry and its place.
#[derive(Debug, Clone, Copy)]
struct Standing {
    /// Its first place.
    number: u32,
    seq: u32,
    aside: bool,
    /// Whether it has left its place, to wait for a human or because one said so.
    detained: bool,
    entry: Entry,
}

impl Standing {
    fn new(seq: u32, now: Timestamp) -> Self {
        let entry = Entry::pending(&RULES, at(now));
        Self { number: seq, seq, aside: false, detained: false, entry }
    }
}

/// A conversation as storage keeps it.
#[derive(Debug)]
struct Lane {
    entries: Vec<Standing>,
    next_seq: u32,
    now: Timestamp,
    /// Those that were never detained, in the order of their arrival.
    arrived: Vec<u32>,
}

impl Lane {
    fn of(count: u32) -> Self {
        let entries = (0..count).map(|seq| Standing::new(seq, NOW)).collect();
        Self { entries, next_seq: count, now: NOW, arrived: Vec::new() }
    }

    fn next_seq(&mut self) -> u32 {
        self.next_seq += 1;
        self.next_seq - 1
    }

    fn sending(&self) -> impl Iterator<Item = &Standing> {
        self.entries.iter().filter(|standing| standing.entry.state == OutboxState::Sending)
    }

    /// The first in the lane; or another that is being sent, as when the first has come back from
    /// aside meanwhile: then it waits for that one.
    fn first(&self) -> Option<usize> {
        let is_sending = |standing: &Standing| standing.entry.state == OutboxState::Sending;
        let in_lane = self.entries.iter().enumerate().filter(|(_, standing)| !standing.aside);
        let first = in_lane.min_by_key(|(_, standing)| (!is_sending(standing), standing.seq));
        first.map(|(which, _)| which)
    }

    fn happens(
        &mut self,
        which: usize,
        event: Event,
        rules: &Rules,
        chance: Chance,
    ) -> Option<Change> {
        let was = *self.entries.get(which)?;
        if event == Event::Turn && self.first() != Some(which) {
            return None;
        }
        let Step::Changed(change) = step(&was.entry, event, rules, at(self.now), chance) else {
            return None;
        };
        let (aside, seq) = match change.place {
            Place::Keeps => (false, was.seq),
            Place::Aside | Place::Leaves => (true, was.seq),
            Place::Tail => (false, self.next_seq()),
        };
        let arrives = change.entry.state == OutboxState::Delivered;
        if arrives && !was.detained {
            self.arrived.push(was.number);
        }
        let detained = was.detained || aside || change.place == Place::Tail;
        self.entries[which] = match change.entry.state {
            // In the place of one that has ended another is enqueued.
            OutboxState::Delivered | OutboxState::Cancelled => {
                Standing::new(self.next_seq(), self.now)
            }
            OutboxState::Held
            | OutboxState::Pending
            | OutboxState::Sending
            | OutboxState::Unknown
            | OutboxState::Dead => Standing { seq, aside, detained, entry: change.entry, ..was },
        };
        Some(change)
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
