use proptest::prelude::*;

use super::*;

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![Just(Event::Approve), Just(Event::Deny), Just(Event::Tick), Just(Event::Withdraw)]
}

proptest! {
    #[test]
    fn a_question_is_answered_once_and_not_after_its_time(
        events in prop::collection::vec((events(), 0..20_i64), 0..20),
        expires in 0..20_i64,
    ) {
        let expires_at = Timestamp::from_unix_millis(expires);
        let mut state = ApprovalState::Pending;
        for (event, at) in events {
            let now = Timestamp::from_unix_millis(at);
            match step(state, expires_at, event, now) {
                Ok(next) => {
                    prop_assert_eq!(state, ApprovalState::Pending);
                    prop_assert_ne!(next, ApprovalState::Pending);
                    prop_assert!(next != ApprovalState::Approved || now < expires_at);
                    state = next;
                }
                Err(Why::Decided(was)) => prop_assert_eq!(was, state),
                Err(Why::NotYet) => prop_assert!(event == Event::Tick && now < expires_at),
            }
        }
    }
}
