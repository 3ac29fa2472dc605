//! What a run adds to a conversation.

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::{ModelFinish, ToolOutcome, Trust};
use palyra_common::tape::{
    Input, ModelAbandoned, ModelCompleted, Said, TapeEntry, TapeEvent, ToolCompleted,
};
use palyra_models::{Part, ToolCall, ToolOutcome as Told, ToolResult, Turn, marked};

use crate::engine::model::Thinker;

/// A run, and what was said in it, the newest first.
pub(super) type Events = (RunId, Vec<TapeEntry>);

/// How much of a text is shown, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Of results that the model has thought about already.
    pub(super) old: usize,
    /// Of those that it has not.
    pub(super) new: usize,
    /// Of what it was asked.
    pub(super) asked: usize,
}

impl Cut {
    pub(super) const NONE: Self = Self::of_results(usize::MAX, usize::MAX);

    /// What was asked stays whole.
    pub(super) const fn of_results(old: usize, new: usize) -> Self {
        Self { old, new, asked: usize::MAX }
    }
}

/// Turns of a conversation.
pub(super) struct Built {
    pub(super) turns: Vec<Turn>,
    /// What operators said.
    pub(super) told: Vec<String>,
    /// The least trusted text.
    pub(super) trust: Trust,
    /// How many of the first answers of a run are missing, with what came of them.
    missing: u32,
}

impl Default for Built {
    fn default() -> Self {
        Self { turns: Vec::new(), told: Vec::new(), trust: Trust::Operator, missing: 0 }
    }
}

impl Built {
    /// What is to be shown of a run.
    pub(super) fn of((run, events): &Events, cut: Cut) -> Self {
        let mut built = Self::default();
        let is_answer = |entry: &TapeEntry| matches!(entry.event, TapeEvent::ModelCompleted(_));
        let last_answer = events.iter().find(|entry| is_answer(entry)).map(|entry| entry.seq);
        let first_answer = events.iter().rev().find_map(|entry| match &entry.event {
            TapeEvent::ModelCompleted(answer) => Some(answer.turn),
            _ => None,
        });
        built.missing = first_answer.map_or(0, |turn| turn.saturating_sub(1));
        for entry in events.iter().rev() {
            match &entry.event {
                TapeEvent::InputMessage(input) => built.input(input, cut.asked),
                TapeEvent::ModelCompleted(answer) => built.answer(*run, answer),
                TapeEvent::ModelAbandoned(lost) => built.part(lost),
                TapeEvent::ToolCompleted(done) => {
                    let is_new = last_answer.is_none_or(|last| entry.seq > last);
                    built.result(*run, done, if is_new { cut.new } else { cut.old });
                }
                // What else is on a tape is about the run, and no part of the conversation.
                TapeEvent::RunQueued(_)
                | TapeEvent::RunPhase(_)
                | TapeEvent::ModelRequested(_)
                | TapeEvent::ModelDelta(_)
                | TapeEvent::ToolProposed(_)
                | TapeEvent::ToolGated(_)
                | TapeEvent::ApprovalRequested(_)
                | TapeEvent::ApprovalDecided(_)
                | TapeEvent::ToolStarted(_)
                | TapeEvent::A2uiUpdate(_)
                | TapeEvent::DeliveryEnqueued(_)
                | TapeEvent::DeliverySettled(_)
                | TapeEvent::RunFinished(_) => {}
            }
        }
        built.answer_all();
        built
    }

    /// Goes on with another one.
    pub(super) fn append(&mut self, other: Self) {
        self.turns.extend(other.turns);
        self.told.extend(other.told);
        self.trust = self.trust.max(other.trust);
    }

    fn input(&mut self, input: &Input, most: usize) {
        self.trust = self.trust.max(input.trust);
        let shown = head(&input.text, most);
        let text = match input.trust {
            Trust::Operator => shown,
            Trust::Untrusted => marked(&format!("from {}", input.sender), &shown),
        };
        if input.trust == Trust::Operator {
            self.told.push(input.text.clone());
        }
        match self.turns.last_mut() {
            Some(Turn::User { parts }) => parts.push(Part::text(text)),
            _ => self.turns.push(Turn::user(text)),
        }
    }

    fn answer(&mut self, run: RunId, answer: &ModelCompleted) {
        let silent = answer.text.trim().is_empty() && answer.calls.is_empty();
        if answer.finish == ModelFinish::Refused || silent {
            return;
        }
        self.trust = self.trust.max(answer.trust);
        let call = |call: &palyra_common::tape::Call| ToolCall {
            id: unique(run, &call.id),
            name: call.tool.clone(),
            arguments: call.arguments.clone(),
        };
        let calls = answer.calls.iter().map(call).collect();
        self.turns.push(Turn::Assistant { text: answer.text.clone(), calls });
    }

