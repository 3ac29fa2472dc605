//! Tapes as the engine writes them.

use palyra_common::ids::{ApprovalId, AuxiliaryTaskId, RunId};
pub(super) use palyra_common::runtime_contracts::GateDecision::{Allow, Ask, Refuse};
pub(super) use palyra_common::runtime_contracts::GateReason::{
    LowRisk, NotAllowed, OutcomeUnknown, ReadsOwnData, Risky,
};
pub(super) use palyra_common::runtime_contracts::RunEnd::{Answered, Stopped, TurnLimit};
pub(super) use palyra_common::runtime_contracts::RunLifecyclePhase::{
    Aborted, Completed, Paused, Queued as Waits, Running, WaitingForApproval,
};
use palyra_common::runtime_contracts::{
    ApprovalState, ApprovalSubject, AuxiliaryReason, AuxiliaryTaskKind, AuxiliaryTaskState,
    GateDecision, GateReason, ModelFinish, RiskLevel, RunEnd, RunLifecyclePhase, ToolEffect,
    ToolOutcome, ToolReach, Trust,
};
use palyra_common::tape::{
    ApprovalDecided, ApprovalRequested, AuxTask, Call, DeliveryEnqueued, Input, Limits,
    ModelAbandoned, ModelCompleted, ModelDelta, ModelRequested, Phase, Queued, RunFinished,
    TapeEvent, ToolCompleted, ToolGated, ToolProposed, ToolStarted,
};
use palyra_common::time::Timestamp;

use crate::reply::reply_envelope;
use crate::tool::payload_sha256;

pub(crate) fn run() -> RunId {
    RunId::from_parts(Timestamp::UNIX_EPOCH, 1)
}

fn queued() -> TapeEvent {
    TapeEvent::RunQueued(Queued { agent: "a".into(), parent: None })
}

fn said() -> TapeEvent {
    let (text, sender) = ("hello".into(), "ann".into());
    TapeEvent::InputMessage(Input { text, sender, trust: Trust::Operator, connector: None })
}

pub(super) fn phase(phase: RunLifecyclePhase) -> TapeEvent {
    TapeEvent::RunPhase(Phase { phase, reason: None })
}

pub(super) fn requested(turn: u32, attempt: u32) -> TapeEvent {
    TapeEvent::ModelRequested(ModelRequested {
        turn,
        attempt,
        history_through: 0,
        reserved_tokens: 10,
        reserved_micros: 20,
        limits: Some(Limits::default()),
        summary_through: None,
    })
}

fn side_call(
    state: AuxiliaryTaskState,
    attempt: u32,
    reason: Option<AuxiliaryReason>,
) -> TapeEvent {
    let is_open = state == AuxiliaryTaskState::Running;
    // Nobody was asked before the first attempt.
    let charged = if is_open && attempt == 1 { 0 } else { 10 };
    let reserved = if is_open { 10 } else { 0 };
    TapeEvent::AuxTask(AuxTask {
        task: AuxiliaryTaskId::from_parts(Timestamp::UNIX_EPOCH, 7),
        task_kind: AuxiliaryTaskKind::Summary,
        state,
        attempt,
        model: None,
        reserved_tokens: reserved,
        reserved_micros: reserved,
        charged_tokens: charged,
        charged_micros: charged,
        reason,
        detail: None,
    })
}

pub(super) fn delta() -> TapeEvent {
    let (turn, attempt, offset, text) = (1, 1, 0, "hel".into());
    TapeEvent::ModelDelta(ModelDelta { turn, attempt, offset, text })
}

fn lost(turn: u32, attempt: u32, interrupted: bool) -> TapeEvent {
    TapeEvent::ModelAbandoned(ModelAbandoned {
        turn,
        attempt,
        reason: "lost".into(),
        charged_tokens: 10,
        charged_micros: 20,
        said: None,
        interrupted,
    })
}

fn answer(turn: u32, attempt: u32, text: &str, tools: &[&str]) -> TapeEvent {
    let call = |(n, tool): (usize, &&str)| Call {
        id: format!("t{turn}c{n}"),
        tool: (*tool).to_owned(),
        arguments: "{ \"n\": 1 }".to_owned(),
    };
    TapeEvent::ModelCompleted(ModelCompleted {
        turn,
        attempt,
        model: "m".into(),
        passed_over: Vec::new(),
        text: text.into(),
        calls: tools.iter().enumerate().map(call).collect(),
        finish: if tools.is_empty() { ModelFinish::Stop } else { ModelFinish::ToolCalls },
        input_tokens: 3,
        output_tokens: 4,
        cost_micros: 5,
        prompt_sha256: String::new(),
        trust: Trust::Operator,
    })
}

