//! What a client asks, as a run takes it: parsed once, and refused with a reason where it asks for what
//! cannot be had.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use palyra_common::ErrorCode;
use palyra_common::api::{ChatCall, ChatContent, ChatMessage, ChatRequest, ChatRole, ChatTool};
use palyra_common::ids::AgentId;
use palyra_common::runtime_contracts::{Scope, Trust};
use palyra_common::tape::{Brought, BroughtImage, BroughtMessage, BroughtTool, Call};
use palyra_gateway::{Bring, MAX_INPUT_BYTES, Toolbox};
use serde_json::json;

use super::kept::{self, KeptAs};
use crate::app::App;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

/// How many messages a request has, and how many tools and pictures.
const MOST_MESSAGES: usize = 2_048;
const MOST_TOOLS: usize = 128;
const MOST_IMAGES: usize = 16;
/// How long names of calls are.
const MOST_ID: usize = 128;
/// How long a description of a tool is, in bytes.
const MOST_DESCRIPTION: usize = 16 * 1024;
/// The kinds of pictures that models take.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Reads a request of `caller` for `agent`.
pub(super) async fn parse(
    app: &App,
    caller: &Caller,
    agent: AgentId,
    kept: KeptAs,
    request: ChatRequest,
) -> Answer<Bring> {
    check(&request)?;
    // Only somebody who may talk to agents as an operator is one.
    let trust = match caller.access.scopes.contains(Scope::SessionsWrite) {
        true => Trust::Operator,
        false => Trust::Untrusted,
    };
    let name = match (kept.name, &request.user) {
        (Some(name), _) => Some(name),
        (None, Some(user)) => kept::of_user(user)?,
        (None, None) => None,
    };
    let sender = caller.access.principal.to_string();
    let mut said = Said { app, trust, messages: Vec::new(), images: 0 };
    for (number, message) in request.messages.iter().enumerate() {
        said.add(number, message).await?;
    }
    let Said { mut messages, .. } = said;
    check_results(&messages)?;
    let input = question(&mut messages)?;
    let is_answer = |message: &BroughtMessage| matches!(message, BroughtMessage::Assistant { .. });
    let behind = messages.iter().rposition(is_answer).map_or(0, |last| last + 1);
    Ok(Bring {
        agent,
        kept_as: name.map(|name| format!("openai:{}:{name}", caller.access.credential)),
        new: messages[behind..].to_vec(),
        whole: Brought {
            sender,
            messages,
            tools: tools(&app.runs.tools, &request)?,
            max_output_tokens: request.max_completion_tokens.or(request.max_tokens),
            temperature: request.temperature,
        },
        input,
        trust,
    })
}

/// Refuses what would be another answer than the one that was asked for. What only shades an answer, such
/// as `top_p`, is passed over.
fn check(request: &ChatRequest) -> Answer<()> {
    let unless = |holds: bool, what: &str| if holds { Ok(()) } else { Err(invalid(what)) };
    let many = request.messages.len();
    unless(many > 0, "messages: there is none")?;
    unless(many <= MOST_MESSAGES, "messages: there are more than 2,048")?;
    unless(request.n.unwrap_or(1) == 1, "n: an agent gives one answer; leave it out")?;
    let fits = |most: Option<u32>| most.is_none_or(|most| most > 0);
    let fits = fits(request.max_tokens) && fits(request.max_completion_tokens);
    unless(fits, "max_completion_tokens: an answer has at least one token")?;
    let warm = request.temperature.is_none_or(|warm| (0.0..=2.0).contains(&warm));
    unless(warm, "temperature is from 0 to 2")?;
    let is_text = request.response_format.as_ref().is_none_or(|format| format["type"] == "text");
    unless(is_text, "response_format: an agent answers in text; ask for a form in words")?;
    let is_text = request.modalities.iter().flatten().all(|modality| modality == "text");
    unless(is_text, "modalities: an agent answers in text")?;
    unless(request.stop.is_none(), "stop: an agent cannot be told where to stop; leave it out")?;
    unless(request.logprobs != Some(true), "logprobs cannot be had; leave it out")?;
    unless(request.functions.is_none(), "functions: use tools instead")?;
    unless(
        request.parallel_tool_calls != Some(false),
        "parallel_tool_calls: that there is one call at a time cannot be asked for; leave it out",
    )
}

fn invalid(what: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::CommonInvalidInput, what)
}

