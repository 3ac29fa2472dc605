//! Decisions in words, for whoever reads where a tape and today part.

use palyra_common::runtime_contracts::{GateDecision, GateReason};
use palyra_policy::run::{Next, Recovery, RunState, recovery};

use super::Owed;

pub(super) fn next(state: &RunState, next: &Next) -> String {
    match next {
        Next::Ask { turn, attempt } => format!("ask the model: turn {turn}, attempt {attempt}"),
        Next::Gate(calls) => format!("let the gate decide on {}", named(state, calls)),
        Next::AskHuman(call) => format!("ask a human about {}", named(state, &[*call])),
        Next::Start(calls) => begin(state, calls),
        Next::Tell(call, outcome) => {
            format!("tell the model that {} is {outcome}", named(state, &[*call]))
        }
        Next::Wait(_) => "wait for a human".to_owned(),
        Next::Finish(end) => format!("end: {end}"),
        Next::Nothing if state.end.is_some() => "nothing: the run has ended".to_owned(),
        Next::Nothing => match state.asked {
            Some(attempt) => under_way(state.turns + 1, attempt),
            None => format!("wait for what is under way{}", taken_over(state)),
        },
    }
}

/// What whoever takes the run over does first.
fn taken_over(state: &RunState) -> String {
    let told = recovery(state).into_iter().map(|found| match found {
        Recovery::Abandon { turn, attempt } => format!(", or give up {}", of(turn, attempt)),
        Recovery::Again(call) => format!(", or allow {} again", named(state, &[call])),
        Recovery::AskHuman(call) => {
            format!(", or ask a human about {}, of which nobody knows", named(state, &[call]))
        }
    });
    told.collect()
}

pub(super) fn owed(state: &RunState, owed: &Owed) -> String {
    match owed {
        Owed::Gate(call, _) => format!("let the gate decide on {}", named(state, &[*call])),
        Owed::Question(call) => format!("ask a human about {}", named(state, &[*call])),
        Owed::Refusal(call) => {
            format!("tell the model that {} is refused", named(state, &[*call]))
        }
        Owed::Shows(shows) => shows.words(),
        Owed::End => "end, with what is said at it".to_owned(),
        Owed::LeftOver => "end, with a word about what was begun and has no end".to_owned(),
    }
}

pub(super) fn begin(state: &RunState, calls: &[usize]) -> String {
    format!("begin {}", named(state, calls))
}

pub(super) fn under_way(turn: u32, attempt: u32) -> String {
    format!("wait for the model: {}", of(turn, attempt))
}

pub(super) fn gated(call: &str, decisions: &[(GateDecision, GateReason); 2]) -> String {
    let [one, other] = decisions.map(|(decision, reason)| format!("{decision} because {reason}"));
    match one == other {
        true => format!("{call}: {one}"),
        false => format!("{call}: {one}, or {other}"),
    }
}

fn of(turn: u32, attempt: u32) -> String {
    format!("turn {turn}, attempt {attempt}")
}

fn named(state: &RunState, calls: &[usize]) -> String {
    let names = calls.iter().filter_map(|call| state.calls.get(*call));
    names.map(|call| call.call.id.as_str()).collect::<Vec<_>>().join(", ")
}
