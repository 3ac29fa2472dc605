use super::*;
use crate::lease::LeaseName;

fn lease(name: &str, token: i64) -> Lease {
    Lease { name: LeaseName::new(name), token }
}

#[test]
fn what_is_taken_during_a_renewal_is_kept() {
    let held = Held::default();
    let (old, new) = (lease("connector:old", 1), lease("connector:new", 2));
    held.insert(old.clone());
    let before = held.before_renewal();
    held.insert(new.clone());
    let (all, forgotten) = held.compare(&before, vec![old.clone()]);
    assert_eq!((all, forgotten), (vec![new.clone(), old.clone()], vec![]));
    assert!(held.contains(&new));

    // The next renewal counts it like any other: it is known, and lost when it is missing.
    let before = held.before_renewal();
    let (all, forgotten) = held.compare(&before, vec![old.clone(), new.clone()]);
    assert_eq!((all, forgotten), (vec![new.clone(), old.clone()], vec![]));
    let before = held.before_renewal();
    assert_eq!(held.compare(&before, vec![old.clone()]), (vec![old], vec![]));
    assert!(!held.contains(&new));
}

#[test]
fn what_is_lost_and_taken_again_during_a_renewal_is_two_leases() {
    let held = Held::default();
    let (lost, again) = (lease("connector:a", 1), lease("connector:a", 2));
    held.insert(lost.clone());
    let before = held.before_renewal();
    held.insert(again.clone());
    assert_eq!(held.compare(&before, vec![]), (vec![again], vec![]));
    assert!(!held.contains(&lost));
}

#[test]
fn what_nobody_knows_of_for_two_renewals_is_forgotten() {
    let held = Held::default();
    let (slow, lost) = (lease("connector:slow", 1), lease("connector:lost", 2));
    let renewed = || vec![slow.clone(), lost.clone()];
    assert_eq!(held.compare(&held.before_renewal(), renewed()), (vec![], vec![]));
    // Whoever took it learns of it while the next renewal is under way.
    let before = held.before_renewal();
    held.insert(slow.clone());
    assert_eq!(held.compare(&before, renewed()), (vec![slow.clone()], vec![lost.clone()]));
}
