//! What a reader of a run sees, worked out without a terminal.

use std::collections::BTreeMap;

use palyra_common::ids::{ApprovalId, SurfaceId};
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase, ToolOutcome};
use palyra_common::tape::{
    ApprovalDecided, ModelAbandoned, ModelDelta, RunFinished, TapeEvent, ToolCompleted, ToolStarted,
};

use crate::output::{Tone, short};

#[cfg(test)]
mod tests;

/// How much of what a tool said about a failure is shown.
const WHY_CHARS: usize = 200;

/// Something to be shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// What there is of the answer that streams: more than before, or another one.
    Live(String),
    /// The answer that streamed is whole, or gone.
    Settled,
    /// A line of its own.
    Line(Tone, String),
    /// These surfaces have changed, and are shown as they are.
    Shown(Vec<SurfaceId>),
    /// Somebody has to decide.
    Asked(ApprovalId),
    /// Somebody has decided.
    Decided(ApprovalId),
    /// The end, with what of the answer was not shown yet.
    Finished(RunFinished, String),
}

/// The fold over the tape of a run.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The turn and the attempt that stream, and what came of them so far.
    live: Option<(u32, u32)>,
    text: String,
    /// Why the last attempt came to nothing.
    why: String,
    /// What the model said last, which is the answer when there is nothing more.
    said: String,
    /// Surfaces that have changed, all messages about which may not be there yet.
    changed: Vec<SurfaceId>,
    /// What each call is about.
    calls: BTreeMap<String, String>,
    pub(super) phase: Option<RunLifecyclePhase>,
    pub(super) asked: Vec<ApprovalId>,
}

impl Transcript {
    /// What an event shows.
    pub(super) fn on(&mut self, event: &TapeEvent) -> Vec<Piece> {
        if let TapeEvent::A2uiUpdate(shown) = event {
            if !self.changed.contains(&shown.surface) {
                self.changed.push(shown.surface.clone());
            }
            return Vec::new();
        }
        // The messages about a surface follow each other.
        let changed = std::mem::take(&mut self.changed);
        let shown = (!changed.is_empty()).then_some(Piece::Shown(changed));
        shown.into_iter().chain(self.pieces(event)).collect()
    }

    fn pieces(&mut self, event: &TapeEvent) -> Vec<Piece> {
        match event {
            TapeEvent::ModelDelta(delta) => self.delta(delta),
            TapeEvent::ModelAbandoned(lost) => self.abandoned(lost),
            TapeEvent::ModelCompleted(answer) => {
                // What is refused before it is looked at has no other name.
                let calls = answer.calls.iter();
                self.calls
                    .extend(calls.map(|call| (call.id.clone(), short(&call.tool, WHY_CHARS))));
                let text = answer.text.trim();
                self.live = None;
                self.text.clear();
                if !text.is_empty() {
                    text.clone_into(&mut self.said);
                }
                let instead = answer.passed_over.iter().map(|who| {
                    let model = short(&answer.model, WHY_CHARS);
                    let what = format!("{model} answers instead of {}", short(who, WHY_CHARS));
                    Piece::Line(Tone::Quiet, what)
                });
                instead.chain([Piece::Live(text.to_owned()), Piece::Settled]).collect()
            }
            TapeEvent::ToolProposed(proposed) => {
                let what = format!("{}: {}", proposed.tool, short(&proposed.summary, WHY_CHARS));
                self.calls.insert(proposed.call.clone(), what);
                Vec::new()
            }
            TapeEvent::ToolStarted(started) => vec![self.started(started)],
            TapeEvent::ToolCompleted(done) => self.completed(done).into_iter().collect(),
            TapeEvent::ApprovalRequested(asked) => {
                self.asked.push(asked.approval);
                vec![Piece::Asked(asked.approval)]
            }
            TapeEvent::ApprovalDecided(decided) => self.decided(decided),
            TapeEvent::RunPhase(moved) => {
                self.phase = Some(moved.phase);
                let reason = moved.reason.as_deref().map(|reason| short(reason, WHY_CHARS));
                let reason = reason.filter(|_| waits(moved.phase));
                // What has failed was told; what is new is that it is not the end.
                let again = || "the model is asked again".to_owned();
                let reason = reason.map(|why| if why == self.why { again() } else { why });
                let line = |reason| Piece::Line(Tone::Quiet, format!("{}: {reason}", moved.phase));
                reason.map(line).into_iter().collect()
            }
            TapeEvent::RunFinished(finished) => self.finished(finished),
            TapeEvent::RunQueued(_)
            | TapeEvent::InputMessage(_)
            | TapeEvent::ModelRequested(_)
            | TapeEvent::ToolGated(_)
            | TapeEvent::A2uiUpdate(_)
            | TapeEvent::DeliveryEnqueued(_)
            | TapeEvent::DeliverySettled(_) => Vec::new(),
        }
    }