/// What was said, as far as it is read.
struct Said<'a> {
    app: &'a App,
    trust: Trust,
    messages: Vec<BroughtMessage>,
    images: usize,
}

impl Said<'_> {
    async fn add(&mut self, number: usize, message: &ChatMessage) -> Answer<()> {
        let at = format!("messages[{number}]");
        if message.role != ChatRole::Assistant && message.tool_calls.is_some() {
            return Err(invalid(format!("{at}.tool_calls: only the assistant asks for tools")));
        }
        let (text, images) = self.content(&at, message).await?;
        if !images.is_empty() && message.role != ChatRole::User {
            return Err(invalid(format!("{at}: only a user shows pictures")));
        }
        let trust = self.trust;
        self.messages.push(match message.role {
            ChatRole::System | ChatRole::Developer => BroughtMessage::Program { text, trust },
            ChatRole::User => BroughtMessage::User { text, images, trust },
            ChatRole::Assistant => {
                let calls = message.tool_calls.iter().flatten();
                let calls = calls.map(|of| call(&at, of)).collect::<Answer<Vec<_>>>()?;
                // What it had read when it said so nobody knows any more.
                BroughtMessage::Assistant { text, calls, trust: Trust::Untrusted }
            }
            ChatRole::Tool => {
                let id = message.tool_call_id.as_ref();
                let missing = || invalid(format!("{at}.tool_call_id: whose result is it?"));
                let call = checked_id(&at, id.ok_or_else(missing)?)?;
                BroughtMessage::Tool { call, content: text, trust: Trust::Untrusted }
            }
        });
        Ok(())
    }

    async fn content(
        &mut self,
        at: &str,
        message: &ChatMessage,
    ) -> Answer<(String, Vec<BroughtImage>)> {
        let parts = match &message.content {
            None => return Ok((String::new(), Vec::new())),
            Some(ChatContent::Text(text)) => return Ok((text.clone(), Vec::new())),
            Some(ChatContent::Parts(parts)) => parts,
        };
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for part in parts {
            match (part.kind.as_str(), &part.text, &part.image_url) {
                ("text", Some(text), _) => texts.push(text.as_str()),
                ("image_url", _, Some(image)) => images.push(self.image(at, &image.url).await?),
                _ => {
                    let what = "a part is {\"type\": \"text\", \"text\": …} or {\"type\": \
                                \"image_url\", \"image_url\": {\"url\": \"data:…\"}}";
                    return Err(invalid(format!("{at}.content: {what}")));
                }
            }
        }
        Ok((texts.join("\n"), images))
    }

    /// Keeps a picture, which the run then holds.
    async fn image(&mut self, at: &str, url: &str) -> Answer<BroughtImage> {
        self.images += 1;
        if self.images > MOST_IMAGES {
            return Err(invalid(format!("{at}: a request has at most {MOST_IMAGES} pictures")));
        }
        let data = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
        let known = data.and_then(|(kind, data)| Some((KINDS.iter().find(|k| **k == kind)?, data)));
        let bytes = known.and_then(|(kind, data)| Some((kind, STANDARD.decode(data).ok()?)));
        let (kind, bytes) = bytes.ok_or_else(|| {
            let kinds = KINDS.join(", ");
            let what =
                "a picture comes as data:KIND;base64,… and nothing is fetched; KIND is one of";
            invalid(format!("{at}.image_url: {what} {kinds}"))
        })?;
        let kept = self.app.blobs.put(axum::body::Bytes::from(bytes)).await;
        let blob = kept.map_err(|error| Refusal::from(error.envelope()))?.to_string();
        Ok(BroughtImage { media_type: (*kind).to_owned(), blob })
    }
}

fn call(at: &str, call: &ChatCall) -> Answer<Call> {
    if call.kind != "function" || !is_tool_name(&call.function.name) {
        return Err(invalid(format!("{at}.tool_calls: a call is one of a function")));
    }
    let (tool, arguments) = (call.function.name.clone(), call.function.arguments.clone());
    Ok(Call { id: checked_id(at, &call.id)?, tool, arguments })
}

