use proptest::prelude::*;

use super::*;

fn names(of: &[&str]) -> ToolNames {
    ToolNames::from_names(of.iter().copied())
}

#[test]
fn dots_become_something_that_can_be_sent() {
    let names = names(&["fs.read", "http.fetch", "plain-one_2"]);
    assert_eq!(names.sent("fs.read"), "fs_read");
    assert_eq!(names.sent("plain-one_2"), "plain-one_2");
    assert_eq!(names.ours("http_fetch".into()), "http.fetch");
}

#[test]
fn two_that_would_be_one_are_told_apart() {
    let names = names(&["fs.read", "fs_read", "fs:read"]);
    assert_eq!(names.sent("fs_read"), "fs_read");
    assert_eq!(names.sent("fs.read"), "fs_read_2");
    assert_eq!(names.sent("fs:read"), "fs_read_3");
    let long = "x.".repeat(60);
    let names = self::names(&[&long, &format!("{long}y")]);
    assert_eq!(names.sent(&format!("{long}y")).len(), 64);
    assert_ne!(names.sent(&long), names.sent(&format!("{long}y")));
}

#[test]
fn what_nobody_is_called_stays_as_it_was_said() {
    let names = names(&["fs.read"]);
    assert_eq!(names.ours("fs.read".into()), "fs.read");
    assert_eq!(names.ours("rm -rf".into()), "rm -rf");
    assert_eq!(names.ours(String::new()), "");
}

proptest! {
    /// From few letters, so that they meet.
    #[test]
    fn every_name_can_be_sent_and_comes_back(
        all in prop::collection::vec(
            prop_oneof!["[ab._:\u{e9}]{0,4}", "[a.]{60,70}", ".*"], 0..40,
        ),
    ) {
        let names = names(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let mut sent = BTreeSet::new();
        for name in all.iter().collect::<BTreeSet<_>>() {
            prop_assert!(fits(names.sent(name)), "{name} as {}", names.sent(name));
            prop_assert!(sent.insert(names.sent(name).to_owned()), "{name} is sent as another");
            prop_assert_eq!(&names.ours(names.sent(name).to_owned()), name);
        }
    }
}
