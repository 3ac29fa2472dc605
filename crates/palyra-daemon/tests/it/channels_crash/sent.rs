//! What was sent, and what is wrong with it: each message has one answer, that arrives once, behind
//! those to what was said before it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::world::name;

/// What a run says that was taken over too often.
const GIVEN_UP: &str = "this failed several times";

/// An answer that has arrived, or of which nobody knows whether it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The number of the message that it is an answer to.
    pub(crate) to: u64,
    conversation: String,
    envelope: String,
    part: u64,
    text: String,
}

impl Answer {
    /// From the ledger, or the list of what is in doubt.
    pub(crate) fn read(line: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
        let to = text(&line["operation"]["reply_to"]);
        Self {
            to: to[1..].parse().unwrap(),
            conversation: text(&line["conversation"]),
            envelope: text(&line["envelope"]),
            part: line["part"].as_u64().unwrap(),
            text: text(&line["operation"]["text"]),
        }
    }

    fn entry(&self) -> (&str, u64) {
        (&self.envelope, self.part)
    }

    /// What has died three times without getting anywhere is given up, and that is told.
    fn is_given_up(&self) -> bool {
        self.text.contains(GIVEN_UP)
    }

    /// However the model introduces itself.
    fn is_right(&self) -> bool {
        self.is_given_up() || self.text.ends_with(&format!("You said: {}", name(self.to)))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// In the order of their arrival.
    pub(crate) arrived: Vec<Answer>,
    pub(crate) in_doubt: Vec<Answer>,
}

impl Sent {
    fn all(&self) -> impl Iterator<Item = &Answer> {
        self.arrived.iter().chain(&self.in_doubt)
    }

    /// Those of the first so many messages that have no answer.
    pub(crate) fn unanswered(&self, handed_in: u64) -> BTreeSet<u64> {
        let answered: BTreeSet<_> = self.all().map(|answer| answer.to).collect();
        (0..handed_in).filter(|number| !answered.contains(number)).collect()
    }

    /// All that is wrong if so many were acknowledged. Also the one after them may be there, of which
    /// nothing was heard when it was handed in.
    pub(crate) fn faults(&self, handed_in: u64) -> Vec<String> {
        let lost = self.unanswered(handed_in).into_iter();
        let mut faults: Vec<_> = lost.map(|number| format!("{} is lost", name(number))).collect();
        let (mut entries, mut last) = (BTreeSet::new(), BTreeMap::new());
        for answer in &self.arrived {
            if !entries.insert(answer.entry()) {
                faults.push(format!("a copy of {answer:?}"));
            }
            let before = last.insert(&answer.conversation, answer.to);
            if before.is_some_and(|before| before > answer.to) {
                faults.push(format!("too late: {answer:?}"));
            }
        }
        let mut answers = BTreeMap::new();
        for answer in self.all() {
            if answer.to > handed_in || !answer.is_right() {
                faults.push(format!("nobody has asked for {answer:?}"));
            }
            let first: &Answer = answers.entry(answer.to).or_insert(answer);
            if first.entry() != answer.entry() {
                faults.push(format!("a second answer: {answer:?}"));
            }
        }
        faults
    }

    pub(crate) fn counts(&self) -> Counts {
        let in_doubt: BTreeSet<_> = self.in_doubt.iter().map(Answer::entry).collect();
        let delivered = self.arrived.iter().filter(|answer| !in_doubt.contains(&answer.entry()));
        let given_up = self.all().filter(|answer| answer.is_given_up());
        Counts {
            delivered: delivered.count() as u64,
            unknown: in_doubt.len() as u64,
            given_up: given_up.map(Answer::entry).collect::<BTreeSet<_>>().len() as u64,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) delivered: u64,
    pub(crate) unknown: u64,
    pub(crate) given_up: u64,
}

fn answer(to: u64) -> Answer {
    let text = format!("I repeat. You said: {}", name(to));
    let (conversation, envelope) = (format!("c{}", to % 2), format!("re-{to}"));
    Answer { to, conversation, envelope, part: 0, text }
}

#[test]
fn what_a_crash_may_leave_is_right() {
    let given_up = Answer { text: format!("[{GIVEN_UP}]"), ..answer(2) };
    let sent = Sent {
        arrived: vec![answer(1), answer(0), given_up.clone(), answer(4)],
        // Whether it has arrived, or not.
        in_doubt: vec![given_up, answer(3)],
    };
    assert_eq!(sent.faults(5), [""; 0]);
    assert_eq!(sent.faults(4), [""; 0], "nothing was heard of the last one");
    assert_eq!(sent.counts(), Counts { delivered: 3, unknown: 2, given_up: 1 });
}

#[test]
fn what_no_crash_may_leave_is_seen() {
    let seen = |arrived: Vec<Answer>, in_doubt: Vec<Answer>| {
        Sent { arrived, in_doubt }.faults(3).join(", ")
    };
    let all = vec![answer(0), answer(1), answer(2)];
    let with = |one: Answer| [all.clone(), vec![one]].concat();
    assert_eq!(seen(all.clone(), Vec::new()), "");
    assert_eq!(seen(vec![answer(0), answer(1)], Vec::new()), "m2 is lost");
    assert!(seen(with(answer(2)), Vec::new()).starts_with("a copy of"));
    assert!(seen(vec![answer(2), answer(1), answer(0)], Vec::new()).starts_with("too late"));
    assert!(seen(with(answer(4)), Vec::new()).starts_with("nobody has asked"));
    // A run that was given up has told so, and none other answers in its place.
    let again = Answer { text: GIVEN_UP.to_owned(), envelope: "again".to_owned(), ..answer(2) };
    assert!(seen(with(again.clone()), Vec::new()).starts_with("a second answer"));
    assert!(seen(all.clone(), vec![again]).starts_with("a second answer"));
    let other = Answer { text: "You said: m1".to_owned(), ..answer(2) };
    assert!(seen(vec![answer(0), answer(1), other], Vec::new()).starts_with("nobody has asked"));
}
