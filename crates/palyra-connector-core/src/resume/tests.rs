use proptest::prelude::*;

use super::*;

fn progress() -> Progress {
    Progress::new(7, Arc::default())
}

fn state(number: i64) -> Option<ResumeState> {
    Some(ResumeState::new(&number.to_string()).unwrap())
}

fn saved(save: Option<Save>) -> Option<String> {
    save.map(|save| save.state.as_str().to_owned())
}

#[test]
fn what_is_handed_over_one_by_one_is_saved_with_itself() {
    let progress = progress();
    for number in 1..=3 {
        let step = progress.begin(state(number));
        assert_eq!(saved(progress.save_with(&step)), Some(number.to_string()));
        progress.kept(step);
    }
}

#[test]
fn nothing_is_saved_ahead_of_what_is_not_kept() {
    let progress = progress();
    let (first, second, third) =
        (progress.begin(state(1)), progress.begin(None), progress.begin(state(3)));
    assert_eq!(saved(progress.save_with(&third)), None);
    progress.kept(third);
    assert_eq!(saved(progress.save_with(&first)).as_deref(), Some("1"));
    progress.kept(first);
    // With the last that was missing, the newest.
    assert_eq!(saved(progress.save_with(&second)).as_deref(), Some("3"));
    progress.kept(second);
}

#[test]
fn what_could_not_be_kept_holds_all_that_follows_until_another_connection() {
    let progress = progress();
    let failed = progress.begin(state(1));
    let behind = progress.begin(state(2));
    assert_eq!(saved(progress.save_with(&behind)), None);
    progress.kept(behind);
    progress.begin_anew();
    let again = progress.begin(state(10));
    assert_eq!(saved(progress.save_with(&again)).as_deref(), Some("10"));
    progress.kept(again);
    // It comes late, and is of no use any more.
    assert_eq!(saved(progress.save_with(&failed)), None);
    progress.kept(failed);
}

#[test]
fn a_state_that_is_too_long_is_refused() {
    assert!(ResumeState::new(&"x".repeat(MAX_BYTES)).is_ok());
    assert!(ResumeState::new(&"x".repeat(MAX_BYTES + 1)).is_err());
    assert!(ResumeState::new("a\0b").is_err());
}

proptest! {
    /// Whatever is kept in whatever order, what is saved is never ahead of what is open, only grows,
    /// and in the end is all there is.
    #[test]
    fn the_mark_is_the_low_water_mark(order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let progress = progress();
        let mut steps: Vec<_> = (0..12).map(|number| Some(progress.begin(state(number)))).collect();
        let (mut kept, mut last) = ([false; 12], None);
        for at in order {
            let step = steps[at].take().unwrap();
            kept[at] = true;
            if let Some(save) = progress.save_with(&step) {
                let saved: usize = save.state.as_str().parse().unwrap();
                prop_assert!(kept[..=saved].iter().all(|kept| *kept), "{saved} of {kept:?}");
                prop_assert!(last < Some(saved));
                last = Some(saved);
            }
            progress.kept(step);
        }
        prop_assert_eq!(last, Some(11));
    }
}
