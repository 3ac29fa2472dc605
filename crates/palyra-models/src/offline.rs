//! A model that is none: a few rules, always there, the same answer to the same question.
//!
//! It shows a newcomer that everything works before there is a key, and lets tests do without chance.
//! The lines that it understands are those of [`command`](commands); each becomes a call of a tool if
//! that tool is offered. To everything else it says what it is.

mod commands;

#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;

use crate::error::ModelError;
use crate::mark::unmarked;
use crate::port::{Delta, DeltaSink, ModelProvider};
use crate::request::{
    Completion, FinishReason, ModelRequest, Part, ToolCall, ToolOutcome, ToolResult, Turn, Usage,
};
use crate::tokens::{count_request, count_tokens};
use commands::Command;

/// What the provider and its model are called.
pub const OFFLINE: &str = "offline";

/// How much of what a tool or a person said is repeated.
const QUOTED_CHARS: usize = 1_000;
/// How long a piece of the stream is, about.
const PIECE_CHARS: usize = 24;

/// The model itself. Asking it never fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl ModelProvider for Offline {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Completion, ModelError>> {
        Box::pin(async move { Ok(answer(request, sink)) })
    }
}

fn answer(request: &ModelRequest, sink: &mut dyn DeltaSink) -> Completion {
    let (text, calls) = match request.turns.last() {
        Some(Turn::ToolResults { results }) => (told(request, results), Vec::new()),
        Some(Turn::User { parts }) => reply(request, parts),
        Some(Turn::Assistant { .. }) | None => (introduction(), Vec::new()),
    };
    let (text, is_cut) = cut(text, request.max_output_tokens);
    for piece in pieces(&text) {
        sink.delta(Delta::Text(piece));
    }
    let finish = match (is_cut, calls.is_empty()) {
        (true, _) => FinishReason::Length,
        (false, false) => FinishReason::ToolCalls,
        (false, true) => FinishReason::Stop,
    };
    let written = calls.iter().map(|call| count_tokens(&call.name) + count_tokens(&call.arguments));
    let usage = Usage {
        input_tokens: count_request(request),
        output_tokens: count_tokens(&text) + written.sum::<u64>(),
        cached_input_tokens: 0,
    };
    Completion { text, calls, finish, usage, model: OFFLINE.into() }
}

fn reply(request: &ModelRequest, parts: &[Part]) -> (String, Vec<ToolCall>) {
    let words: Vec<&str> = parts.iter().filter_map(Part::words).collect();
    let said = unmarked(&words.join("\n"));
    let offered = |tool: &str| request.tools.iter().any(|of| of.name == tool);
    let mut calls = Vec::new();
    let mut missing = Vec::new();
    for Command { tool, arguments } in commands::read(&said) {
        if offered(&tool) {
            // Unlike any other of the conversation.
            let id = format!("offline-{}-{}", request.turns.len(), calls.len());
            calls.push(ToolCall { id, name: tool, arguments });
        } else {
            missing.push(format!("There is no tool {tool} here, so I cannot do that yet."));
        }
    }
    if !calls.is_empty() {
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        missing.insert(0, format!("I am going to use {}.", names.join(", ")));
    }
    let text = match missing.is_empty() {
        false => missing.join("\n"),
        true if commands::is_greeting(&said) => help(request),
        true if said.trim().is_empty() && !parts.is_empty() => {
            format!("{} I cannot look at pictures.", introduction())
        }
        true => format!("{} You said: {}", introduction(), quoted(said.trim())),
    };
    (text, calls)
}

/// What came back from tools, plainly.
fn told(request: &ModelRequest, results: &[ToolResult]) -> String {
    let called = request.turns.iter().rev().find_map(|turn| match turn {
        Turn::Assistant { calls, .. } => Some(calls.as_slice()),
        Turn::User { .. } | Turn::ToolResults { .. } => None,
    });
    let name = |id: &str| {
        let call = called.unwrap_or_default().iter().find(|call| call.id == id);
        call.map_or("a tool", |call| call.name.as_str())
    };
    let lines = results.iter().map(|result| {
        let (name, content) = (name(&result.call_id), quoted(&unmarked(&result.content)));
        match result.outcome {
            ToolOutcome::Done => format!("{name} gave: {content}"),
            ToolOutcome::Failed => format!("{name} failed: {content}"),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn introduction() -> String {
    "This is the offline model, which follows a few rules and is no AI. Say help to see what it can \
     do."
    .into()
}

fn help(request: &ModelRequest) -> String {
    let offered = |tool: &str| request.tools.iter().any(|of| of.name == tool);
    let mut text =
        "Hello. This is the offline model: it follows a few rules, is no AI, needs no key \
                    and costs nothing. It understands these lines:\n"
            .to_owned();
    for (line, tool) in commands::HELP {
        let missing = if tool.is_empty() || offered(tool) { "" } else { " (not there yet)" };
        text.push_str(&format!("  {line}{missing}\n"));
    }
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    if !names.is_empty() {
        text.push_str(&format!("Tools: {}\n", names.join(", ")));
    }
    text + "To use an AI, add a provider under [models] in the configuration."
}

fn quoted(text: &str) -> String {
    let left = text.chars().count().saturating_sub(QUOTED_CHARS);
    let mut shown: String = text.chars().take(QUOTED_CHARS).collect();
    if left > 0 {
        shown.push_str(&format!("… ({left} more characters)"));
    }
    shown
}

/// As much of a text as is allowed.
fn cut(text: String, max_tokens: u32) -> (String, bool) {
    let mut left = u64::from(max_tokens);
    if count_tokens(&text) <= left {
        return (text, false);
    }
    let fits = pieces(&text).take_while(|piece| {
        let tokens = count_tokens(piece);
        let fits = tokens <= left;
        left = left.saturating_sub(tokens);
        fits
    });
    (fits.collect(), true)
}

/// A text in pieces that end after words.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.char_indices().nth(PIECE_CHARS).map_or(rest.len(), |(at, _)| at);
        let space = rest[start..].find([' ', '\n']).map_or(rest.len(), |at| start + at + 1);
        let (piece, left) = rest.split_at(space);
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}
