use palyra_common::api::TestResult;
use palyra_gateway::run_of;
use palyra_storage::once::Made;
use tonic::Request;

use super::{RouteMessageRequest, RouteMessageResponse, Told, told};
use crate::actions::messages::{HandedIn, ReadBy, hand_in};
use crate::app::App;
use crate::transport::grpc::decode::{caller, given, named};
use crate::transport::http::Answer;

pub(super) async fn route(
    app: &App,
    request: Request<RouteMessageRequest>,
) -> Told<RouteMessageResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    let route = async || {
        let (told, replayed) = match hand_in(app, &caller, handed(asked)?).await? {
            Made::Now(told) => (told, false),
            Made::Before(told) => (told, true),
        };
        answer(app, told, replayed).await
    };
    told(route().await)
}

fn handed(asked: RouteMessageRequest) -> Answer<HandedIn> {
    Ok(HandedIn {
        channel: named("channel", &asked.channel)?,
        message: named("message", &asked.message)?,
        conversation: named("conversation", &asked.conversation)?,
        thread: given(&asked.thread).map(ToOwned::to_owned),
        sender: given(&asked.sender).map(ToOwned::to_owned),
        text: asked.text,
        read_by: if asked.shared { ReadBy::Others } else { ReadBy::AgentAlone },
        mentions_agent: asked.mentions_agent,
        addresses_all: asked.addresses_all,
    })
}

async fn answer(app: &App, told: TestResult, replayed: bool) -> Answer<RouteMessageResponse> {
    let run = told.reply.as_ref().and_then(run_of);
    let session = match run {
        Some(run) => Some(app.runs.sessions.run(run).await?.session),
        None => None,
    };
    let text = |name: Option<String>| name.unwrap_or_default();
    Ok(RouteMessageResponse {
        routed: told.routed,
        reason: text(told.reason.map(|reason| reason.to_string())),
        run_id: text(run.map(|run| run.to_string())),
        session_id: text(session.map(|session| session.to_string())),
        reply: text(told.reply.map(|reply| reply.to_string())),
        replayed,
    })
}