fn checked_id(at: &str, id: &str) -> Answer<String> {
    let fits = (1..=MOST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    let refused =
        || invalid(format!("{at}: the id of a call has 1 to {MOST_ID} visible characters"));
    if fits { Ok(id.to_owned()) } else { Err(refused()) }
}

/// What providers take as the name of a tool.
fn is_tool_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Every call has its result before somebody else speaks: no provider takes it otherwise. Results whose
/// call is not there are those of a conversation that was kept.
fn check_results(messages: &[BroughtMessage]) -> Answer<()> {
    let mut open = BTreeSet::new();
    for message in messages {
        match message {
            BroughtMessage::Tool { call, .. } => {
                open.remove(call.as_str());
            }
            _ if !open.is_empty() => break,
            BroughtMessage::Assistant { calls, .. } => {
                open.extend(calls.iter().map(|call| call.id.as_str()));
            }
            BroughtMessage::User { .. } | BroughtMessage::Program { .. } => {}
        }
    }
    match open.first() {
        None => Ok(()),
        Some(call) => {
            let what = format!("messages: the call {call} has no result behind it");
            Err(invalid(what))
        }
    }
}

/// Takes out the last message if it is a question in words; what came of calls is answered, too.
fn question(messages: &mut Vec<BroughtMessage>) -> Answer<Option<String>> {
    let is_empty = |text: &str| text.trim().is_empty();
    let words = match messages.last() {
        Some(BroughtMessage::User { text, images, .. }) if is_empty(text) && images.is_empty() => {
            return Err(invalid("messages: there is nothing in the last one"));
        }
        Some(BroughtMessage::User { text, .. }) if text.len() > MAX_INPUT_BYTES => {
            return Err(invalid(format!("messages: one has at most {MAX_INPUT_BYTES} bytes")));
        }
        Some(BroughtMessage::User { text, images, .. }) if images.is_empty() => text.clone(),
        Some(BroughtMessage::Assistant { .. }) | None => {
            let what = "messages: the last one is the assistant's, so there is nothing to answer";
            return Err(invalid(what));
        }
        Some(_) => {
            let asks = |message: &BroughtMessage| {
                matches!(message, BroughtMessage::User { .. } | BroughtMessage::Tool { .. })
            };
            let nobody = || invalid("messages: nobody asks anything");
            return messages.iter().any(asks).then_some(None).ok_or_else(nobody);
        }
    };
    messages.pop();
    Ok(Some(words))
}

/// The tools of the request that are offered to the model.
fn tools(ours: &Toolbox, request: &ChatRequest) -> Answer<Vec<BroughtTool>> {
    let tools = request.tools.as_deref().unwrap_or_default();
    if tools.len() > MOST_TOOLS {
        return Err(invalid(format!("tools: there are more than {MOST_TOOLS}")));
    }
    let mut names = BTreeSet::new();
    let mut read = Vec::new();
    for (number, tool) in tools.iter().enumerate() {
        let tool = one_tool(&format!("tools[{number}]"), ours, tool)?;
        if !names.insert(tool.name.clone()) {
            return Err(invalid(format!(
                "tools[{number}]: there are two tools called {}",
                tool.name
            )));
        }
        read.push(tool);
    }
    match &request.tool_choice {
        None => Ok(read),
        Some(choice) if choice == "auto" => Ok(read),
        Some(choice) if choice == "none" => Ok(Vec::new()),
        Some(_) => {
            let what = "tool_choice: auto and none can be asked for; that a tool has to be used \
                        cannot: say so in words";
            Err(invalid(what))
        }
    }
}

fn one_tool(at: &str, ours: &Toolbox, tool: &ChatTool) -> Answer<BroughtTool> {
    let function = &tool.function;
    if tool.kind != "function" || !is_tool_name(&function.name) {
        let what = "a tool is a function whose name has 1 to 64 letters, digits, _ and -";
        return Err(invalid(format!("{at}: {what}")));
    }
    let name = function.name.clone();
    if let Some(taken) = ours.like(&name) {
        let what =
            format!("{at}: the agent has a tool {taken} of its own; call {name} something else");
        return Err(invalid(what));
    }
    let description = function.description.clone().unwrap_or_default();
    if description.len() > MOST_DESCRIPTION {
        let what = format!("{at}: a description has at most {MOST_DESCRIPTION} bytes");
        return Err(invalid(what));
    }
    let none = json!({ "type": "object", "properties": {} });
    let parameters = function.parameters.clone().unwrap_or(none);
    if !parameters.is_object() {
        return Err(invalid(format!("{at}: parameters is a JSON Schema, an object")));
    }
    Ok(BroughtTool { name, description, parameters })
}
