//! What comes next in a run.

use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{
    ApprovalState, GateDecision, ModelFinish, RunEnd, ToolEffect, ToolOutcome,
};
use palyra_common::tape::Limits;
use palyra_common::time::Duration;

use super::state::{CallState, CallStep, OpenTask, RunState};
use crate::budget::Amount;

/// What a run used that its tape does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// How long it has worked.
    pub active: Duration,
    /// What those used that it gave work to, with what is set aside for them.
    pub below: Amount,
}

/// What to do next. Indices are those of the calls of the last turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Ask a model, for the `attempt`th time in this turn.
    Ask {
        /// Which turn, from 1.
        turn: u32,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// Let the gate decide on these calls.
    Gate(Vec<usize>),
    /// Ask a human about this call.
    AskHuman(usize),
    /// Begin these calls; they do not disturb each other.
    Start(Vec<usize>),
    /// Tell the model that a call was not made.
    Tell(usize, ToolOutcome),
    /// Nothing, until humans have decided these.
    Wait(Vec<ApprovalId>),
    /// End, with what was said so far.
    Finish(RunEnd),
    /// Nothing: it has ended, or an attempt is under way.
    Nothing,
}

/// What to do next with a run that a worker has.
pub fn next(state: &RunState, limits: &Limits, used: Used) -> Next {
    if state.end.is_some() || state.asked.is_some() || state.auxiliary.is_some() {
        return Next::Nothing;
    }
    let open = |step: fn(&CallStep) -> bool| {
        let found = state.calls.iter().enumerate().filter(move |(_, call)| step(&call.step));
        found.map(|(index, _)| index).collect::<Vec<_>>()
    };
    let under_way = open(|step| matches!(step, CallStep::Started { .. }));
    if !under_way.is_empty() {
        return Next::Nothing;
    }
    let asked = open(|step| *step == CallStep::Asked);
    if !asked.is_empty() {
        return match over(state, limits, used) {
            Some(end) => Next::Finish(end),
            None => Next::Gate(asked),
        };
    }
    if let Some(found) = settled(&state.calls) {
        return found;
    }
    let mut startable =
        open(|step| matches!(step, CallStep::Allowed) || approved(step)).into_iter().peekable();
    if let Some(first) = startable.next() {
        let alone = |index: &usize| state.calls[*index].effect != Some(ToolEffect::ReadOnly);
        if alone(&first) {
            return Next::Start(vec![first]);
        }
        let others = startable.filter(|index| !alone(index));
        return Next::Start(std::iter::once(first).chain(others).collect());
    }
    let waiting: Vec<_> = state.calls.iter().filter_map(waits_for).collect();
    if !waiting.is_empty() {
        return Next::Wait(waiting);
    }
    turn(state, limits, used)
}

/// Calls that need no work, only a word: to a human, or to the model.
fn settled(calls: &[CallState]) -> Option<Next> {
    calls.iter().enumerate().find_map(|(index, call)| match &call.step {
        CallStep::Stopped { decision: GateDecision::Refuse } => {
            Some(Next::Tell(index, ToolOutcome::Refused))
        }
        CallStep::Stopped { decision: GateDecision::Ask | GateDecision::Allow } => {
            Some(Next::AskHuman(index))
        }
        CallStep::Decided { state, started, .. } => match (state, started) {
            (ApprovalState::Approved | ApprovalState::Pending, _) => None,
            // It was begun before: that nobody wants it again does not undo it.
            (_, 1..) => Some(Next::Tell(index, ToolOutcome::Unknown)),
            (ApprovalState::Denied | ApprovalState::Cancelled, 0) => {
                Some(Next::Tell(index, ToolOutcome::Denied))
            }
            (ApprovalState::Expired, 0) => Some(Next::Tell(index, ToolOutcome::Expired)),
        },
        CallStep::Asked
        | CallStep::Allowed
        | CallStep::Waiting { .. }
        | CallStep::Started { .. }
        | CallStep::Ended => None,
    })
}

fn approved(step: &CallStep) -> bool {
    matches!(step, CallStep::Decided { state: ApprovalState::Approved, .. })
}

