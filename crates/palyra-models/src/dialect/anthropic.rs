//! `/v1/messages` of Anthropic, in its version 2026-10-21.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Fault, Progress, as_object, base64, event, shortened};
use crate::answer::Incoming;
use crate::names::ToolNames;
use crate::request::{FinishReason, ModelRequest, Part, ToolOutcome, Turn};

pub(super) fn body(request: &ModelRequest, names: &ToolNames) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": messages(request, names),
        "max_tokens": request.max_output_tokens,
        "stream": true,
    });
    if let Some(system) = &request.system {
        body["system"] = system.as_str().into();
    }
    // There is no temperature: since version 2026-10-21 a request with one is refused.
    if !request.tools.is_empty() {
        let tool = |tool: &crate::ToolSpec| {
            json!({
                "name": names.sent(&tool.name),
                "description": tool.description,
                "input_schema": tool.input_schema,
            })
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// Roles take turns, so what follows from the same one joins what it said before.
fn messages(request: &ModelRequest, names: &ToolNames) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in &request.turns {
        let (role, blocks) = match turn {
            Turn::User { parts } => ("user", parts.iter().filter_map(block).collect()),
            Turn::Assistant { text, calls } => {
                let calls = calls.iter().map(|call| {
                    json!({
                        "type": "tool_use",
                        "id": call.id,
                        "name": names.sent(&call.name),
                        "input": as_object(&call.arguments),
                    })
                });
                ("assistant", words(text).into_iter().chain(calls).collect::<Vec<_>>())
            }
            Turn::ToolResults { results } => {
                let result = |result: &crate::ToolResult| {
                    json!({
                        "type": "tool_result",
                        "tool_use_id": result.call_id,
                        "content": result.content,
                        "is_error": result.outcome == ToolOutcome::Failed,
                    })
                };
                ("user", results.iter().map(result).collect())
            }
        };
        match messages.last_mut() {
            Some((last, before)) if *last == role => before.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    messages.retain(|(_, blocks)| !blocks.is_empty());
    let message = |(role, content)| json!({"role": role, "content": content});
    messages.into_iter().map(message).collect()
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => words(text),
        Part::Image { media_type, bytes } => Some(json!({"type": "image", "source": {
            "type": "base64",
            "media_type": media_type.as_str(),
            "data": base64(bytes),
        }})),
    }
}

/// Text that is empty is refused.
fn words(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<EventUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// Pings, ends of blocks, and what will be invented.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    model: Option<String>,
    usage: Option<EventUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct EventUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

pub(super) fn read(data: &str, to: &mut Incoming<'_>) -> Result<Progress, Fault> {
    match event(data)? {
        Event::MessageStart { message } => {
            to.model = message.model.map(shortened);
            take(message.usage, to);
        }
        Event::ContentBlockStart { index, content_block } => match content_block {
            Block::Text { text } => to.say(&text)?,
            Block::ToolUse { id, name, input } => {
                // It comes in pieces; who gives it at once gives no pieces.
                let whole = input.as_object().is_some_and(|input| !input.is_empty());
                let arguments = if whole { input.to_string() } else { String::new() };
                to.call(Some(index), &id, &name, &arguments)?;
            }
            Block::Other => {}
        },
        Event::ContentBlockDelta { index, delta } => match delta {
            BlockDelta::TextDelta { text } => to.say(&text)?,
            BlockDelta::InputJsonDelta { partial_json } => {
                to.call(Some(index), "", "", &partial_json)?;
            }
            BlockDelta::Other => {}
        },
        Event::MessageDelta { delta, usage } => {
            take(usage, to);
            if let Some(reason) = delta.stop_reason {
                to.finish = Some(match reason.as_str() {
                    "tool_use" => FinishReason::ToolCalls,
                    "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
                    "refusal" => FinishReason::Refused,
                    _ => FinishReason::Stop,
                });
            }
        }
        Event::MessageStop => return Ok(Progress::Done),
        Event::Error { error } => return Err(Fault::Told(json!({ "error": error }))),
        Event::Other => {}
    }
    Ok(Progress::More)
}

/// What came from the cache is told apart from what was read, and not as a part of it.
fn take(usage: Option<EventUsage>, to: &mut Incoming<'_>) {
    let Some(usage) = usage else { return };
    if let Some(read) = usage.input_tokens {
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        let created = usage.cache_creation_input_tokens.unwrap_or(0);
        to.usage.input = Some(read.saturating_add(cached).saturating_add(created));
        to.usage.cached = Some(cached);
    }
    to.usage.output = usage.output_tokens.or(to.usage.output);
}