    /// What was said when the time was up.
    fn part(&mut self, lost: &ModelAbandoned) {
        if let Some(Said { text, trust }) = &lost.said {
            self.trust = self.trust.max(*trust);
            self.turns.push(Turn::Assistant { text: text.clone(), calls: Vec::new() });
        }
    }

    fn result(&mut self, run: RunId, done: &ToolCompleted, most: usize) {
        self.trust = self.trust.max(done.trust);
        let shown = head(&done.content, most);
        let content = match done.trust {
            Trust::Operator => shown,
            Trust::Untrusted => marked("tool result", &shown),
        };
        let outcome = match done.outcome {
            ToolOutcome::Done => Told::Done,
            ToolOutcome::Failed
            | ToolOutcome::Refused
            | ToolOutcome::Denied
            | ToolOutcome::Expired
            | ToolOutcome::Unknown => Told::Failed,
        };
        let result = ToolResult { call_id: unique(run, &done.call), content, outcome };
        match self.turns.last_mut() {
            // A call has one result, whatever is told of it after that: no provider takes two.
            Some(Turn::ToolResults { results })
                if results.iter().any(|other| other.call_id == result.call_id) => {}
            Some(Turn::ToolResults { results }) => results.push(result),
            _ => self.turns.push(Turn::ToolResults { results: vec![result] }),
        }
    }

    /// A dialect takes a call only with its result, and a run may have ended before there was one.
    fn answer_all(&mut self) {
        let mut results = match self.turns.pop() {
            Some(Turn::ToolResults { results }) => results,
            Some(turn) => {
                self.turns.push(turn);
                Vec::new()
            }
            None => return,
        };
        if let Some(Turn::Assistant { calls, .. }) = self.turns.last() {
            for call in calls {
                if results.iter().all(|result| result.call_id != call.id) {
                    let content = "the run ended before this was done".to_owned();
                    let call_id = call.id.clone();
                    results.push(ToolResult { call_id, content, outcome: Told::Failed });
                }
            }
        }
        if !results.is_empty() {
            self.turns.push(Turn::ToolResults { results });
        }
    }

    pub(super) fn weight(&self, thinker: &dyn Thinker) -> u64 {
        self.turns.iter().map(|turn| weight(turn, thinker)).sum()
    }

    /// Leaves out the oldest answers with what came of them, until it fits; what was asked stays, and
    /// so does the last answer.
    pub(super) fn forget(&mut self, room: u64, thinker: &dyn Thinker) {
        let is_answer = |turn: &Turn| matches!(turn, Turn::Assistant { .. });
        let last = self.turns.iter().rposition(is_answer);
        let (mut left, mut gone) = (self.weight(thinker), false);
        for (index, turn) in std::mem::take(&mut self.turns).into_iter().enumerate() {
            gone = match turn {
                Turn::User { .. } => false,
                Turn::Assistant { .. } => left > room && Some(index) != last,
                // A result is nothing without its call.
                Turn::ToolResults { .. } => gone,
            };
            match gone {
                true => {
                    left = left.saturating_sub(weight(&turn, thinker));
                    self.missing += u32::from(is_answer(&turn));
                }
                false => self.turns.push(turn),
            }
        }
    }

    /// Says in the first question that there was more behind it, if it is not all shown.
    pub(super) fn tell_what_is_missing(&mut self) {
        if let (1.., Some(Turn::User { parts })) = (self.missing, self.turns.first_mut()) {
            let missing = self.missing;
            let text = format!("[your first {missing} steps on this are not shown any more]");
            parts.push(Part::text(text));
        }
    }

    /// How much of it is what was asked.
    pub(super) fn asked(&self, thinker: &dyn Thinker) -> u64 {
        self.turns.iter().flat_map(asked).map(|text| thinker.tokens(text)).sum()
    }
}

fn weight(turn: &Turn, thinker: &dyn Thinker) -> u64 {
    let texts: Vec<&str> = match turn {
        Turn::User { .. } => asked(turn).collect(),
        Turn::Assistant { text, calls } => {
            let arguments = calls.iter().map(|call| call.arguments.as_str());
            std::iter::once(text.as_str()).chain(arguments).collect()
        }
        Turn::ToolResults { results } => {
            results.iter().map(|result| result.content.as_str()).collect()
        }
    };
    texts.into_iter().map(|text| thinker.tokens(text)).sum()
}

/// The texts of a turn in which something is asked.
fn asked(turn: &Turn) -> impl Iterator<Item = &str> {
    let parts = match turn {
        Turn::User { parts } => parts.as_slice(),
        Turn::Assistant { .. } | Turn::ToolResults { .. } => &[],
    };
    parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Image { .. } => None,
    })
}

/// Calls of several runs stand in one conversation, and providers refuse an id that they have seen.
fn unique(run: RunId, call: &str) -> String {
    format!("{run}_{call}")
}

/// The beginning of a text, which says so if it is only that.
fn head(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let cut = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n[only the first {cut} of {} bytes are shown]", &text[..cut], text.len())
}
