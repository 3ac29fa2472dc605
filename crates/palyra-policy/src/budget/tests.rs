use proptest::prelude::*;

use super::*;

fn amounts() -> impl Strategy<Value = Amount> {
    (0..1_000_u64, 0..1_000_u64).prop_map(|(tokens, micros)| Amount { tokens, micros })
}

proptest! {
    /// However reservations and settlements follow each other: what is reserved fits, what was spent
    /// only grows, and nothing stays reserved for what is settled.
    #[test]
    fn nothing_is_reserved_beyond_the_cap(
        calls in prop::collection::vec((amounts(), amounts()), 0..30),
        cap in amounts(),
    ) {
        let cap = Cap { tokens: Some(cap.tokens), micros: Some(cap.micros) };
        let mut account = Account::default();
        for (wanted, used) in calls {
            let Some(reserved) = account.reserve(wanted, &cap) else {
                prop_assert!(!allows(&cap, account.spent.plus(wanted)));
                continue;
            };
            prop_assert!(allows(&cap, reserved.spent.plus(reserved.reserved)));
            let settled = reserved.settle(wanted, used);
            prop_assert_eq!(settled.reserved, account.reserved);
            prop_assert_eq!(settled.spent, account.spent.plus(used));
            account = settled;
        }
    }
}

#[test]
fn what_a_provider_takes_beyond_the_reservation_is_charged_and_stops_the_next() {
    let cap = Cap { tokens: Some(100), micros: None };
    let (ten, most) = (Amount { tokens: 10, micros: 1 }, Amount { tokens: 150, micros: 9 });
    let account = Account::default().reserve(ten, &cap).unwrap().settle(ten, most);
    assert_eq!(account.spent, most);
    assert_eq!(account.reserve(Amount { tokens: 0, micros: 0 }, &cap), None);
}

#[test]
fn without_a_cap_everything_fits() {
    let all = Amount { tokens: u64::MAX, micros: u64::MAX };
    assert!(!Cap::default().is_some());
    assert_eq!(Account::default().reserve(all, &Cap::default()).unwrap().reserved, all);
}
