use proptest::prelude::*;

use super::*;

const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);
const EVERY: Duration = Duration::from_secs(10);

fn after(seconds: u64) -> Timestamp {
    START + Duration::from_secs(seconds)
}

fn facts(last_ack: Option<u64>) -> ContactFacts {
    let connected_since = Some(START);
    ContactFacts { connected_since, last_ack_at: last_ack.map(after), acks_every: Some(EVERY) }
}

#[test]
fn a_platform_that_stops_to_answer_is_silent_and_said_to_be_since_when() {
    assert_eq!(contact(&facts(Some(100)), after(120)), ConnectorContact::Heard);
    assert_eq!(contact(&facts(Some(100)), after(121)), ConnectorContact::Silent);
    assert_eq!(silent_since(&facts(Some(100)), after(121)), Some(after(100)));
}

#[test]
fn one_that_never_answered_is_silent_from_the_connection_on() {
    assert_eq!(contact(&facts(None), after(20)), ConnectorContact::Heard);
    assert_eq!(silent_since(&facts(None), after(21)), Some(START));
    // An answer on the connection before is none.
    let before = ContactFacts { connected_since: Some(after(50)), ..facts(Some(40)) };
    assert_eq!(contact(&before, after(70)), ConnectorContact::Heard);
    assert_eq!(silent_since(&before, after(71)), Some(after(50)));
}

#[test]
fn where_nothing_is_to_be_answered_a_connection_is_enough() {
    let quiet = ContactFacts { acks_every: None, ..facts(None) };
    assert_eq!(contact(&quiet, after(1_000_000)), ConnectorContact::Heard);
    let none = ContactFacts { connected_since: None, ..facts(Some(0)) };
    assert_eq!(contact(&none, after(1_000_000)), ConnectorContact::None);
}

proptest! {
    /// Time that passes without an answer never makes a silent platform heard.
    #[test]
    fn silence_lasts(ack in proptest::option::of(0_u64..1_000), at in 0_u64..2_000, more in 0_u64..2_000) {
        let (first, later) = (contact(&facts(ack), after(at)), contact(&facts(ack), after(at + more)));
        prop_assert!(first == ConnectorContact::Heard || later == ConnectorContact::Silent);
    }
}
