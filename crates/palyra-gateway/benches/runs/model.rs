//! A model that answers at once, and the tools that it asks for.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use palyra_common::runtime_contracts::{AuxiliaryPreference, RiskLevel, ToolEffect, ToolReach};
use palyra_gateway::{
    Invocation, Thinker, Thought, ThoughtError, Tool, ToolDone, ToolFault, ToolInfo, Weighed,
};
use palyra_models::{
    Completion, Delta, DeltaSink, FinishReason, ModelRequest, ToolCall, Turn, Usage,
};
use palyra_policy::budget::Amount;
use serde_json::json;

const ANSWER: &str = "Yes: it was sent this morning, and it should be with you by tomorrow noon.";
/// Calls of one turn in which it works.
const CALLS: usize = 8;
/// How often pieces come. The engine writes no more often than every 100 milliseconds, so that each
/// is written by itself.
const PIECE_EVERY: Duration = Duration::from_millis(110);

/// What the model does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    /// It answers.
    Answer,
    /// It wants a call for which a human is asked, and then answers.
    AskOnce,
    /// It works for so many turns, and then wants such calls for ever.
    AskAfter { turns: u32 },
    /// It answers in so many pieces.
    Stream { pieces: usize },
}

pub(crate) struct Model {
    pub(crate) mode: Mutex<Mode>,
    /// Told when a piece is given out.
    pub(crate) pieces: Mutex<Vec<Instant>>,
}

impl Model {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { mode: Mutex::new(Mode::Answer), pieces: Mutex::default() })
    }

    pub(crate) fn does(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }

    async fn stream(&self, pieces: usize, sink: &mut dyn DeltaSink) -> String {
        let mut text = String::new();
        for piece in 0..pieces {
            tokio::time::sleep(PIECE_EVERY).await;
            let piece = format!("piece {piece}, ");
            self.pieces.lock().unwrap().push(Instant::now());
            sink.delta(Delta::Text(&piece));
            text.push_str(&piece);
        }
        // The last one is seen before the whole.
        tokio::time::sleep(PIECE_EVERY).await;
        text
    }
}

/// How many turns the run has had, by the id of the call that was answered last.
fn turns(request: &ModelRequest) -> u32 {
    let Some(Turn::ToolResults { results }) = request.turns.last() else { return 0 };
    let call = results.last().and_then(|result| result.call_id.rsplit_once("_t"));
    call.and_then(|(_, call)| call.split_once('c')?.0.parse().ok()).unwrap()
}

fn thought(text: String, calls: Vec<ToolCall>) -> Thought {
    let finish = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    let usage = Usage { input_tokens: 70, output_tokens: 30, cached_input_tokens: 0 };
    let completion = Completion { text, calls, finish, usage, model: "instant".to_owned() };
    Thought { completion, passed_over: Vec::new(), spent: Amount { tokens: 100, micros: 100 } }
}

fn call(tool: &str) -> ToolCall {
    ToolCall { id: String::new(), name: tool.to_owned(), arguments: "{\"n\":1}".to_owned() }
}

impl Thinker for Model {
    fn think<'a>(
        &'a self,
        _: &'a [String],
        _: u32,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Thought, ThoughtError>> {
        async move {
            let mode = *self.mode.lock().unwrap();
            let answer = || thought(ANSWER.to_owned(), Vec::new());
            Ok(match mode {
                Mode::Answer => {
                    sink.delta(Delta::Text(ANSWER));
                    answer()
                }
                Mode::AskOnce if turns(request) > 0 => answer(),
                Mode::AskAfter { turns: work } if turns(request) < work => {
                    thought(String::new(), vec![call("bench.read"); CALLS])
                }
                Mode::AskOnce | Mode::AskAfter { .. } => {
                    thought(String::new(), vec![call("bench.risky")])
                }
                Mode::Stream { pieces } => thought(self.stream(pieces, sink).await, Vec::new()),
            })
        }
        .boxed()
    }

    fn preferred(&self, _: &[String], _: AuxiliaryPreference) -> Vec<String> {
        Vec::new()
    }

    fn worst_case(&self, _: &[String], _: &ModelRequest) -> Amount {
        Amount { tokens: 5_000, micros: 5_000 }
    }

    fn reads(&self, _: &[String], _: u64) -> Option<u64> {
        Some(128_000)
    }

    fn tokens(&self, text: &str) -> u64 {
        text.len() as u64 / 4 + 1
    }
}

/// A tool that does nothing, and tells when.
pub(crate) struct Told {
    name: &'static str,
    risk: RiskLevel,
    effect: ToolEffect,
    used: Option<Mutex<Sender<Instant>>>,
}

impl Told {
    pub(crate) fn read() -> Arc<dyn Tool> {
        let (risk, effect) = (RiskLevel::Low, ToolEffect::ReadOnly);
        Arc::new(Self { name: "bench.read", risk, effect, used: None })
    }

    pub(crate) fn risky(used: Sender<Instant>) -> Arc<dyn Tool> {
        let (risk, effect) = (RiskLevel::High, ToolEffect::SideEffect);
        Arc::new(Self { name: "bench.risky", risk, effect, used: Some(Mutex::new(used)) })
    }
}

impl Tool for Told {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name,
            description: "does nothing",
            input_schema: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
        }
    }

    fn weigh<'a>(&'a self, _: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        let (risk, effect) = (self.risk, self.effect);
        let (reach, summary) = (ToolReach::OwnData, "do nothing".to_owned());
        let (bindings, with_result) = (Vec::new(), false);
        ready(Ok(Weighed { effect, risk, reach, summary, bindings, with_result })).boxed()
    }

    fn run<'a>(&'a self, _: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        if let Some(used) = &self.used {
            used.lock().unwrap().send(Instant::now()).unwrap();
        }
        ready(Ok(ToolDone::own("done"))).boxed()
    }
}
