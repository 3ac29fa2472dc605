use palyra_common::runtime_contracts::RunEnd;
use palyra_common::tape::TapeEntry;
use serde_json::json;

use super::*;

const APPROVAL: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn event(kind: &str, payload: serde_json::Value) -> TapeEvent {
    let entry = json!({ "seq": 1, "at": 1, "kind": kind, "payload": payload });
    serde_json::from_value::<TapeEntry>(entry).unwrap().event
}

fn delta(attempt: u32, offset: u64, text: &str) -> TapeEvent {
    let payload = json!({ "turn": 1, "attempt": attempt, "offset": offset, "text": text });
    event("model.delta", payload)
}

fn abandoned(attempt: u32) -> TapeEvent {
    let charged = json!({ "turn": 1, "attempt": attempt, "reason": "the worker was lost",
                          "charged_tokens": 1, "charged_micros": 0 });
    event("model.abandoned", charged)
}

fn completed(text: &str) -> TapeEvent {
    let payload = json!({ "turn": 1, "attempt": 1, "model": "m", "text": text, "calls": [],
        "finish": "stop", "input_tokens": 1, "output_tokens": 1, "cost_micros": 0,
        "prompt_sha256": "" });
    event("model.completed", payload)
}

fn finished(end: &str, answer: &str) -> TapeEvent {
    let phase = if end == "model_failed" { "failed" } else { "completed" };
    event("run.finished", json!({ "phase": phase, "end": end, "answer": answer }))
}

/// What the answer that streams is at the end of these.
fn live(events: &[TapeEvent]) -> String {
    let mut transcript = Transcript::default();
    let pieces = events.iter().flat_map(|event| transcript.on(event)).collect::<Vec<_>>();
    let live = pieces.into_iter().rev().find_map(|piece| match piece {
        Piece::Live(text) => Some(text),
        _ => None,
    });
    live.unwrap_or_default()
}

