//! The dialect of OpenAI.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::asked::Asked;
use super::reply::{Quirk, Reply};
use super::script::{Rendered, halves, pieces};

const ID: &str = "chatcmpl-sim";
/// No clock is asked.
const CREATED: u64 = 1_700_000_000;

/// What is wrong with a request, as the real one would say it.
pub(super) fn fault(asked: &Asked) -> Option<String> {
    let body = &asked.body;
    if !body["model"].is_string() {
        return Some("you must provide a model parameter".into());
    }
    if asked.messages().is_empty() {
        return Some("messages is empty".into());
    }
    let mut calls = BTreeSet::new();
    for message in asked.messages() {
        let made = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        calls.extend(made.iter().filter_map(|call| call["id"].as_str()));
        match message["role"].as_str() {
            Some("system" | "developer" | "user" | "assistant") => {}
            Some("tool") if calls.contains(message["tool_call_id"].as_str().unwrap_or("")) => {}
            Some("tool") => return Some("a message with role tool answers no tool_calls".into()),
            Some(_) | None => return Some("a message has an unknown role".into()),
        }
    }
    None
}

pub(super) fn error(code: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": code, "param": null, "code": code}})
}

pub(super) fn models(model: &str) -> Value {
    let model = json!({"id": model, "object": "model", "created": CREATED, "owned_by": "palyra"});
    json!({"object": "list", "data": [model]})
}

fn usage([input, output, cached]: [u64; 3]) -> Value {
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    })
}

pub(super) fn whole(reply: &Reply, asked: &Asked) -> Value {
    let call = |(at, (name, arguments)): (usize, &(String, String))| {
        json!({"id": id(at), "type": "function",
               "function": {"name": name, "arguments": arguments}})
    };
    let calls: Vec<Value> = reply.calls.iter().enumerate().map(call).collect();
    let content = if reply.text.is_empty() { Value::Null } else { reply.text.as_str().into() };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": ID,
        "object": "chat.completion",
        "created": CREATED,
        "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.reason(),
                     "logprobs": null}],
        "usage": usage(reply.tokens(&asked.body)),
    })
}

fn id(at: usize) -> String {
    format!("call_sim_{at}")
}

pub(super) fn events(reply: &Reply, asked: &Asked) -> Rendered {
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": ID,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": asked.body["model"],
            "choices": choices,
        });
        if !usage.is_null() {
            chunk["usage"] = usage;
        }
        chunk
    };
    let delta = |delta: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
    };
    let mut chunks = vec![delta(json!({"role": "assistant", "content": ""}))];
    let first_text = chunks.len();
    for piece in pieces(&reply.text) {
        if reply.has(Quirk::Chatter) {
            chunks.push(delta(json!({"role": "assistant"})));
        }
        chunks.push(delta(json!({"content": piece})));
    }
    for (at, (name, arguments)) in reply.calls.iter().enumerate() {
        chunks.extend(call_pieces(reply, at, name, arguments).into_iter().map(delta));
    }
    let told = usage(reply.tokens(&asked.body));
    let with_last = if reply.has(Quirk::UsageWithLast) { told.clone() } else { Value::Null };
    let reason = if reply.has(Quirk::NoFinish) { Value::Null } else { reply.reason().into() };
    chunks.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), with_last));
    let wanted = asked.body["stream_options"]["include_usage"] == true;
    if wanted && !reply.has(Quirk::NoUsage) && !reply.has(Quirk::UsageWithLast) {
        chunks.push(chunk(json!([]), told));
    }
    let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    if reply.has(Quirk::Chatter) {
        events.insert(1, ": PROCESSING\n\n".into());
    }
    if !reply.has(Quirk::NoDone) {
        events.push("data: [DONE]\n\n".into());
    }
    let text = format!("data: {}\n\n", delta(json!({"content": "and so on "})));
    let argument = json!({"tool_calls": [{"index": 0, "function": {"arguments": "and so on "}}]});
    let argument = format!("data: {}\n\n", delta(argument));
    Rendered { events, first_text, text, argument }
}

fn call_pieces(reply: &Reply, at: usize, name: &str, arguments: &str) -> Vec<Value> {
    let index = if reply.has(Quirk::SameIndex) { 0 } else { at };
    let piece = |first: bool, arguments: Value| {
        let mut call = json!({"index": index, "function": {"arguments": arguments}});
        if first {
            call["id"] = id(at).into();
            call["type"] = "function".into();
            call["function"]["name"] = name.into();
        }
        if let Some(call) = call.as_object_mut() {
            if reply.has(Quirk::NoIndex) {
                call.remove("index");
            }
            if reply.has(Quirk::NoIds) {
                call.remove("id");
            }
        }
        json!({"tool_calls": [call]})
    };
    if reply.has(Quirk::ObjectArguments) {
        return vec![piece(true, serde_json::from_str(arguments).unwrap_or_default())];
    }
    let (start, end) = halves(arguments);
    vec![piece(true, "".into()), piece(false, start.into()), piece(false, end.into())]
}
