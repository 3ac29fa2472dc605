//! HTTP.

use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::sync::oneshot;

use super::asked::{Asked, Dialect};
use super::reply::{Fault, Reply};
use super::{MODEL, State, anthropic, openai, script};

const MAX_BODY: usize = 64 << 20;

/// Serves until `stopped`.
pub(super) async fn run(listener: TcpListener, state: Arc<State>, stopped: oneshot::Receiver<()>) {
    let routes = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(state);
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    // Whoever waits for a word is to have it at once.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    tokio::select! {
        _ = axum::serve(listener, routes).into_future() => {}
        // Its sender is dropped, too.
        _ = stopped => {}
    }
}

async fn chat(state: Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Response {
    let key = bearer(&headers);
    answer(&state.0, Dialect::OpenAi, key, &body)
}

async fn messages(state: Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Response {
    if !headers.contains_key("anthropic-version") {
        return refusal(Dialect::Anthropic, 400, "anthropic-version: header is required");
    }
    answer(&state.0, Dialect::Anthropic, api_key(&headers), &body)
}

async fn models(state: Shared<Arc<State>>, headers: HeaderMap) -> Response {
    let (dialect, key) = match headers.contains_key("anthropic-version") {
        true => (Dialect::Anthropic, api_key(&headers)),
        false => (Dialect::OpenAi, bearer(&headers)),
    };
    if state.0.refuses(key.as_deref()) {
        return refusal(dialect, 401, "invalid key");
    }
    match dialect {
        Dialect::OpenAi => json(200, &openai::models(MODEL)),
        Dialect::Anthropic => json(200, &anthropic::models(MODEL)),
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ").map(str::to_owned)
}

/// By hand it is given in one header, by the official clients in the other.
fn api_key(headers: &HeaderMap) -> Option<String> {
    let own = headers.get("x-api-key").and_then(|key| key.to_str().ok());
    own.map(str::to_owned).or_else(|| bearer(headers))
}

impl State {
    fn refuses(&self, key: Option<&str>) -> bool {
        self.inner().key.as_deref().is_some_and(|wanted| key != Some(wanted))
    }
}

fn answer(state: &Arc<State>, dialect: Dialect, key: Option<String>, body: &[u8]) -> Response {
    let refused = state.refuses(key.as_deref());
    let asked = Asked { dialect, key, body: serde_json::from_slice(body).unwrap_or_default() };
    let fault = match dialect {
        Dialect::OpenAi => openai::fault(&asked),
        Dialect::Anthropic => anthropic::fault(&asked),
    };
    let strange = asked.tools().into_iter().find(|name| !is_tool_name(name));
    let strange = strange.map(|name| format!("tools: the name {name} does not match the pattern"));
    if refused {
        // As OpenAI does, who repeats a part of the key.
        let message = format!("incorrect key provided: {}", asked.key.as_deref().unwrap_or("none"));
        state.note_refused(asked);
        return refusal(dialect, 401, &message);
    }
    if let Some(message) = fault.or(strange) {
        state.note_refused(asked);
        return refusal(dialect, 400, &message);
    }
    let mut reply = state.note(asked.clone());
    reply.spoil(asked.tools().into_iter().next());
    respond(state, &asked, &reply)
}

fn respond(state: &Arc<State>, asked: &Asked, reply: &Reply) -> Response {
    for fault in &reply.faults {
        match fault {
            Fault::Status { status, code, message, retry_after } => {
                let mut response = json(*status, &error(asked.dialect, code, message));
                if let Some(Ok(wait)) = retry_after.as_deref().map(str::parse) {
                    response.headers_mut().insert(header::RETRY_AFTER, wait);
                }
                return response;
            }
            Fault::NotAStream => return "<html>a proxy says hello</html>".into_response(),
            _ => {}
        }
    }
    if !asked.is_streamed() {
        return json(
            200,
            &match asked.dialect {
                Dialect::OpenAi => openai::whole(reply, asked),
                Dialect::Anthropic => anthropic::whole(reply, asked),
            },
        );
    }
    let (rendered, dialect) = match asked.dialect {
        Dialect::OpenAi => (openai::events(reply, asked), asked.dialect),
        Dialect::Anthropic => (anthropic::events(reply, asked), asked.dialect),
    };
    let in_dialect = move |code: &str, message: &str| error(dialect, code, message);
    let stream = script::stream(reply, rendered, in_dialect, Arc::clone(state));
    let kind = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")];
    (kind, Body::from_stream(stream)).into_response()
}

/// What all providers take.
fn is_tool_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(allowed)
}

fn error(dialect: Dialect, code: &str, message: &str) -> Value {
    match dialect {
        Dialect::OpenAi => openai::error(code, message),
        Dialect::Anthropic => anthropic::error(code, message),
    }
}

fn refusal(dialect: Dialect, status: u16, message: &str) -> Response {
    let code = if status == 401 { "authentication_error" } else { "invalid_request_error" };
    json(status, &error(dialect, code, message))
}

fn json(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, axum::Json(body)).into_response()
}