fn rest(events: &[TapeEvent]) -> (RunEnd, String) {
    let mut transcript = Transcript::default();
    let pieces = events.iter().flat_map(|event| transcript.on(event)).collect::<Vec<_>>();
    match pieces.last() {
        Some(Piece::Finished(finished, rest)) => (finished.end, rest.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_shown_is_told_once_when_all_messages_about_it_are_there() {
    let update = |surface: &str| {
        event("a2ui.update", json!({ "call": "t1c0", "surface": surface, "message": {} }))
    };
    let mut transcript = Transcript::default();
    let first = [update("s1"), update("s1"), update("s2")];
    assert_eq!(first.iter().flat_map(|event| transcript.on(event)).collect::<Vec<_>>(), []);
    let ids = ["s1", "s2"].map(|id| id.parse().unwrap()).to_vec();
    assert_eq!(transcript.on(&delta(1, 0, "x"))[0], Piece::Shown(ids));
    assert_eq!(transcript.on(&delta(1, 1, "y")).len(), 1);
}

#[test]
fn pieces_are_put_together_where_they_belong() {
    assert_eq!(live(&[delta(1, 0, "Hä"), delta(1, 2, "llo")]), "Hällo");
    // Another model of the list begins the same attempt anew.
    assert_eq!(live(&[delta(1, 0, "Hello"), delta(1, 0, "Go")]), "Go");
    assert_eq!(live(&[delta(1, 0, "Hello"), delta(1, 2, "y")]), "Hey");
    // What came before was taken off the tape: the answer follows as a whole.
    assert_eq!(live(&[delta(1, 5, "rest")]), "");
    assert_eq!(live(&[delta(1, 5, "rest"), completed("all of it")]), "all of it");
}

#[test]
fn an_attempt_that_was_given_up_leaves_nothing() {
    let story = [delta(1, 0, "Hel"), abandoned(1)];
    assert_eq!(live(&story), "");
    let story = [&story[..], &[delta(2, 0, "Good")]].concat();
    assert_eq!(live(&story), "Good");
    // Also if nobody said that it was.
    assert_eq!(live(&[delta(1, 0, "Hel"), delta(2, 0, "Go")]), "Go");
    let mut transcript = Transcript::default();
    assert_eq!(transcript.on(&abandoned(1)).len(), 1, "there was nothing to take back");
}

#[test]
fn an_answer_is_shown_once() {
    let answered = [delta(1, 0, "Hi"), completed("Hi"), finished("answered", "Hi")];
    assert_eq!(rest(&answered), (RunEnd::Answered, String::new()));
    // Whoever comes late sees the end alone.
    assert_eq!(rest(&[finished("answered", "Hi")]), (RunEnd::Answered, "Hi".to_owned()));
    let cut = [completed("Part"), finished("turn_limit", "Part\n\n[I stopped: the limit]")];
    assert_eq!(rest(&cut), (RunEnd::TurnLimit, "[I stopped: the limit]".to_owned()));
    // What there was when the time was up stands.
    let broken = json!({ "turn": 1, "attempt": 1, "reason": "the time was up", "charged_tokens": 1,
        "charged_micros": 0, "said": { "text": "Half", "trust": "operator" } });
    let late = [delta(1, 0, "Ha"), event("model.abandoned", broken)];
    assert_eq!(live(&late), "Half");
    let late = [&late[..], &[finished("time_limit", "Half\n\n[I stopped]")]].concat();
    assert_eq!(rest(&late), (RunEnd::TimeLimit, "[I stopped]".to_owned()));
    let failed = [delta(1, 0, "Ha"), abandoned(1), finished("model_failed", "[I could not]")];
    assert_eq!(rest(&failed), (RunEnd::ModelFailed, "[I could not]".to_owned()));
}

#[test]
fn a_call_is_one_line_unless_it_goes_wrong() {
    let mut transcript = Transcript::default();
    let mut lines = |kind: &str, payload| {
        let pieces = transcript.on(&event(kind, payload));
        let line = |piece| match piece {
            Piece::Line(_, line) => line,
            other => panic!("{other:?}"),
        };
        pieces.into_iter().map(line).collect::<Vec<_>>()
    };
    let proposed = json!({ "call": "c", "tool": "fs.read", "arguments": "{}", "bindings": [],
        "payload_sha256": "", "effect": "read_only", "risk": "low", "reach": "own_data",
        "summary": "read notes.md" });
    assert!(lines("tool.proposed", proposed).is_empty());
    let started = |attempt: u32| json!({ "call": "c", "attempt": attempt });
    assert_eq!(lines("tool.started", started(1)), ["→ fs.read: read notes.md"]);
    assert_eq!(lines("tool.started", started(2)), ["→ fs.read: read notes.md (attempt 2)"]);
    let done = |outcome: &str| {
        json!({ "call": "c", "outcome": outcome, "trust": "untrusted",
                                       "content": "there is\nno such file" })
    };
    assert!(lines("tool.completed", done("done")).is_empty());
    assert!(lines("tool.completed", done("denied")).is_empty(), "the decision was told");
    assert_eq!(
        lines("tool.completed", done("failed")),
        ["✗ fs.read: read notes.md: failed: there is no such file"]
    );
}

/// What is refused before it is looked at is never proposed.
#[test]
fn a_call_that_is_refused_has_the_name_of_its_tool() {
    let mut transcript = Transcript::default();
    let call = json!({ "id": "t1c0", "tool": "fs.burn", "arguments": "{}" });
    let answer = json!({ "turn": 1, "attempt": 1, "model": "m", "text": "", "calls": [call],
        "finish": "tool_calls", "input_tokens": 1, "output_tokens": 1, "cost_micros": 0,
        "prompt_sha256": "" });
    transcript.on(&event("model.completed", answer));
    let refused = json!({ "call": "t1c0", "outcome": "refused", "trust": "operator",
        "content": "there is no such tool" });
    let line = "✗ fs.burn: refused: there is no such tool".to_owned();
    let pieces = transcript.on(&event("tool.completed", refused));
    assert_eq!(pieces, [Piece::Line(Tone::Doubtful, line)]);
}

#[test]
fn a_question_is_open_until_somebody_has_decided() {
    let mut transcript = Transcript::default();
    let asked = json!({ "approval": APPROVAL, "call": "c", "subject": "tool", "summary": "s",
                        "expires_at": 9 });
    let id: ApprovalId = APPROVAL.parse().unwrap();
    assert_eq!(transcript.on(&event("approval.requested", asked)), [Piece::Asked(id)]);
    assert_eq!(transcript.asked, [id]);
    let decided = json!({ "approval": APPROVAL, "call": "c", "state": "denied",
                          "by": "operator:anna", "reason": "not there" });
    let pieces = transcript.on(&event("approval.decided", decided));
    let line = "denied by operator:anna: not there".to_owned();
    assert_eq!(pieces, [Piece::Decided(id), Piece::Line(Tone::Quiet, line)]);
    assert!(transcript.asked.is_empty());
}