    /// A piece says where it belongs: one of another attempt, or of one that began anew, replaces what
    /// was there.
    fn delta(&mut self, delta: &ModelDelta) -> Vec<Piece> {
        let of = Some((delta.turn, delta.attempt));
        if self.live != of {
            self.live = of;
            self.text.clear();
        }
        let offset = usize::try_from(delta.offset).unwrap_or(usize::MAX);
        let end = match self.text.char_indices().nth(offset) {
            Some((at, _)) => at,
            None if self.text.chars().count() == offset => self.text.len(),
            // Pieces before it are gone from the tape: the whole answer follows.
            None => return Vec::new(),
        };
        self.text.truncate(end);
        self.text.push_str(&delta.text);
        vec![Piece::Live(self.text.clone())]
    }

    fn drop_live(&mut self) -> Vec<Piece> {
        self.text.clear();
        match self.live.take() {
            Some(_) => vec![Piece::Live(String::new()), Piece::Settled],
            None => Vec::new(),
        }
    }

    fn call(&self, call: &str) -> String {
        self.calls.get(call).cloned().unwrap_or_else(|| short(call, WHY_CHARS))
    }

    fn abandoned(&mut self, lost: &ModelAbandoned) -> Vec<Piece> {
        match &lost.said {
            Some(said) => {
                let text = said.text.trim();
                self.live = None;
                self.text.clear();
                text.clone_into(&mut self.said);
                vec![Piece::Live(text.to_owned()), Piece::Settled]
            }
            None => {
                let mut pieces = self.drop_live();
                // Whether there is another attempt is told by what follows.
                self.why = short(&lost.reason, WHY_CHARS);
                let what = if lost.interrupted { "interrupted" } else { "no answer yet" };
                pieces.push(Piece::Line(Tone::Quiet, format!("{what}: {}", self.why)));
                pieces
            }
        }
    }

    fn started(&self, started: &ToolStarted) -> Piece {
        let again = match started.attempt {
            0 | 1 => String::new(),
            attempt => format!(" (attempt {attempt})"),
        };
        Piece::Line(Tone::Quiet, format!("→ {}{again}", self.call(&started.call)))
    }

    /// What was begun was told then; here only what did not go well.
    fn completed(&self, done: &ToolCompleted) -> Option<Piece> {
        let tone = match done.outcome {
            ToolOutcome::Done => return None,
            // The decision was told.
            ToolOutcome::Denied | ToolOutcome::Expired => return None,
            ToolOutcome::Failed | ToolOutcome::Refused => Tone::Doubtful,
            ToolOutcome::Unknown => Tone::Bad,
        };
        let (call, outcome) = (self.call(&done.call), done.outcome.as_str());
        let why = short(&done.content, WHY_CHARS);
        Some(Piece::Line(tone, format!("✗ {call}: {outcome}: {why}")))
    }

    fn decided(&mut self, decided: &ApprovalDecided) -> Vec<Piece> {
        self.asked.retain(|asked| *asked != decided.approval);
        let by = decided.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let why = decided.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line = format!("{}{by}{why}", decided.state.as_str());
        let line = Piece::Line(Tone::Quiet, short(&line, WHY_CHARS));
        vec![Piece::Decided(decided.approval), line]
    }

    fn finished(&mut self, finished: &RunFinished) -> Vec<Piece> {
        let mut pieces = self.drop_live();
        self.phase = Some(finished.phase);
        self.asked.clear();
        let answer = finished.answer.trim();
        let rest = match answer.strip_prefix(self.said.as_str()) {
            Some(rest) => rest.trim(),
            // It is what was said, without a secret that was in it.
            None if finished.end == RunEnd::Answered => "",
            None => answer,
        };
        pieces.push(Piece::Finished(finished.clone(), rest.to_owned()));
        pieces
    }
}

/// Whether it is worth telling why a run is in this phase.
fn waits(phase: RunLifecyclePhase) -> bool {
    match phase {
        RunLifecyclePhase::Queued | RunLifecyclePhase::Paused => true,
        RunLifecyclePhase::Running
        | RunLifecyclePhase::WaitingForApproval
        | RunLifecyclePhase::Completed
        | RunLifecyclePhase::Failed
        | RunLifecyclePhase::Aborted
        | RunLifecyclePhase::Expired => false,
    }
}
