//! The reference: a tonic server with nothing around it, which streams what it has in memory, in a
//! process of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use futures_util::stream::{self, BoxStream, StreamExt};
use palyra_testkit::process::Process;
use prost::Message;
use tonic::{Request, Response, Status, Streaming};

use crate::daemon::LIMIT;
use crate::proto::gateway_service_server::{GatewayService, GatewayServiceServer};
use crate::proto::*;

const ARGUMENT: &str = "--bare-stream";

/// The file of what is streamed, if this process is to be the server.
pub(crate) fn asked_for(arguments: &[String]) -> Option<PathBuf> {
    let at = arguments.iter().position(|argument| argument == ARGUMENT)?;
    Some(PathBuf::from(&arguments[at + 1]))
}

/// Writes down what is to be streamed.
pub(crate) fn keep(file: &Path, told: &[RunStreamResponse]) {
    let all: Vec<u8> = told.iter().flat_map(Message::encode_length_delimited_to_vec).collect();
    std::fs::write(file, all).unwrap();
}

struct Bare(Vec<RunStreamResponse>);

type Told<T> = Result<Response<T>, Status>;

fn not_here<T>() -> Told<T> {
    Err(Status::unimplemented("only streams are measured"))
}

#[tonic::async_trait]
impl GatewayService for Bare {
    type RunStreamStream = BoxStream<'static, Result<RunStreamResponse, Status>>;

    async fn run_stream(
        &self,
        _: Request<Streaming<RunStreamRequest>>,
    ) -> Told<Self::RunStreamStream> {
        Ok(Response::new(stream::iter(self.0.clone().into_iter().map(Ok)).boxed()))
    }

    async fn get_health(&self, _: Request<GetHealthRequest>) -> Told<GetHealthResponse> {
        not_here()
    }

    async fn route_message(&self, _: Request<RouteMessageRequest>) -> Told<RouteMessageResponse> {
        not_here()
    }

    async fn list_sessions(&self, _: Request<ListSessionsRequest>) -> Told<ListSessionsResponse> {
        not_here()
    }

    async fn get_session(&self, _: Request<GetSessionRequest>) -> Told<GetSessionResponse> {
        not_here()
    }

    async fn list_runs(&self, _: Request<ListRunsRequest>) -> Told<ListRunsResponse> {
        not_here()
    }

    async fn get_run(&self, _: Request<GetRunRequest>) -> Told<GetRunResponse> {
        not_here()
    }

    async fn abort_run(&self, _: Request<AbortRunRequest>) -> Told<AbortRunResponse> {
        not_here()
    }

    async fn list_approvals(
        &self,
        _: Request<ListApprovalsRequest>,
    ) -> Told<ListApprovalsResponse> {
        not_here()
    }

    async fn decide_approval(
        &self,
        _: Request<DecideApprovalRequest>,
    ) -> Told<DecideApprovalResponse> {
        not_here()
    }

    async fn dispatch_acp(&self, _: Request<DispatchAcpRequest>) -> Told<DispatchAcpResponse> {
        not_here()
    }
}

/// Serves until it is killed.
pub(crate) fn serve(file: &Path) {
    let (bytes, mut told) = (std::fs::read(file).unwrap(), Vec::new());
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        told.push(RunStreamResponse::decode_length_delimited(&mut rest).unwrap());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on {}", listener.local_addr().unwrap());
        let incoming = stream::unfold(listener, |listener| async move {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            Some((Ok::<_, std::io::Error>(stream), listener))
        });
        let server = tonic::transport::Server::builder();
        let service = GatewayServiceServer::new(Bare(told));
        { server }.add_service(service).serve_with_incoming(incoming).await.unwrap();
    });
}

pub(crate) fn start(file: &Path) -> (Process, SocketAddr) {
    let process = Process::builder(std::env::current_exe().unwrap())
        .args([ARGUMENT.to_owned(), file.display().to_string()])
        .spawn()
        .unwrap();
    let line = process.wait_for_line("listening on ", LIMIT).unwrap();
    let address = line.rsplit(' ').next().unwrap().parse().unwrap();
    (process, address)
}
