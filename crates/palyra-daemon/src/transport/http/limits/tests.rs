use std::time::Duration;

use palyra_common::runtime_contracts::Role;
use palyra_common::time::Timestamp;
use palyra_common::{Principal, TokenId};
use palyra_identity::role_scopes;

use super::*;

fn token(n: u128) -> Credential {
    Credential::Token(TokenId::from_parts(Timestamp::UNIX_EPOCH, n))
}

fn access(credential: Credential) -> Access {
    let (principal, role) = (Principal::owner(), Role::Owner);
    Access { principal, role, scopes: role_scopes(role), credential, expires_at: None }
}

#[test]
fn a_rate_is_for_credentials_and_not_for_the_local_owner() {
    let asked = |rates: &Rates, credential| {
        let access = access(credential);
        // More than the bucket gains meanwhile, however slow this is.
        (0..10_000).find_map(|_| rates.admit(&access).err())
    };
    let refused = asked(&Rates::new(1), token(1)).unwrap();
    assert_eq!(refused.envelope().code(), "http/busy");
    assert!(asked(&Rates::new(1), Credential::LocalOwner).is_none(), "they must get in");
    assert!(asked(&Rates::new(0), token(1)).is_none(), "0 is any number");
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

#[test]
fn a_minute_has_so_many_for_each_and_remembers_not_everybody() {
    let (minute, start) = (PerMinute::new(3, "things"), Timestamp::from_unix_millis(1_000_000));
    let taken = |credential, at| (0..9).filter(|_| minute.admit(credential, at).is_ok()).count();
    assert_eq!(taken(token(1), start), 3);
    assert_eq!(taken(Credential::LocalOwner, start), 3, "also of the owner");
    assert_eq!(taken(token(1), start + palyra_common::time::Duration::from_millis(59_999)), 0);
    assert_eq!(taken(token(1), start + MINUTE), 3);
    // A clock that was set back keeps nobody out.
    assert_eq!(taken(token(1), start), 3);
    for n in 0..REMEMBERED as u128 + 10 {
        taken(token(n), start);
    }
    assert!(minute.minutes.lock().unwrap().len() <= REMEMBERED);
}
