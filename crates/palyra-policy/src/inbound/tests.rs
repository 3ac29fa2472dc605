use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Routed(RouteReason::Mentioned)),
        Just(Event::Ignored(RouteReason::Empty)),
        Just(Event::Undecided),
        Just(Event::Redelivered),
    ]
}

proptest! {
    #[test]
    fn what_is_decided_stays_decided_and_the_rest_is_tried_again(
        events in prop::collection::vec((events(), any::<u64>()), 0..20),
    ) {
        let mut received = Received::new(NOW);
        for (event, chance) in events {
            let before = received;
            if let Some(next) = step(&before, event, Backoff::default(), NOW, Chance(chance)) {
                prop_assert_eq!(before.state, InboundState::Received);
                received = next;
            }
            prop_assert!(received.failures >= before.failures);
            let open = received.state == InboundState::Received;
            prop_assert_eq!(received.due_at.is_some(), open);
            prop_assert_eq!(received.reason.is_none(), open);
        }
    }
}

#[test]
fn redelivery_changes_nothing() {
    let received = Received::new(NOW);
    assert_eq!(step(&received, Event::Redelivered, Backoff::default(), NOW, Chance(1)), None);
}
