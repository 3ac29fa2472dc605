use palyra_common::Principal;
use palyra_common::runtime_contracts::Role;
use palyra_identity::{Access, Credential, role_scopes};
use palyra_storage::new_id;

use super::Slots;

fn access(who: &str, credential: Credential) -> Access {
    let principal: Principal = who.parse().unwrap();
    let (role, scopes) = (Role::Viewer, role_scopes(Role::Viewer));
    Access { principal, role, scopes, credential, expires_at: None }
}

#[test]
fn tokens_of_one_principal_share_its_slots() {
    let slots = Slots::new(2);
    let of = |who| access(who, Credential::Token(new_id()));
    let first = slots.take(&of("operator:anna")).unwrap();
    let _second = slots.take(&of("operator:anna")).unwrap();
    let refused = slots.take(&of("operator:anna")).unwrap_err();
    assert_eq!(refused.envelope().code(), "http/busy");
    let _other = slots.take(&of("operator:ben")).unwrap();
    let local = access("operator:anna", Credential::LocalOwner);
    assert!(slots.take(&local).unwrap().is_none());
    drop(first);
    let _third = slots.take(&of("operator:anna")).unwrap();
    slots.take(&of("operator:anna")).unwrap_err();
}

#[test]
fn nobody_is_remembered_without_a_request() {
    let slots = Slots::new(1);
    for n in 0..100 {
        drop(slots.take(&access(&format!("operator:{n}"), Credential::Token(new_id()))).unwrap());
    }
    assert!(slots.taken.lock().unwrap().is_empty());
    let all = Slots::new(0);
    let anna = access("operator:anna", Credential::Token(new_id()));
    let _many: Vec<_> = (0..100).map(|_| all.take(&anna).unwrap()).collect();
}
