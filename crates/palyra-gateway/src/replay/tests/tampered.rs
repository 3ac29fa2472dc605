//! Whatever is changed of what the engine has decided is found.

use palyra_common::runtime_contracts::{
    AuxiliaryReason, AuxiliaryTaskState, GateDecision, RunEnd, RunLifecyclePhase, ToolOutcome,
};
use palyra_common::tape::TapeEvent;

use super::difference;
use super::tapes::all;

/// What the engine could have written down in the place of an event.
fn others(event: &TapeEvent) -> Vec<TapeEvent> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut TapeEvent)| {
        let mut other = event.clone();
        change(&mut other);
        if other != *event {
            found.push(other);
        }
    };
    macro_rules! change {
        ($kind:ident, |$payload:ident| $change:expr) => {
            add(&|other| {
                if let TapeEvent::$kind($payload) = other {
                    $change;
                }
            })
        };
    }
    change!(ModelRequested, |asked| asked.turn += 1);
    change!(ModelRequested, |asked| asked.attempt += 1);
    change!(ModelCompleted, |answer| answer.turn += 1);
    change!(ModelCompleted, |answer| answer.attempt += 1);
    change!(ToolProposed, |proposed| proposed.arguments.push(' '));
    change!(ToolProposed, |proposed| proposed.tool.push('x'));
    change!(ToolProposed, |proposed| proposed.payload_sha256.push('0'));
    change!(ApprovalRequested, |asked| asked.call.push('0'));
    change!(ApprovalDecided, |decided| decided.call.push('0'));
    change!(ToolStarted, |started| started.attempt += 1);
    change!(DeliveryEnqueued, |sent| sent.envelope = "another".parse().unwrap());
    change!(RunFinished, |finished| finished.answer.push('!'));
    change!(AuxTask, |task| task.attempt += 1);
    for state in AuxiliaryTaskState::ALL {
        change!(AuxTask, |task| task.state = *state);
    }
    for decision in GateDecision::ALL {
        change!(ToolGated, |gated| gated.decision = *decision);
    }
    for phase in RunLifecyclePhase::ALL {
        change!(RunPhase, |moved| moved.phase = *phase);
        change!(RunFinished, |finished| finished.phase = *phase);
    }
    for end in RunEnd::ALL {
        change!(RunFinished, |finished| finished.end = *end);
    }
    for outcome in ToolOutcome::ALL {
        change!(ToolCompleted, |done| done.outcome = *outcome);
    }
    found
}

/// What may be otherwise by what came from outside: what a tool gave, and that somebody has paused a
/// run. What is said at an end that is no answer is no decision.
fn comes_from_outside(event: &TapeEvent, other: &TapeEvent) -> bool {
    use ToolOutcome::{Done, Failed, Unknown};
    let of_tools = [Done, Failed, Unknown];
    match (event, other) {
        (TapeEvent::ToolCompleted(was), TapeEvent::ToolCompleted(is)) => {
            of_tools.contains(&was.outcome) && of_tools.contains(&is.outcome)
        }
        // Whether somebody has stopped it, or is gone.
        (TapeEvent::AuxTask(was), TapeEvent::AuxTask(is)) => {
            let interrupted = Some(AuxiliaryReason::Interrupted);
            let ends = [AuxiliaryTaskState::Failed, AuxiliaryTaskState::Cancelled];
            was.reason == interrupted && ends.contains(&is.state) && was.attempt == is.attempt
        }
        (_, TapeEvent::RunPhase(moved)) => moved.phase == RunLifecyclePhase::Paused,
        (TapeEvent::RunFinished(was), TapeEvent::RunFinished(is)) => {
            was.end != RunEnd::Answered && (was.end, was.phase) == (is.end, is.phase)
        }
        (_, _) => false,
    }
}

#[test]
fn a_decision_that_was_changed_is_found() {
    let mut tried = 0;
    for (name, tape) in all() {
        for (place, event) in tape.iter().enumerate() {
            for other in others(event) {
                if comes_from_outside(event, &other) {
                    continue;
                }
                let mut tape = tape.clone();
                tape[place] = other.clone();
                assert!(difference(&tape).is_some(), "{name}, {place}: {other:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 200, "{tried}");
}

/// Where one is missing, what follows does not follow.
#[test]
fn a_decision_that_is_missing_or_there_twice_is_found() {
    let is_external = |event: &TapeEvent| {
        matches!(event, TapeEvent::InputMessage(_) | TapeEvent::DeliveryEnqueued(_))
    };
    for (name, tape) in all() {
        for (place, event) in tape.iter().enumerate() {
            let (mut less, mut more) = (tape.clone(), tape.clone());
            less.remove(place);
            more.insert(place, event.clone());
            if is_external(event) {
                continue;
            }
            let is_last = place + 1 == tape.len();
            assert!(is_last || difference(&less).is_some(), "{name} without {place}: {event:?}");
            assert!(difference(&more).is_some(), "{name}, {place} twice: {event:?}");
        }
    }
}
