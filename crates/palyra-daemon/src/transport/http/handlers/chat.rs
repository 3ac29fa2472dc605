//! What the clients that there are for OpenAI ask: agents are their models, and a request is a run.

mod asked;
mod attached;
mod kept;
mod stream;
mod telling;
#[cfg(test)]
mod tests;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use palyra_common::ErrorCode;
use palyra_common::api::{ChatCompletion, ChatModel, ChatModels, ChatRequest};
use palyra_common::ids::AgentId;
use palyra_common::runtime_contracts::Scope;
use palyra_gateway::{Agent, GatewayError};

use self::attached::Attached;
use self::kept::KeptAs;
use crate::app::App;
use crate::transport::http::body::{JsonBody, PathOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::OnceKey;
use crate::transport::http::openai::Begun;
use crate::transport::http::refusal::{Answer, Refusal};
use crate::transport::http::sse::Ending;

/// The run that answers.
const RUN: HeaderName = HeaderName::from_static("x-palyra-run");
/// How many agents are read at once, and how many are told: more are found by their names.
const AGENTS: u32 = 200;
const MOST_AGENTS: usize = 2_000;

/// Asks an agent, as clients of OpenAI do; errors have their shape, too
///
/// The messages are the history of a run. Nothing of it is kept for the next one but with a session: by
/// the header `X-Palyra-Session`, or `user`, and then only what comes behind the last answer is said. A
/// call of a tool of the request ends the run; what came of it comes with the next request. Where a human
/// is to decide first, the answer is 409 with the approval in `details`. Whoever goes away before the end
/// stops the run, unless the request has an `Idempotency-Key`.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai",
    params(KeptAs, OnceKey), request_body = ChatRequest,
    responses((status = 200, description = "The answer; with `stream`, its pieces as they come", content(
        (ChatCompletion = "application/json"),
        (String = "text/event-stream")))))]
pub(crate) async fn complete_chat(
    State(app): State<App>,
    caller: Caller,
    kept: KeptAs,
    key: OnceKey,
    Extension(ending): Extension<Ending>,
    JsonBody(request): JsonBody<ChatRequest>,
) -> Answer<Response> {
    let scope = Scope::ChatUse;
    let caller = caller.allow(scope)?;
    let once = key.of("chat.complete", &(&kept.name, &request))?;
    let agent = found(&app, &request.model).await?;
    let streams = request.stream == Some(true);
    let tells_usage = request.stream_options.as_ref().and_then(|of| of.include_usage);
    let asked = asked::parse(&app, &caller, agent.id.clone(), kept, request).await?;
    let comes_back = once.is_some();
    let attached = Attached::begin(&app, &caller, asked, once).await?;
    let run = HeaderValue::from_str(&attached.run().to_string());
    let answer = match streams {
        true => stream::answer(attached, tells_usage == Some(true), (caller.access, ending)),
        false => stream::whole(attached).await.map(|whole| Json(whole).into_response()),
    };
    let mut response = answer.into_response();
    if !comes_back {
        response.extensions_mut().insert(Begun);
    }
    if let Ok(run) = run {
        response.headers_mut().insert(RUN, run);
    }
    Ok(response)
}

/// The agents, as models
#[utoipa::path(get, path = "/v1/models", tag = "openai",
    responses((status = 200, body = ChatModels)))]
pub(crate) async fn list_chat_models(
    State(app): State<App>,
    caller: Caller,
) -> Answer<Json<ChatModels>> {
    caller.allow(Scope::ChatUse)?;
    let (mut data, mut after) = (Vec::<ChatModel>::new(), String::new());
    while data.len() < MOST_AGENTS {
        let page = app.runs.agents.list(after, AGENTS).await?;
        let is_last = page.len() < AGENTS as usize;
        data.extend(page.into_iter().map(told));
        match data.last() {
            Some(last) if !is_last => after = last.id.clone(),
            Some(_) | None => break,
        }
    }
    Ok(Json(ChatModels { object: "list".to_owned(), data }))
}

/// One agent, as a model
#[utoipa::path(get, path = "/v1/models/{id}", tag = "openai",
    params(("id" = String, Path, description = "Which agent")),
    responses((status = 200, body = ChatModel)))]
pub(crate) async fn show_chat_model(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> Answer<Json<ChatModel>> {
    caller.allow(Scope::ChatUse)?;
    Ok(Json(told(found(&app, &id).await?)))
}

/// The agent of a name.
async fn found(app: &App, name: &str) -> Answer<Agent> {
    // What can be no name of an agent is not repeated.
    let Ok(id) = name.parse::<AgentId>() else {
        let what = "there is no agent of the name that `model` gives";
        return Err(Refusal::new(ErrorCode::ChatModelNotFound, what));
    };
    match app.runs.agents.get(id).await {
        Err(GatewayError::NoAgent(id)) => {
            Err(Refusal::new(ErrorCode::ChatModelNotFound, format!("there is no agent {id}")))
        }
        found => Ok(found?),
    }
}

fn told(agent: Agent) -> ChatModel {
    ChatModel {
        id: agent.id.to_string(),
        object: "model".to_owned(),
        created: agent.created_at.as_unix_millis() / 1_000,
        owned_by: "palyra".to_owned(),
    }
}
