use palyra_common::api::Compared;
use palyra_common::ids::RunId;
use palyra_common::tape::{TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;

use super::{Comparison, Side};
use crate::replay::tests::tapes::{plain, run, with_a_question};

fn other() -> RunId {
    RunId::from_parts(Timestamp::UNIX_EPOCH, 2)
}

/// The same in the other run.
fn renamed(mut events: Vec<TapeEvent>) -> Vec<TapeEvent> {
    for event in &mut events {
        if let TapeEvent::DeliveryEnqueued(sent) = event {
            sent.envelope = crate::reply::reply_envelope(other()).unwrap();
        }
    }
    events
}

fn entries(events: &[TapeEvent], at: u64) -> Vec<TapeEntry> {
    let at = Timestamp::from_unix_millis(at as i64);
    let entry = |(seq, event): (i64, &TapeEvent)| TapeEntry { seq, at, event: event.clone() };
    (1..).zip(events).map(entry).collect()
}

/// What comes of two tapes, however they are cut into pages.
fn compared(left: &[TapeEvent], right: &[TapeEvent]) -> Compared {
    let by_page = |page: usize| {
        let mut comparison = Comparison::new(run(), other());
        let (mut left, mut right) = (entries(left, 1), entries(right, 2));
        while let Some(side) = comparison.wants() {
            let of = if side == Side::Left { &mut left } else { &mut right };
            let page = of.drain(..page.min(of.len())).collect();
            comparison.read(side, page);
        }
        comparison.outcome()
    };
    let whole = by_page(1_000);
    (1..4).for_each(|page| assert_eq!(by_page(page), whole));
    whole
}

#[test]
fn runs_that_decide_the_same_are_the_same_whatever_they_are_called() {
    let mut renamed = renamed(plain());
    for event in &mut renamed {
        if let TapeEvent::ModelCompleted(answer) = event {
            answer.output_tokens += 5;
        }
    }
    let compared = compared(&plain(), &renamed);
    assert_eq!((compared.same, compared.steps, compared.parting), (true, 5, None));
    assert_eq!((compared.left.tokens, compared.right.tokens), (7, 12));
}

#[test]
fn the_first_step_is_told_that_is_not_the_same() {
    let compared = compared(&plain(), &with_a_question());
    let parting = compared.parting.unwrap();
    let seq = |entry: Option<TapeEntry>| entry.map(|entry| entry.seq);
    assert_eq!((seq(parting.left), seq(parting.right)), (Some(5), Some(5)));
    assert_eq!((compared.same, compared.steps), (false, 2));
    assert_eq!((compared.left.turns, compared.right.turns), (1, 2));
    assert_eq!((compared.left.tool_calls, compared.right.tool_calls), (0, 1));
}

#[test]
fn where_one_has_no_more_the_other_goes_on() {
    let (whole, others) = (plain(), renamed(plain()));
    let cut = |tape: &[TapeEvent]| tape[..tape.len() - 1].to_vec();
    let parting = compared(&cut(&whole), &others).parting.unwrap();
    assert_eq!((parting.left, parting.right.map(|entry| entry.seq)), (None, Some(7)));
    let parting = compared(&whole, &cut(&others)).parting.unwrap();
    assert_eq!((parting.left.map(|entry| entry.seq), parting.right), (Some(7), None));
}
