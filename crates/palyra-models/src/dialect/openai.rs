//! `/chat/completions` of OpenAI, and of the many who do as OpenAI does, more or less.

use reqwest::Url;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Fault, Progress, as_object, base64, event, shortened};
use crate::answer::Incoming;
use crate::names::ToolNames;
use crate::request::{FinishReason, ModelRequest, Part, ToolOutcome, Turn};

pub(super) fn body(request: &ModelRequest, names: &ToolNames, url: &Url) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": messages(request, names),
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    // OpenAI's newer models refuse the old name, and many of the others do not know the new one.
    let limit = match url.host_str() {
        Some("api.openai.com") => "max_completion_tokens",
        Some(_) | None => "max_tokens",
    };
    body[limit] = request.max_output_tokens.into();
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if !request.tools.is_empty() {
        let tool = |tool: &crate::ToolSpec| {
            json!({"type": "function", "function": {
                "name": names.sent(&tool.name),
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

fn messages(request: &ModelRequest, names: &ToolNames) -> Vec<Value> {
    let system = request.system.iter().map(|text| json!({"role": "system", "content": text}));
    let mut messages: Vec<Value> = system.collect();
    for turn in &request.turns {
        match turn {
            Turn::User { parts } => {
                messages.push(json!({"role": "user", "content": content(parts)}));
            }
            Turn::Assistant { text, calls } => {
                let calls = calls.iter().map(|call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": names.sent(&call.name),
                        "arguments": as_object(&call.arguments).to_string(),
                    }})
                });
                let calls: Vec<Value> = calls.collect();
                let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
                message.insert("content".into(), json!(text));
                if !calls.is_empty() {
                    message.insert("tool_calls".into(), calls.into());
                }
                messages.push(message.into());
            }
            Turn::ToolResults { results } => messages.extend(results.iter().map(|result| {
                // There is no place to say that it failed, but in the words.
                let content = match result.outcome {
                    ToolOutcome::Done => result.content.clone(),
                    ToolOutcome::Failed => format!("The tool failed: {}", result.content),
                };
                json!({"role": "tool", "tool_call_id": result.call_id, "content": content})
            })),
        }
    }
    messages
}

/// Words alone as words, which is all that some servers understand.
fn content(parts: &[Part]) -> Value {
    if let [Part::Text { text }] = parts {
        return text.as_str().into();
    }
    let part = |part: &Part| match part {
        Part::Text { text } => json!({"type": "text", "text": text}),
        Part::Image { media_type, bytes } => {
            let url = format!("data:{};base64,{}", media_type.as_str(), base64(bytes));
            json!({"type": "image_url", "image_url": {"url": url}})
        }
    };
    parts.iter().map(part).collect()
}

#[derive(Deserialize)]
struct Chunk {
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<ChunkUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<ChunkDelta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChunkDelta {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A text; with some servers the object itself.
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct ChunkUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

pub(super) fn read(data: &str, to: &mut Incoming<'_>) -> Result<Progress, Fault> {
    if data.trim() == "[DONE]" {
        return Ok(Progress::Done);
    }
    let chunk: Chunk = event(data)?;
    if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
        return Err(Fault::Told(json!({ "error": error })));
    }
    if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
        to.model = Some(shortened(model));
    }
    if let Some(usage) = chunk.usage {
        to.usage.input = usage.prompt_tokens.or(to.usage.input);
        to.usage.output = usage.completion_tokens.or(to.usage.output);
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        to.usage.cached = cached.or(to.usage.cached);
    }
    // More than one answer was not asked for.
    let Some(choice) = chunk.choices.into_iter().next() else { return Ok(Progress::More) };
    if let Some(delta) = choice.delta {
        to.say(&delta.content.unwrap_or_default())?;
        if let Some(refusal) = delta.refusal {
            to.say(&refusal)?;
            to.finish = Some(FinishReason::Refused);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            piece(call, to)?;
        }
    }
    let refused = to.finish == Some(FinishReason::Refused);
    if let Some(reason) = choice.finish_reason.filter(|_| !refused) {
        to.finish = Some(match reason.as_str() {
            "length" => FinishReason::Length,
            "tool_calls" | "function_call" => FinishReason::ToolCalls,
            "content_filter" => FinishReason::Refused,
            _ => FinishReason::Stop,
        });
    }
    Ok(Progress::More)
}

fn piece(call: CallDelta, to: &mut Incoming<'_>) -> Result<(), Fault> {
    let id = call.id.unwrap_or_default();
    let function = call.function.unwrap_or(FunctionDelta { name: None, arguments: None });
    let arguments = match function.arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    };
    Ok(to.call(call.index, &id, &function.name.unwrap_or_default(), &arguments)?)
}
