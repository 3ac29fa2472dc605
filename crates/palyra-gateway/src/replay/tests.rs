mod tampered;
pub(crate) mod tapes;

use palyra_common::api::Replayed;
use palyra_common::tape::{TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;

use super::{Replay, Texts};
use tapes::{
    Allow, LowRisk, TurnLimit, WaitingForApproval, all, delta, gated, limited, phase, plain,
    requested, run, stopped_at, with_a_question,
};

fn replayed(events: &[TapeEvent]) -> Replayed {
    let mut replay = Replay::new(run());
    for (seq, event) in (1..).zip(events) {
        let entry = TapeEntry { seq, at: Timestamp::UNIX_EPOCH, event: event.clone() };
        if !replay.read(&entry, Texts::Whole) {
            break;
        }
    }
    replay.outcome()
}

/// Where a tape and today part: the number of the event, and what would be decided.
fn difference(events: &[TapeEvent]) -> Option<(i64, String)> {
    let difference = replayed(events).difference?;
    Some((difference.recorded.seq, difference.today))
}

#[test]
fn what_was_decided_is_decided_again() {
    for (name, tape) in all() {
        assert_eq!(difference(&tape), None, "{name}");
        // However little of it there is yet.
        for end in 0..tape.len() {
            assert_eq!(difference(&tape[..end]), None, "{name}");
        }
        let outcome = replayed(&tape);
        assert_eq!((outcome.same, outcome.events), (true, tape.len() as u64), "{name}");
    }
}

#[test]
fn what_streamed_out_of_a_model_decides_nothing() {
    let mut tape = plain();
    tape.insert(4, delta());
    assert_eq!(difference(&tape), None);
}

#[test]
fn the_first_difference_is_told() {
    let check = |tape: &[TapeEvent], seq: i64, today: &str| {
        assert_eq!(difference(tape), Some((seq, today.to_owned())));
    };
    let (plain, asked) = (plain(), with_a_question());
    let mut tape = plain.clone();
    tape[3] = requested(1, 2);
    check(&tape, 4, "ask the model: turn 1, attempt 1");
    let mut tape = asked.clone();
    tape[6] = gated("t1c0", Allow, LowRisk);
    check(&tape, 7, "t1c0: ask because risky");
    let mut tape = asked.clone();
    tape.remove(7);
    check(&tape, 8, "ask a human about t1c0");
    let mut tape = plain;
    tape.truncate(5);
    tape.push(phase(WaitingForApproval));
    check(&tape, 6, "end: answered");
}

/// A limit that the tape names holds, and one that it does not name may have been there.
#[test]
fn limits_are_those_by_which_it_was_decided() {
    let mut tape = stopped_at(1);
    assert_eq!(difference(&tape), None);
    let last = tape.len() - 1;
    tape[last] = limited(TurnLimit, Some(24));
    let today = difference(&tape).unwrap().1;
    assert_eq!(today, "let the gate decide on t1c0");
    tape[last] = limited(TurnLimit, None);
    assert_eq!(difference(&tape), None);
}