fn proposed(call: &str, tool: &str, effect: ToolEffect) -> TapeEvent {
    let (arguments, bindings) = ("{\"n\":1}".to_owned(), Vec::new());
    TapeEvent::ToolProposed(ToolProposed {
        call: call.into(),
        tool: tool.into(),
        payload_sha256: payload_sha256(run(), call, tool, &arguments, &bindings),
        arguments,
        bindings,
        effect,
        risk: RiskLevel::High,
        reach: ToolReach::OwnData,
        summary: String::new(),
        with_result: false,
    })
}

pub(super) fn gated(call: &str, decision: GateDecision, reason: GateReason) -> TapeEvent {
    TapeEvent::ToolGated(ToolGated { call: call.into(), decision, reason })
}

fn approval(n: u128) -> ApprovalId {
    ApprovalId::from_parts(Timestamp::UNIX_EPOCH, n)
}

fn question(n: u128, call: &str, subject: ApprovalSubject) -> TapeEvent {
    TapeEvent::ApprovalRequested(ApprovalRequested {
        approval: approval(n),
        call: call.into(),
        subject,
        summary: String::new(),
        expires_at: Timestamp::MAX,
    })
}

fn decided(n: u128, call: &str, state: ApprovalState) -> TapeEvent {
    let (approval, call, by, reason) = (approval(n), call.into(), None, None);
    TapeEvent::ApprovalDecided(ApprovalDecided { approval, call, state, by, reason })
}

fn started(call: &str, attempt: u32) -> TapeEvent {
    TapeEvent::ToolStarted(ToolStarted { call: call.into(), attempt })
}

fn ended(call: &str, outcome: ToolOutcome) -> TapeEvent {
    TapeEvent::ToolCompleted(ToolCompleted {
        call: call.into(),
        outcome,
        content: String::new(),
        artifact: None,
        trust: Trust::Operator,
    })
}

fn replied() -> TapeEvent {
    let (connector, envelope) = ("echo:default".parse().unwrap(), reply_envelope(run()).unwrap());
    TapeEvent::DeliveryEnqueued(DeliveryEnqueued { connector, envelope })
}

fn finished(phase: RunLifecyclePhase, end: RunEnd, answer: &str) -> TapeEvent {
    ended_within(phase, end, answer, Some(Limits::default()))
}

fn ended_within(
    phase: RunLifecyclePhase,
    end: RunEnd,
    answer: &str,
    limits: Option<Limits>,
) -> TapeEvent {
    let (answer, detail, hint) = (answer.to_owned(), None, None);
    TapeEvent::RunFinished(RunFinished { phase, end, answer, detail, hint, limits })
}

/// The end by a limit of so many turns.
pub(super) fn limited(end: RunEnd, turns: Option<u32>) -> TapeEvent {
    let limits = turns.map(|turns| Limits { turns, ..Limits::default() });
    ended_within(Completed, end, "[I stopped]", limits)
}

fn begun() -> Vec<TapeEvent> {
    vec![queued(), said(), phase(Running), requested(1, 1)]
}

pub(crate) fn plain() -> Vec<TapeEvent> {
    let mut tape = begun();
    tape.extend([answer(1, 1, "hi", &[]), replied(), finished(Completed, Answered, "hi")]);
    tape
}

/// What is risky waits for a yes, and is done once it is there.
pub(crate) fn with_a_question() -> Vec<TapeEvent> {
    let mut tape = begun();
    tape.extend([
        answer(1, 1, "", &["x.do"]),
        proposed("t1c0", "x.do", ToolEffect::SideEffect),
        gated("t1c0", Ask, Risky),
        question(1, "t1c0", ApprovalSubject::Tool),
        phase(WaitingForApproval),
        phase(Running),
        decided(1, "t1c0", ApprovalState::Approved),
        started("t1c0", 1),
        ended("t1c0", ToolOutcome::Done),
        requested(2, 1),
        answer(2, 1, "done", &[]),
        finished(Completed, Answered, "done"),
    ]);
    tape
}

