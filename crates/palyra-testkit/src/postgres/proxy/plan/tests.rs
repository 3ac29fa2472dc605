use super::{CutCounts, CutKind, CutPlan, Decider};
use crate::seed::Seed;

fn decisions(decider: &Decider, count: usize) -> Vec<Option<CutKind>> {
    (0..count).map(|_| decider.commit()).collect()
}

#[test]
fn one_commit_is_chosen_and_a_new_plan_counts_anew() {
    let kind = CutKind::AfterForward;
    let decider = Decider::new(CutPlan::Never);
    assert_eq!(decisions(&decider, 3), [None, None, None]);
    decider.set_plan(CutPlan::AtCommit { nth: 2, kind });
    assert_eq!(decisions(&decider, 4), [None, Some(kind), None, None]);
    decider.cut(kind);
    decider.cut(CutKind::BeforeForward);
    decider.cut(kind);
    let expected =
        CutCounts { commits: 7, before_forward: 1, after_forward: 2, ..CutCounts::default() };
    assert_eq!(decider.counts(), expected);
}

#[test]
fn random_choices_follow_from_the_seed_and_the_probability() {
    let drawn = |seed, probability| {
        let plan = CutPlan::Random { seed: Seed::new(seed), probability };
        decisions(&Decider::new(plan), 1000)
    };
    assert_eq!(drawn(1, 0.3), drawn(1, 0.3));
    assert_ne!(drawn(1, 0.3), drawn(2, 0.3));
    assert!(drawn(1, 0.0).iter().all(Option::is_none));
    let cuts = drawn(1, 0.3);
    for kind in [CutKind::BeforeForward, CutKind::AfterForward, CutKind::LateForward] {
        let count = cuts.iter().filter(|cut| **cut == Some(kind)).count();
        assert!((60..150).contains(&count), "{kind:?}: {count}");
    }
}