fn waits_for(call: &CallState) -> Option<ApprovalId> {
    match call.step {
        CallStep::Waiting { approval, .. }
        | CallStep::Decided { approval, state: ApprovalState::Pending, .. } => Some(approval),
        CallStep::Asked
        | CallStep::Allowed
        | CallStep::Stopped { .. }
        | CallStep::Decided { .. }
        | CallStep::Started { .. }
        | CallStep::Ended => None,
    }
}

/// Another turn of the model, or the end.
fn turn(state: &RunState, limits: &Limits, used: Used) -> Next {
    let answered = state.turns > 0 && state.calls.is_empty();
    if answered && state.attempts == 0 {
        return Next::Finish(match (state.finish, state.said.is_empty()) {
            (Some(ModelFinish::Refused), _) => RunEnd::ModelRefused,
            // A model that asked for tools and named none has nothing more to say.
            (
                Some(ModelFinish::Stop | ModelFinish::Length | ModelFinish::ToolCalls) | None,
                true,
            ) => RunEnd::NoAnswer,
            (Some(ModelFinish::Length), false) => RunEnd::AnswerCut,
            (Some(ModelFinish::Stop | ModelFinish::ToolCalls) | None, false) => RunEnd::Answered,
        });
    }
    if let Some(end) = over(state, limits, used) {
        return Next::Finish(end);
    }
    if state.failures() >= limits.attempts {
        return Next::Finish(RunEnd::ModelFailed);
    }
    Next::Ask { turn: state.turns + 1, attempt: state.attempts + 1 }
}

/// The limit that is reached, if any.
fn over(state: &RunState, limits: &Limits, used: Used) -> Option<RunEnd> {
    if state.turns >= limits.turns {
        return Some(RunEnd::TurnLimit);
    }
    if state.tool_calls > limits.tool_calls {
        return Some(RunEnd::ToolCallLimit);
    }
    if used.active >= limits.active {
        return Some(RunEnd::TimeLimit);
    }
    let spent = state.spent().plus(used.below);
    if limits.tokens.is_some_and(|most| spent.tokens >= most) {
        return Some(RunEnd::TokenLimit);
    }
    limits.micros.is_some_and(|most| spent.micros >= most).then_some(RunEnd::CostLimit)
}

/// The limit that an attempt at the model could break, which may take as much as `worst`.
pub fn too_dear(state: &RunState, limits: &Limits, used: Used, worst: Amount) -> Option<RunEnd> {
    let then = state.spent().plus(used.below).plus(worst);
    if limits.tokens.is_some_and(|most| then.tokens > most) {
        return Some(RunEnd::TokenLimit);
    }
    limits.micros.is_some_and(|most| then.micros > most).then_some(RunEnd::CostLimit)
}

/// What a worker that finds a run does about what another one had begun.
#[derive(Debug, Clone, PartialEq)]
pub enum Recovery {
    /// Give the attempt at the model up; it is charged with all that was reserved for it.
    Abandon {
        /// Which turn.
        turn: u32,
        /// Which attempt.
        attempt: u32,
    },
    /// Give the side call up; it is charged like that, too.
    GiveUpTask(OpenTask),
    /// Begin the call again: that changes nothing, or nothing more, or nothing was done yet.
    Again(usize),
    /// Ask a human: nobody knows whether the call was made.
    AskHuman(usize),
}

/// What was begun and has no end.
pub fn recovery(state: &RunState) -> Vec<Recovery> {
    let turn = state.turns + 1;
    let model = state.asked.map(|attempt| Recovery::Abandon { turn, attempt });
    let task = state.auxiliary.map(Recovery::GiveUpTask);
    let calls = state.calls.iter().enumerate().filter_map(|(index, call)| match call.step {
        CallStep::Started { .. } => Some(match (call.effect, call.with_result) {
            (Some(ToolEffect::ReadOnly | ToolEffect::Idempotent), _) => Recovery::Again(index),
            // There is no result, so nothing was done.
            (Some(ToolEffect::SideEffect) | None, true) => Recovery::Again(index),
            (Some(ToolEffect::SideEffect) | None, false) => Recovery::AskHuman(index),
        }),
        CallStep::Asked
        | CallStep::Allowed
        | CallStep::Stopped { .. }
        | CallStep::Waiting { .. }
        | CallStep::Decided { .. }
        | CallStep::Ended => None,
    });
    task.into_iter().chain(model).chain(calls).collect()
}
