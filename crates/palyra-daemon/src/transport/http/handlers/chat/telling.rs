//! The tape of a run as its client is told of it: words once and in order, and the end.
//!
//! What an agent says on its way, before it uses tools of its own, is a part of the answer. What a client
//! has been told cannot be taken back: an attempt that follows a broken one has to begin with the same
//! words, and what is said twice is told once.

use std::collections::{BTreeMap, BTreeSet};

use palyra_common::ErrorCode;
use palyra_common::StableErrorEnvelope;
use palyra_common::api::{ChatCall, ChatFinish, ChatFunctionCall, ChatUsage};
use palyra_common::ids::{ApprovalId, RunId};
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase};
use palyra_common::tape::{
    Call, ModelAbandoned, ModelCompleted, ModelDelta, RunFinished, TapeEvent,
};

/// What stands between what was said in two turns.
const BETWEEN: &str = "\n\n";

/// What is new to a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    /// More words.
    Words(String),
    /// It may be that a human is waited for.
    MayWait,
    /// The end of the answer.
    Over(ChatFinish, Vec<ChatCall>),
    /// There is none.
    Failed(StableErrorEnvelope),
}

/// How an answer comes to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comes {
    /// Piece by piece, as they are said.
    InPieces,
    /// Once it is there: what was broken off was never told.
    AsAWhole,
}

/// What a client knows of a run.
#[derive(Debug)]
pub(super) struct Telling {
    run: RunId,
    comes: Comes,
    /// What was told of this turn.
    told: String,
    /// Whether anything was told at all.
    has_told: bool,
    /// The attempt that is heard, with what it has said; nothing: its beginning was missed.
    heard: Option<(u32, u32, Option<String>)>,
    /// What the agent said last.
    said: String,
    usage: ChatUsage,
    /// The tools of the client.
    tools: BTreeSet<String>,
    calls: Vec<Call>,
    /// Calls that have come to an end in the run.
    done: BTreeSet<String>,
    /// Questions without an answer.
    asked: BTreeMap<ApprovalId, String>,
}

impl Telling {
    pub(super) fn new(run: RunId, comes: Comes) -> Self {
        Self {
            run,
            comes,
            told: String::new(),
            has_told: false,
            heard: None,
            said: String::new(),
            usage: ChatUsage::default(),
            tools: BTreeSet::new(),
            calls: Vec::new(),
            done: BTreeSet::new(),
            asked: BTreeMap::new(),
        }
    }

    /// What its answers took so far.
    pub(super) fn usage(&self) -> ChatUsage {
        self.usage
    }

    /// The question that waits longest.
    pub(super) fn question(&self) -> Option<(ApprovalId, &str)> {
        self.asked.iter().next().map(|(id, summary)| (*id, summary.as_str()))
    }

    /// Reads the next event.
    pub(super) fn read(&mut self, event: &TapeEvent) -> Vec<News> {
        match event {
            TapeEvent::InputBrought(brought) => {
                self.tools.extend(brought.tools.iter().map(|tool| tool.name.clone()));
                Vec::new()
            }
            TapeEvent::ModelDelta(delta) => self.delta(delta),
            TapeEvent::ModelAbandoned(lost) => self.abandoned(lost),
            TapeEvent::ModelCompleted(answer) => self.completed(answer),
            TapeEvent::ToolCompleted(done) => {
                self.done.insert(done.call.clone());
                Vec::new()
            }
            TapeEvent::ApprovalRequested(asked) => {
                self.asked.insert(asked.approval, asked.summary.clone());
                Vec::new()
            }
            TapeEvent::ApprovalDecided(decided) => {
                self.asked.remove(&decided.approval);
                Vec::new()
            }
            TapeEvent::RunPhase(moved) => match moved.phase {
                RunLifecyclePhase::WaitingForApproval => vec![News::MayWait],
                RunLifecyclePhase::Queued
                | RunLifecyclePhase::Running
                | RunLifecyclePhase::Paused
                | RunLifecyclePhase::Completed
                | RunLifecyclePhase::Failed
                | RunLifecyclePhase::Aborted
                | RunLifecyclePhase::Expired => Vec::new(),
            },
            TapeEvent::RunFinished(finished) => self.finished(finished),
            TapeEvent::RunQueued(_)
            | TapeEvent::InputMessage(_)
            | TapeEvent::ModelRequested(_)
            | TapeEvent::ToolProposed(_)
            | TapeEvent::ToolGated(_)
            | TapeEvent::ToolStarted(_)
            | TapeEvent::DeliveryEnqueued(_)
            | TapeEvent::A2uiUpdate(_)
            | TapeEvent::DeliverySettled(_)
            | TapeEvent::AuxTask(_) => Vec::new(),
        }
    }

    fn delta(&mut self, delta: &ModelDelta) -> Vec<News> {
        if self.comes == Comes::AsAWhole {
            return Vec::new();
        }
        let of = (delta.turn, delta.attempt);
        let mut said = match self.heard.take() {
            Some((turn, attempt, said)) if (turn, attempt) == of => said,
            Some(_) | None => Some(String::new()),
        };
        // Pieces that are gone from the tape are in the answer as a whole.
        said = said.filter(|said| said.chars().count() as u64 == delta.offset);
        if let Some(said) = &mut said {
            said.push_str(&delta.text);
        }
        self.heard = Some((delta.turn, delta.attempt, said.clone()));
        said.map_or_else(Vec::new, |said| self.tell(&said, Whole::NotYet))
    }

    fn abandoned(&mut self, lost: &ModelAbandoned) -> Vec<News> {
        self.heard = None;
        let Some(said) = &lost.said else { return Vec::new() };
        self.said.clone_from(&said.text);
        // Blanks at its end are not in it.
        if self.told.trim_end() == said.text {
            return Vec::new();
        }
        self.tell(&said.text, Whole::Yes)
    }

