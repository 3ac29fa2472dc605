use palyra_common::auxiliary::{
    AuxiliaryInput, AuxiliaryOutput, ClassificationInput, RecallInput, SummaryInput, SummaryShape,
    contract,
};
use palyra_common::runtime_contracts::{AuxiliaryFailureMode, AuxiliaryTaskKind};
use proptest::prelude::*;

use super::*;

fn events() -> impl Strategy<Value = Event> {
    use Event::{Cancelled, GivenUp, Met, Returned, Taken};
    prop::sample::select(vec![Taken, Returned, Met, GivenUp, Cancelled])
}

proptest! {
    /// Whatever happens: what has ended stays so, and what succeeded was running.
    #[test]
    fn terminal_stays_terminal(events in prop::collection::vec(events(), 0..40)) {
        let mut state = State::Pending;
        for event in events {
            let Some(to) = step(state, event) else { continue };
            prop_assert!(!is_final(state), "{state} went to {to}");
            prop_assert!(to != State::Succeeded || state == State::Running);
            prop_assert_ne!(to, state);
            state = to;
        }
    }

    /// However models fail, a task is over after a few attempts.
    #[test]
    fn nothing_is_tried_for_ever(
        came in prop::collection::vec(prop::sample::select(vec![
            Came::Invalid, Came::Failed(RetryClass::RateLimit), Came::TimedOut, Came::Refused,
        ]), 10..20),
    ) {
        let mut tries = Tries { most_failures: 3, ..Tries::default() };
        let mut asked = 0;
        for came in came {
            asked += 1;
            tries.failures += u32::from(matches!(came, Came::Failed(_)));
            match next(came, tries) {
                Next::Repair => tries.repairs += 1,
                Next::Later => tries.repairs = 0,
                Next::Succeed | Next::GiveUp(_) => break,
            }
        }
        prop_assert!(asked <= 6, "{asked}");
    }

    #[test]
    fn an_excerpt_is_no_longer_than_it_may_be(text in ".{0,200}", most in 0_usize..120) {
        let cut = excerpt(&text, most);
        prop_assert!(cut.chars().count() <= most);
        prop_assert!(text.chars().count() > most || cut == text);
    }

    #[test]
    fn a_title_is_one_short_line(text in "(?s).{0,300}") {
        let title = title_of(&text);
        prop_assert!(title.chars().count() <= 60);
        prop_assert!(!title.contains(|c: char| c.is_control()));
    }
}

#[test]
fn one_repair_and_then_the_failure_mode() {
    let once = Tries { repairs: 1, most_failures: 1, ..Tries::default() };
    assert_eq!(next(Came::Invalid, Tries::default()), Next::Repair);
    assert_eq!(next(Came::Invalid, once), Next::GiveUp(AuxiliaryReason::InvalidOutput));
    assert_eq!(next(Came::TooLong, Tries::default()), Next::GiveUp(AuxiliaryReason::OverBudget));
    let twice = Tries { failures: 2, most_failures: 3, ..Tries::default() };
    assert_eq!(next(Came::Failed(RetryClass::RateLimit), twice), Next::Later);
    let failed = Next::GiveUp(AuxiliaryReason::ModelFailed);
    assert_eq!(next(Came::Failed(RetryClass::Permanent), twice), failed);
    let last = Tries { failures: 3, ..twice };
    assert_eq!(next(Came::Failed(RetryClass::RateLimit), last), failed);
}

#[test]
fn a_preference_picks_the_model() {
    let model = |cost, latency| Candidate { follows: true, images: false, latency, cost };
    let offline = Candidate { follows: false, ..model(0, ModelLatency::Fast) };
    let seeing = Candidate { images: true, ..model(90, ModelLatency::Slow) };
    let all = [
        offline,
        model(50, ModelLatency::Normal),
        seeing,
        model(10, ModelLatency::Slow),
        model(10, ModelLatency::Fast),
    ];
    assert_eq!(preferred(AuxiliaryPreference::LowCost, &all), [3, 4, 1, 2]);
    assert_eq!(preferred(AuxiliaryPreference::LowLatency, &all), [4, 1, 2, 3]);
    assert_eq!(preferred(AuxiliaryPreference::VisionCapable, &all), [2]);
    assert!(preferred(AuxiliaryPreference::LowCost, &[offline]).is_empty());
}

#[test]
fn what_degrades_has_a_substitute_and_what_fails_closed_has_none() {
    let text = format!("first {} last", "x".repeat(500));
    let summary = SummaryInput { text, before: None, shape: SummaryShape::Notes, max_chars: 60 };
    let Some(AuxiliaryOutput::Summary(short)) = fallback(&AuxiliaryInput::Summary(summary)) else {
        panic!("a summary degrades");
    };
    assert!(short.0.starts_with("first ") && short.0.ends_with(" last"), "{}", short.0);
    assert!(short.0.contains("left out"), "{}", short.0);
    let recall = RecallInput {
        query: "Where does Ann live?".into(),
        context: None,
        candidates: vec!["bob sings".into(), "ann sings".into(), "Ann does live in Brno".into()],
        most: 2,
    };
    let Some(AuxiliaryOutput::RecallSearch(found)) =
        fallback(&AuxiliaryInput::RecallSearch(recall))
    else {
        panic!("a search degrades");
    };
    let places: Vec<_> = found.evidence.iter().map(|one| (one.index, one.score)).collect();
    assert_eq!(places, [(2, 0.75), (1, 0.25)]);
    let asked = ClassificationInput { text: "a".into(), labels: Vec::new() };
    assert_eq!(fallback(&AuxiliaryInput::Classification(asked)), None);
    let closed = contract(AuxiliaryTaskKind::Classification).on_failure;
    assert_eq!(closed, AuxiliaryFailureMode::FailClosed);
}
