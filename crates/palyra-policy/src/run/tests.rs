use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{
    ApprovalState, ApprovalSubject, GateDecision, GateReason, ModelFinish, RiskLevel, RunEnd,
    RunLifecyclePhase as Phase, ToolEffect, ToolOutcome, ToolReach, Trust,
};
use palyra_common::tape::{
    ApprovalDecided, ApprovalRequested, Call, ModelAbandoned, ModelCompleted, ModelRequested,
    RunFinished, Said, TapeEvent, ToolCompleted, ToolGated, ToolProposed, ToolStarted,
};
use palyra_common::time::{Duration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::budget::Amount;

const EVENTS: [Event; 10] = [
    Event::Taken,
    Event::DeadlinePassed,
    Event::NeedsHuman,
    Event::Decided,
    Event::Later,
    Event::Paused,
    Event::Resumed,
    Event::Answered,
    Event::Failed,
    Event::Aborted,
];

proptest! {
    #[test]
    fn what_has_ended_stays_ended_and_everything_else_can_be_stopped(
        events in prop::collection::vec(prop::sample::select(&EVENTS[..]), 0..40),
    ) {
        let mut now = Phase::Queued;
        for event in events {
            let next = phase(now, event);
            if is_final(now) {
                prop_assert_eq!(next, None);
            } else {
                prop_assert_eq!(phase(now, Event::Aborted), Some(Phase::Aborted));
            }
            now = next.unwrap_or(now);
        }
    }
}

#[test]
fn the_table_of_phases() {
    let rows = Phase::ALL.iter().flat_map(|from| {
        EVENTS.iter().filter_map(move |event| Some((*from, *event, phase(*from, *event)?)))
    });
    let rows: Vec<_> = rows.map(|(from, event, to)| format!("{from} {event:?} {to}")).collect();
    let expected = [
        "queued Taken running",
        "queued DeadlinePassed expired",
        "queued Paused paused",
        "queued Aborted aborted",
        "running NeedsHuman waiting_for_approval",
        "running Later queued",
        "running Paused paused",
        "running Answered completed",
        "running Failed failed",
        "running Aborted aborted",
        "waiting_for_approval Decided queued",
        "waiting_for_approval Paused paused",
        "waiting_for_approval Aborted aborted",
        "paused Resumed queued",
        "paused Aborted aborted",
    ];
    assert_eq!(rows, expected);
}

const USED: Used = Used { active: Duration::ZERO, below: Amount { tokens: 0, micros: 0 } };

fn approval() -> ApprovalId {
    ApprovalId::from_parts(Timestamp::UNIX_EPOCH, 7)
}

fn asked(turn: u32, attempt: u32) -> TapeEvent {
    let (history_through, reserved_tokens, reserved_micros) = (0, 10, 20);
    TapeEvent::ModelRequested(ModelRequested {
        turn,
        attempt,
        history_through,
        reserved_tokens,
        reserved_micros,
        limits: None,
        summary_through: None,
    })
}

fn answer(turn: u32, text: &str, tools: &[&str]) -> TapeEvent {
    let call = |(n, tool): (usize, &&str)| Call {
        id: format!("t{turn}c{n}"),
        tool: (*tool).to_owned(),
        arguments: "{}".to_owned(),
    };
    TapeEvent::ModelCompleted(ModelCompleted {
        turn,
        attempt: 1,
        model: "m".into(),
        text: text.into(),
        calls: tools.iter().enumerate().map(call).collect(),
        finish: if tools.is_empty() { ModelFinish::Stop } else { ModelFinish::ToolCalls },
        input_tokens: 3,
        output_tokens: 4,
        passed_over: Vec::new(),
        cost_micros: 5,
        prompt_sha256: String::new(),
        trust: Trust::Operator,
    })
}

fn proposed(call: &str, effect: ToolEffect) -> TapeEvent {
    weighed(call, effect, false)
}

fn weighed(call: &str, effect: ToolEffect, with_result: bool) -> TapeEvent {
    TapeEvent::ToolProposed(ToolProposed {
        call: call.into(),
        tool: "x".into(),
        arguments: "{}".into(),
        bindings: Vec::new(),
        payload_sha256: "00".into(),
        effect,
        risk: RiskLevel::Medium,
        reach: ToolReach::OwnData,
        summary: String::new(),
        with_result,
    })
}

fn gated(call: &str, decision: GateDecision) -> TapeEvent {
    TapeEvent::ToolGated(ToolGated { call: call.into(), decision, reason: GateReason::Risky })
}

fn human_asked(call: &str) -> TapeEvent {
    TapeEvent::ApprovalRequested(ApprovalRequested {
        approval: approval(),
        call: call.into(),
        subject: ApprovalSubject::Tool,
        summary: String::new(),
        expires_at: Timestamp::MAX,
    })
}

fn decided(call: &str, state: ApprovalState) -> TapeEvent {
    let (call, by, reason) = (call.into(), None, None);
    TapeEvent::ApprovalDecided(ApprovalDecided { approval: approval(), call, state, by, reason })
}

fn started(call: &str, attempt: u32) -> TapeEvent {
    TapeEvent::ToolStarted(ToolStarted { call: call.into(), attempt })
}

fn ended(call: &str, trust: Trust) -> TapeEvent {
    TapeEvent::ToolCompleted(ToolCompleted {
        call: call.into(),
        outcome: ToolOutcome::Done,
        content: String::new(),
        artifact: None,
        trust,
    })
}

fn after(events: &[TapeEvent]) -> RunState {
    let mut state = RunState::new();
    events.iter().for_each(|event| state.apply(event));
    state
}

fn then(events: &[TapeEvent]) -> Next {
    next(&after(events), &Limits::default(), USED)
}

#[test]
fn a_question_an_answer_and_the_end() {
    assert_eq!(then(&[]), Next::Ask { turn: 1, attempt: 1 });
    assert_eq!(then(&[asked(1, 1)]), Next::Nothing);
    assert_eq!(then(&[asked(1, 1), answer(1, "hi", &[])]), Next::Finish(RunEnd::Answered));
}

#[test]
fn a_model_that_ends_without_a_word_has_not_answered() {
    let read = [asked(1, 1), answer(1, "let me see", &["a"]), ended("t1c0", Trust::Operator)];
    let silent = [asked(2, 1), answer(2, " \n", &[])];
    let tape: Vec<_> = read.iter().cloned().chain(silent).collect();
    assert_eq!(then(&tape), Next::Finish(RunEnd::NoAnswer));
    assert_eq!(after(&tape).said, "", "what it said on its way is no answer");
    let quiet = [asked(2, 1), answer(2, "", &["a"])];
    let tape: Vec<_> = read.into_iter().chain(quiet).collect();
    assert_eq!(after(&tape).said, "let me see", "and stands while it goes on");
}

#[test]
fn an_answer_that_was_too_long_says_so() {
    let mut cut = answer(1, "and so", &[]);
    if let TapeEvent::ModelCompleted(answer) = &mut cut {
        answer.finish = ModelFinish::Length;
    }
    assert_eq!(then(&[asked(1, 1), cut]), Next::Finish(RunEnd::AnswerCut));
}

#[test]
fn what_a_model_had_read_stays_with_what_it_said() {
    let mut said = answer(1, "", &["a"]);
    if let TapeEvent::ModelCompleted(answer) = &mut said {
        answer.trust = Trust::Untrusted;
    }
    assert_eq!(after(&[asked(1, 1), said]).trust, Trust::Untrusted);
}

#[test]
fn what_only_reads_runs_side_by_side_and_the_rest_alone() {
    let mut tape = vec![asked(1, 1), answer(1, "", &["a", "b", "c"])];
    assert_eq!(then(&tape), Next::Gate(vec![0, 1, 2]));
    let calls = [("t1c0", ToolEffect::ReadOnly), ("t1c1", ToolEffect::SideEffect)];
    for (call, effect) in calls.into_iter().chain([("t1c2", ToolEffect::ReadOnly)]) {
        tape.extend([proposed(call, effect), gated(call, GateDecision::Allow)]);
    }
    assert_eq!(then(&tape), Next::Start(vec![0, 2]));
    tape.extend([started("t1c0", 1), started("t1c2", 1)]);
    assert_eq!(then(&tape), Next::Nothing);
    tape.extend([ended("t1c0", Trust::Operator), ended("t1c2", Trust::Untrusted)]);
    assert_eq!(then(&tape), Next::Start(vec![1]));
    tape.extend([started("t1c1", 1), ended("t1c1", Trust::Operator)]);
    assert_eq!(then(&tape), Next::Ask { turn: 2, attempt: 1 });
    assert_eq!(after(&tape).trust, Trust::Untrusted);
}

#[test]
fn a_human_is_asked_and_the_model_told() {
    let mut tape = vec![
        asked(1, 1),
        answer(1, "", &["a", "b"]),
        proposed("t1c0", ToolEffect::SideEffect),
        gated("t1c0", GateDecision::Ask),
        gated("t1c1", GateDecision::Refuse),
    ];
    assert_eq!(then(&tape), Next::AskHuman(0));
    tape.push(human_asked("t1c0"));
    assert_eq!(then(&tape), Next::Tell(1, ToolOutcome::Refused));
    tape.push(ended("t1c1", Trust::Operator));
    assert_eq!(then(&tape), Next::Wait(vec![approval()]));
    for (state, expected) in [
        (ApprovalState::Approved, Next::Start(vec![0])),
        (ApprovalState::Denied, Next::Tell(0, ToolOutcome::Denied)),
        (ApprovalState::Expired, Next::Tell(0, ToolOutcome::Expired)),
        (ApprovalState::Cancelled, Next::Tell(0, ToolOutcome::Denied)),
    ] {
        let tape: Vec<_> = tape.iter().cloned().chain([decided("t1c0", state)]).collect();
        assert_eq!(then(&tape), expected);
    }
}

#[test]
fn what_was_begun_is_begun_again_only_if_that_does_no_harm() {
    let tape = |effect| {
        [
            asked(1, 1),
            answer(1, "", &["a"]),
            proposed("t1c0", effect),
            gated("t1c0", GateDecision::Allow),
            started("t1c0", 1),
        ]
    };
    assert_eq!(recovery(&after(&tape(ToolEffect::ReadOnly))), [Recovery::Again(0)]);
    assert_eq!(recovery(&after(&tape(ToolEffect::Idempotent))), [Recovery::Again(0)]);
    let doubtful = tape(ToolEffect::SideEffect);
    assert_eq!(recovery(&after(&doubtful)), [Recovery::AskHuman(0)]);
    let answered = |state| {
        let more = [human_asked("t1c0"), decided("t1c0", state)];
        doubtful.iter().cloned().chain(more).collect::<Vec<_>>()
    };
    assert_eq!(then(&answered(ApprovalState::Approved)), Next::Start(vec![0]));
    assert_eq!(then(&answered(ApprovalState::Denied)), Next::Tell(0, ToolOutcome::Unknown));
    assert_eq!(then(&answered(ApprovalState::Expired)), Next::Tell(0, ToolOutcome::Unknown));
}

#[test]
fn what_is_done_with_its_result_was_not_done_without_one() {
    for effect in ToolEffect::ALL {
        let mut tape = vec![
            asked(1, 1),
            answer(1, "", &["a"]),
            weighed("t1c0", *effect, true),
            gated("t1c0", GateDecision::Allow),
            started("t1c0", 1),
        ];
        assert_eq!(recovery(&after(&tape)), [Recovery::Again(0)], "{effect}");
        tape.push(ended("t1c0", Trust::Operator));
        assert_eq!(recovery(&after(&tape)), []);
    }
}

fn lost(attempt: u32, interrupted: bool) -> TapeEvent {
    TapeEvent::ModelAbandoned(ModelAbandoned {
        turn: 1,
        attempt,
        reason: "lost".into(),
        charged_tokens: 10,
        charged_micros: 20,
        said: None,
        interrupted,
    })
}

/// Somebody who pauses a run, or restarts its daemon, has not made its model fail.
#[test]
fn an_attempt_that_was_broken_off_is_no_failure() {
    let mut tape = Vec::new();
    for attempt in 1..=20 {
        tape.extend([asked(1, attempt), lost(attempt, true)]);
    }
    assert_eq!(then(&tape), Next::Ask { turn: 1, attempt: 21 });
    for attempt in 21..=25 {
        tape.extend([asked(1, attempt), lost(attempt, false)]);
    }
    assert_eq!(then(&tape), Next::Finish(RunEnd::ModelFailed));
    tape.extend([asked(1, 26), answer(1, "", &["a"]), ended("t1c0", Trust::Operator)]);
    tape.extend([asked(2, 1), lost(1, true)]);
    assert_eq!((after(&tape).failures(), after(&tape).attempts), (0, 1));
}

#[test]
fn a_lost_attempt_is_charged_and_made_again_until_there_were_enough() {
    let lost = |attempt| lost(attempt, false);
    let mut tape = vec![asked(1, 1)];
    assert_eq!(recovery(&after(&tape)), [Recovery::Abandon { turn: 1, attempt: 1 }]);
    tape.push(lost(1));
    assert_eq!(recovery(&after(&tape)), []);
    assert_eq!((after(&tape).tokens, after(&tape).micros), (10, 20));
    assert_eq!(then(&tape), Next::Ask { turn: 1, attempt: 2 });
    for attempt in 2..=5 {
        tape.extend([asked(1, attempt), lost(attempt)]);
    }
    assert_eq!(then(&tape), Next::Finish(RunEnd::ModelFailed));
}

#[test]
fn what_a_model_had_said_when_the_time_was_up_stands() {
    let broken = |said: Option<&str>| {
        let said = said.map(|text| Said { text: text.to_owned(), trust: Trust::Untrusted });
        TapeEvent::ModelAbandoned(ModelAbandoned {
            turn: 2,
            attempt: 1,
            reason: "the time was up".into(),
            charged_tokens: 10,
            charged_micros: 20,
            said,
            interrupted: false,
        })
    };
    let before = [asked(1, 1), answer(1, "let me see", &["a"]), ended("t1c0", Trust::Operator)];
    let then = |said| {
        let tape: Vec<_> = before.iter().cloned().chain([asked(2, 1), broken(said)]).collect();
        let state = after(&tape);
        (state.said, state.trust)
    };
    assert_eq!(then(None), ("let me see".to_owned(), Trust::Operator));
    assert_eq!(then(Some("it is")), ("it is".to_owned(), Trust::Untrusted));
}

#[test]
fn every_limit_ends_a_run_under_its_own_name() {
    let tape = [asked(1, 1), answer(1, "so far", &["a", "b"])];
    let state = after(&tape);
    let end = |limits: Limits, active| next(&state, &limits, Used { active, ..USED });
    let limits = Limits::default();
    let short = Duration::ZERO;
    assert_eq!(end(limits, short), Next::Gate(vec![0, 1]));
    let one = Limits { turns: 1, ..limits };
    assert_eq!(end(one, short), Next::Finish(RunEnd::TurnLimit));
    let one = Limits { tool_calls: 1, ..limits };
    assert_eq!(end(one, short), Next::Finish(RunEnd::ToolCallLimit));
    assert_eq!(end(limits, limits.active), Next::Finish(RunEnd::TimeLimit));
    let seven = Limits { tokens: Some(7), ..limits };
    assert_eq!(end(seven, short), Next::Finish(RunEnd::TokenLimit));
    let five = Limits { micros: Some(5), ..limits };
    assert_eq!(end(five, short), Next::Finish(RunEnd::CostLimit));
}

#[test]
fn what_others_used_for_a_run_counts_towards_its_limits() {
    let state = after(&[asked(1, 1), answer(1, "so far", &["a"])]);
    let Amount { tokens, micros } = state.spent();
    let limits = |tokens, micros| Limits { tokens, micros, ..Limits::default() };
    let below = Amount { tokens: 30, micros: 40 };
    let used = Used { below, ..USED };
    for (limits, end) in [
        (limits(Some(tokens + 30), None), RunEnd::TokenLimit),
        (limits(None, Some(micros + 40)), RunEnd::CostLimit),
    ] {
        assert_eq!(next(&state, &limits, USED), Next::Gate(vec![0]));
        assert_eq!(next(&state, &limits, used), Next::Finish(end));
    }
    let left = limits(Some(tokens + 31), Some(micros + 41));
    let worst = |tokens, micros| too_dear(&state, &left, used, Amount { tokens, micros });
    assert_eq!(worst(1, 1), None);
    assert_eq!(worst(2, 1), Some(RunEnd::TokenLimit));
    assert_eq!(worst(1, 2), Some(RunEnd::CostLimit));
}

#[test]
fn nothing_comes_after_the_end() {
    let end = TapeEvent::RunFinished(RunFinished {
        phase: Phase::Failed,
        end: RunEnd::ModelFailed,
        answer: String::new(),
        detail: None,
        hint: None,
        limits: None,
    });
    assert_eq!(then(&[asked(1, 1), end]), Next::Nothing);
}

fn any_event() -> impl Strategy<Value = TapeEvent> {
    let call = prop::sample::select(&["t1c0", "t1c1", "t2c0"][..]);
    let effects = prop::sample::select(ToolEffect::ALL);
    let decisions = prop::sample::select(GateDecision::ALL);
    let states = prop::sample::select(ApprovalState::ALL);
    prop_oneof![
        (1..3_u32, 1..3_u32).prop_map(|(turn, attempt)| asked(turn, attempt)),
        (1..3_u32, 0..3_usize).prop_map(|(turn, n)| answer(turn, "x", &["a", "b"][..n.min(2)])),
        (call.clone(), effects, any::<bool>()).prop_map(|(call, effect, with_result)| weighed(
            call,
            effect,
            with_result
        )),
        (call.clone(), decisions).prop_map(|(call, decision)| gated(call, decision)),
        call.clone().prop_map(human_asked),
        (call.clone(), states).prop_map(|(call, state)| decided(call, state)),
        (call.clone(), 1..3_u32).prop_map(|(call, attempt)| started(call, attempt)),
        call.prop_map(|call| ended(call, Trust::Untrusted)),
    ]
}

proptest! {
    /// Whatever a tape says, there is an answer to what comes next; a call that needs a human is
    /// never begun without a yes, and what has ended is not begun again.
    #[test]
    fn nothing_risky_is_begun_without_a_yes(
        events in prop::collection::vec(any_event(), 0..30),
    ) {
        let mut state = RunState::new();
        for event in &events {
            state.apply(event);
            let found = next(&state, &Limits::default(), USED);
            if let Next::Start(calls) = &found {
                for index in calls {
                    let step = &state.calls[*index].step;
                    let yes = matches!(
                        step,
                        CallStep::Decided { state: ApprovalState::Approved, .. }
                    );
                    prop_assert!(yes || *step == CallStep::Allowed, "{step:?}");
                }
            }
            for recovery in recovery(&state) {
                if let Recovery::Again(index) = recovery {
                    let call = &state.calls[index];
                    prop_assert!(
                        call.with_result || call.effect != Some(ToolEffect::SideEffect)
                    );
                }
            }
        }
        // A snapshot is the state.
        let kept = serde_json::to_string(&state).unwrap();
        prop_assert_eq!(serde_json::from_str::<RunState>(&kept).unwrap(), state);
    }
}