    fn completed(&mut self, answer: &ModelCompleted) -> Vec<News> {
        let news = self.tell(&answer.text, Whole::Yes);
        self.heard = None;
        self.told.clear();
        if !answer.text.trim().is_empty() {
            self.said.clone_from(&answer.text);
        }
        self.usage.prompt_tokens = self.usage.prompt_tokens.saturating_add(answer.input_tokens);
        let written = self.usage.completion_tokens.saturating_add(answer.output_tokens);
        self.usage.completion_tokens = written;
        self.usage.total_tokens = self.usage.prompt_tokens.saturating_add(written);
        self.calls.clone_from(&answer.calls);
        self.done.clear();
        news
    }

    /// Tells what of `text`, by now all that was said in this turn, was not told yet.
    fn tell(&mut self, text: &str, whole: Whole) -> Vec<News> {
        let Some(more) = text.strip_prefix(&self.told) else {
            // It is not there yet what was told before, or is not the same.
            let is_on_its_way = whole == Whole::NotYet && self.told.starts_with(text);
            return if is_on_its_way { Vec::new() } else { vec![started_over(self.run)] };
        };
        if more.is_empty() || (self.told.is_empty() && text.trim().is_empty()) {
            return Vec::new();
        }
        let between = if self.told.is_empty() && self.has_told { BETWEEN } else { "" };
        let words = format!("{between}{more}");
        self.told = text.to_owned();
        self.has_told = true;
        vec![News::Words(words)]
    }

    fn finished(&mut self, finished: &RunFinished) -> Vec<News> {
        let over = |finish| News::Over(finish, Vec::new());
        match finished.phase {
            RunLifecyclePhase::Completed => {}
            RunLifecyclePhase::Queued
            | RunLifecyclePhase::Running
            | RunLifecyclePhase::WaitingForApproval
            | RunLifecyclePhase::Paused
            | RunLifecyclePhase::Failed
            | RunLifecyclePhase::Aborted
            | RunLifecyclePhase::Expired => return vec![failed(self.run, finished)],
        }
        let finish = match finished.end {
            RunEnd::Answered => return vec![over(ChatFinish::Stop)],
            RunEnd::AnswerCut => return vec![over(ChatFinish::Length)],
            RunEnd::HandedOver => return vec![News::Over(ChatFinish::ToolCalls, self.handed())],
            RunEnd::NoAnswer => ChatFinish::Stop,
            RunEnd::ModelRefused => ChatFinish::ContentFilter,
            RunEnd::TurnLimit
            | RunEnd::ToolCallLimit
            | RunEnd::TimeLimit
            | RunEnd::TokenLimit
            | RunEnd::CostLimit
            | RunEnd::BudgetSpent => ChatFinish::Length,
            RunEnd::ModelFailed
            | RunEnd::CrashLoop
            | RunEnd::Misconfigured
            | RunEnd::Stopped
            | RunEnd::DeadlinePassed => return vec![failed(self.run, finished)],
        };
        // Why there is no more.
        let note = finished.answer.strip_prefix(&self.said).unwrap_or(&finished.answer).trim();
        let between = if self.has_told { BETWEEN } else { "" };
        let note = (!note.is_empty()).then(|| News::Words(format!("{between}{note}")));
        note.into_iter().chain([over(finish)]).collect()
    }

    /// The calls that the client is to make, by the names under which their results come back.
    fn handed(&self) -> Vec<ChatCall> {
        let is_theirs =
            |call: &&Call| self.tools.contains(&call.tool) && !self.done.contains(&call.id);
        let told = |call: &Call| ChatCall {
            id: palyra_gateway::call_name(self.run, &call.id),
            kind: "function".to_owned(),
            function: ChatFunctionCall {
                name: call.tool.clone(),
                arguments: call.arguments.clone(),
            },
        };
        self.calls.iter().filter(is_theirs).map(told).collect()
    }
}

/// Whether a text is all that was said in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    NotYet,
}

fn started_over(run: RunId) -> News {
    let what = format!("the model of the run {run} has begun its answer again, in other words");
    let details = serde_json::json!({ "run": run });
    let envelope = StableErrorEnvelope::new(ErrorCode::ChatStartedOver, what);
    News::Failed(envelope.with_details(details))
}

fn failed(run: RunId, finished: &RunFinished) -> News {
    let code = match finished.end {
        RunEnd::TokenLimit => ErrorCode::ChatTooLong,
        RunEnd::BudgetSpent | RunEnd::CostLimit => ErrorCode::ChatBudgetSpent,
        RunEnd::Stopped => ErrorCode::ChatStopped,
        RunEnd::Answered
        | RunEnd::HandedOver
        | RunEnd::NoAnswer
        | RunEnd::AnswerCut
        | RunEnd::TurnLimit
        | RunEnd::ToolCallLimit
        | RunEnd::TimeLimit
        | RunEnd::ModelFailed
        | RunEnd::ModelRefused
        | RunEnd::CrashLoop
        | RunEnd::Misconfigured
        | RunEnd::DeadlinePassed => ErrorCode::ChatRunFailed,
    };
    let because = finished.detail.as_deref().unwrap_or(finished.end.as_str());
    let mut what = format!("the run {run} gave no answer: {because}");
    if let (ErrorCode::ChatRunFailed, Some(hint)) = (code, &finished.hint) {
        what = format!("{what}. {}", hint.trim_end_matches('.'));
    }
    let details = serde_json::json!({ "run": run, "end": finished.end });
    News::Failed(StableErrorEnvelope::new(code, what).with_details(details))
}
