//! `palyra.gateway.v1`: each call decodes, has it done and encodes.

mod acp;
mod approvals;
mod health;
mod messages;
mod run_stream;
mod runs;
mod sessions;

use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

use super::proto::gateway::gateway_service_server::{GatewayService, GatewayServiceServer};
use super::proto::gateway::*;
use super::refused::refusal;
use crate::app::App;
use crate::transport::http::Answer;

pub(super) use run_stream::PATH as RUN_STREAM;

pub(super) struct Gateway {
    app: App,
    stop: watch::Receiver<bool>,
}

pub(super) type Server = GatewayServiceServer<Gateway>;

/// Streams end when `stop` says true.
pub(super) fn service(app: App, stop: watch::Receiver<bool>) -> Server {
    GatewayServiceServer::new(Gateway { app, stop })
}

type Told<T> = Result<Response<T>, Status>;

fn told<T>(answer: Answer<T>) -> Told<T> {
    answer.map(Response::new).map_err(|refused| refusal(&refused))
}

#[tonic::async_trait]
impl GatewayService for Gateway {
    type RunStreamStream = run_stream::Responses;

    async fn get_health(&self, request: Request<GetHealthRequest>) -> Told<GetHealthResponse> {
        health::get(&self.app, request).await
    }

    async fn run_stream(
        &self,
        request: Request<Streaming<RunStreamRequest>>,
    ) -> Told<Self::RunStreamStream> {
        run_stream::open(&self.app, self.stop.clone(), request)
    }

    async fn route_message(
        &self,
        request: Request<RouteMessageRequest>,
    ) -> Told<RouteMessageResponse> {
        messages::route(&self.app, request).await
    }

    async fn list_sessions(
        &self,
        request: Request<ListSessionsRequest>,
    ) -> Told<ListSessionsResponse> {
        sessions::list(&self.app, request).await
    }

    async fn get_session(&self, request: Request<GetSessionRequest>) -> Told<GetSessionResponse> {
        sessions::get(&self.app, request).await
    }

    async fn list_runs(&self, request: Request<ListRunsRequest>) -> Told<ListRunsResponse> {
        runs::list(&self.app, request).await
    }

    async fn get_run(&self, request: Request<GetRunRequest>) -> Told<GetRunResponse> {
        runs::get(&self.app, request).await
    }

    async fn abort_run(&self, request: Request<AbortRunRequest>) -> Told<AbortRunResponse> {
        runs::abort(&self.app, request).await
    }

    async fn list_approvals(
        &self,
        request: Request<ListApprovalsRequest>,
    ) -> Told<ListApprovalsResponse> {
        approvals::list(&self.app, request).await
    }

    async fn decide_approval(
        &self,
        request: Request<DecideApprovalRequest>,
    ) -> Told<DecideApprovalResponse> {
        approvals::decide(&self.app, request).await
    }

    async fn dispatch_acp(
        &self,
        request: Request<DispatchAcpRequest>,
    ) -> Told<DispatchAcpResponse> {
        acp::dispatch(&self.app, request).await
    }
}
