use std::time::Duration;

use palyra_common::TokenId;
use palyra_common::time::Timestamp;

use super::*;

fn token(n: u128) -> Credential {
    Credential::Token(TokenId::from_parts(Timestamp::UNIX_EPOCH, n))
}

#[test]
fn a_burst_is_twice_the_rate_and_then_the_rate_rules() {
    let (rates, start) = (Rates::new(10), Instant::now());
    let taken = |at| (0..100).filter(|_| rates.take(token(1), at)).count();
    assert_eq!(taken(start), 20);
    assert_eq!(taken(start + Duration::from_millis(500)), 5);
    assert_eq!(taken(start + Duration::from_secs(60)), 20);
}

#[test]
fn one_credential_does_not_use_up_the_rate_of_another() {
    let (rates, now) = (Rates::new(1), Instant::now());
    assert!(rates.take(token(1), now) && rates.take(token(1), now) && !rates.take(token(1), now));
    assert!(rates.take(token(2), now));
}

#[test]
fn what_is_remembered_is_bounded() {
    let (rates, now) = (Rates::new(1), Instant::now());
    for n in 0..3 * REMEMBERED as u128 {
        rates.take(token(n), now);
    }
    assert!(rates.buckets.lock().unwrap().len() <= REMEMBERED);
}
