//! The dialect of Anthropic, in its version 2026-10-21.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::asked::Asked;
use super::reply::{Quirk, Reply};
use super::script::{Rendered, halves, pieces};

const ID: &str = "msg_sim";

/// What is wrong with a request, as the real one would say it.
pub(super) fn fault(asked: &Asked) -> Option<String> {
    let body = &asked.body;
    for (field, is_there) in [
        ("model", body["model"].is_string()),
        ("max_tokens", body["max_tokens"].as_u64().is_some_and(|tokens| tokens > 0)),
        ("messages", !asked.messages().is_empty()),
    ] {
        if !is_there {
            return Some(format!("{field}: field required"));
        }
    }
    if let Some(gone) =
        ["temperature", "top_p", "top_k"].iter().find(|name| body.get(name).is_some())
    {
        return Some(format!("{gone}: extra inputs are not permitted"));
    }
    let mut calls = BTreeSet::new();
    for message in asked.messages() {
        if !matches!(message["role"].as_str(), Some("user" | "assistant" | "system")) {
            return Some("messages: unexpected role".into());
        }
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        if blocks.is_empty() && message["content"].as_str().is_none_or(str::is_empty) {
            return Some("messages: content must be non-empty".into());
        }
        for block in blocks {
            let of = |field: &str| block[field].as_str().unwrap_or_default();
            match of("type") {
                "text" if of("text").trim().is_empty() => {
                    return Some("messages: text content blocks must be non-empty".into());
                }
                "tool_use" if !block["input"].is_object() => {
                    return Some("messages: tool_use.input must be an object".into());
                }
                "tool_use" => drop(calls.insert(of("id"))),
                "tool_result" if !calls.contains(of("tool_use_id")) => {
                    return Some("messages: unexpected tool_use_id in tool_result blocks".into());
                }
                "text" | "image" | "tool_result" => {}
                other => return Some(format!("messages: unknown block type {other}")),
            }
        }
    }
    None
}

pub(super) fn error(code: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": code, "message": message}})
}

pub(super) fn models(model: &str) -> Value {
    let entry = json!({
        "type": "model",
        "id": model,
        "display_name": "Simulator",
        "created_at": "2023-11-14T22:13:20Z",
    });
    json!({"data": [entry], "has_more": false, "first_id": model, "last_id": model})
}

fn reason(reply: &Reply) -> &'static str {
    match reply.reason() {
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        _ => "end_turn",
    }
}

/// What came from the cache does not count as read.
fn usage([input, output, cached]: [u64; 3]) -> Value {
    json!({
        "input_tokens": input.saturating_sub(cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
    })
}

fn message(asked: &Asked, content: Vec<Value>, reason: Value, usage: Value) -> Value {
    json!({
        "id": ID,
        "type": "message",
        "role": "assistant",
        "model": asked.body["model"],
        "content": content,
        "stop_reason": reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

pub(super) fn whole(reply: &Reply, asked: &Asked) -> Value {
    let text = (!reply.text.is_empty()).then(|| json!({"type": "text", "text": reply.text}));
    let calls = reply.calls.iter().enumerate().map(|(at, (name, arguments))| {
        // Here it is always JSON, so what is none cannot be said.
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": id(at), "name": name, "input": input})
    });
    let content = text.into_iter().chain(calls).collect();
    message(asked, content, reason(reply).into(), usage(reply.tokens(&asked.body)))
}

fn id(at: usize) -> String {
    format!("toolu_sim_{at}")
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text_delta(index: usize, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn json_delta(index: usize, json: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
}

pub(super) fn events(reply: &Reply, asked: &Asked) -> Rendered {
    let [input, output, cached] = reply.tokens(&asked.body);
    let told = !reply.has(Quirk::NoUsage);
    let at_start = if told { usage([input, 1, cached]) } else { json!({}) };
    let start = message(asked, Vec::new(), Value::Null, at_start);
    let mut all = vec![json!({"type": "message_start", "message": start}), json!({"type": "ping"})];
    let mut index = 0;
    let mut first_text = all.len();
    if !reply.text.is_empty() || reply.calls.is_empty() {
        let block = json!({"type": "text", "text": ""});
        all.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        first_text = all.len();
        for piece in pieces(&reply.text) {
            if reply.has(Quirk::Chatter) {
                all.push(json!({"type": "ping"}));
            }
            all.push(text_delta(index, piece));
        }
        all.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    for (at, (name, arguments)) in reply.calls.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": id(at), "name": name, "input": {}});
        all.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let (start, end) = halves(arguments);
        all.extend(["", start, end].map(|piece| json_delta(index, piece)));
        all.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    let reason = if reply.has(Quirk::NoFinish) { Value::Null } else { reason(reply).into() };
    let mut end = json!({"type": "message_delta",
                         "delta": {"stop_reason": reason, "stop_sequence": null}});
    if told {
        end["usage"] = json!({"output_tokens": output});
    }
    all.push(end);
    if !reply.has(Quirk::NoDone) {
        all.push(json!({"type": "message_stop"}));
    }
    let events = all.iter().map(event).collect();
    let text = event(&text_delta(0, "and so on "));
    let argument = event(&json_delta(0, "and so on "));
    Rendered { events, first_text, text, argument }
}