/// A worker dies while a model thinks, and others while calls are made.
pub(crate) fn taken_over() -> Vec<TapeEvent> {
    let mut tape = begun();
    tape.extend([
        lost(1, 1, true),
        requested(1, 2),
        answer(1, 2, "", &["x.do", "x.read"]),
        proposed("t1c0", "x.do", ToolEffect::SideEffect),
        gated("t1c0", Ask, Risky),
        proposed("t1c1", "x.read", ToolEffect::ReadOnly),
        gated("t1c1", Allow, ReadsOwnData),
        question(1, "t1c0", ApprovalSubject::Tool),
        started("t1c1", 1),
        gated("t1c1", Allow, OutcomeUnknown),
        started("t1c1", 1),
        ended("t1c1", ToolOutcome::Done),
        phase(WaitingForApproval),
        phase(Running),
        decided(1, "t1c0", ApprovalState::Approved),
        started("t1c0", 1),
        question(2, "t1c0", ApprovalSubject::UnknownOutcome),
        phase(WaitingForApproval),
        phase(Running),
        decided(2, "t1c0", ApprovalState::Denied),
        ended("t1c0", ToolOutcome::Unknown),
        requested(2, 1),
        answer(2, 1, "who knows", &[]),
        finished(Completed, Answered, "who knows"),
    ]);
    tape
}

/// Two that only read are made together, one is refused, and then somebody pauses and stops the run.
fn stopped() -> Vec<TapeEvent> {
    let mut tape = begun();
    tape.extend([
        lost(1, 1, false),
        phase(Waits),
        phase(Running),
        requested(1, 2),
        answer(1, 2, "well", &["x.read", "x.no", "x.read"]),
        proposed("t1c0", "x.read", ToolEffect::ReadOnly),
        gated("t1c0", Allow, ReadsOwnData),
        gated("t1c1", Refuse, NotAllowed),
        ended("t1c1", ToolOutcome::Refused),
        proposed("t1c2", "x.read", ToolEffect::ReadOnly),
        gated("t1c2", Allow, ReadsOwnData),
        started("t1c0", 1),
        started("t1c2", 1),
        ended("t1c0", ToolOutcome::Done),
        ended("t1c2", ToolOutcome::Failed),
        phase(Paused),
        phase(Waits),
        phase(Running),
        requested(2, 1),
        lost(2, 1, true),
        finished(Aborted, Stopped, "well\n\n[Stopped]"),
    ]);
    tape
}

/// What does not fit is put into a summary first, at the second attempt.
fn with_a_summary() -> Vec<TapeEvent> {
    let mut tape = vec![queued(), said(), phase(Running)];
    tape.extend([
        side_call(AuxiliaryTaskState::Running, 1, None),
        side_call(AuxiliaryTaskState::Running, 2, None),
        side_call(AuxiliaryTaskState::Succeeded, 2, None),
        requested(1, 1),
        answer(1, 1, "hi", &[]),
        finished(Completed, Answered, "hi"),
    ]);
    tape
}

/// The same where a worker dies over it, and the next goes on without.
fn without_its_summary() -> Vec<TapeEvent> {
    let lost = Some(AuxiliaryReason::Interrupted);
    let mut tape = vec![queued(), said(), phase(Running)];
    tape.extend([
        side_call(AuxiliaryTaskState::Running, 1, None),
        side_call(AuxiliaryTaskState::Failed, 1, lost),
        requested(1, 1),
        answer(1, 1, "hi", &[]),
        finished(Completed, Answered, "hi"),
    ]);
    tape
}

/// Stopped by a limit of so many turns.
pub(super) fn stopped_at(turns: u32) -> Vec<TapeEvent> {
    let mut tape = begun();
    tape.extend([answer(1, 1, "", &["x.do"]), limited(TurnLimit, Some(turns))]);
    tape
}

pub(super) fn all() -> Vec<(&'static str, Vec<TapeEvent>)> {
    vec![
        ("plain", plain()),
        ("with a question", with_a_question()),
        ("taken over", taken_over()),
        ("stopped", stopped()),
        ("limited", stopped_at(1)),
        ("with a summary", with_a_summary()),
        ("without its summary", without_its_summary()),
    ]
}
