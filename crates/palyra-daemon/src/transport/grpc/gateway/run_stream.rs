//! `RunStream`: what happens in a run as it happens, and what is said to it meanwhile.
//!
//! Nothing is kept for a client: the tape is read when there is room for it on the stream. One that
//! takes nothing for too long is cut off, and told behind which entry it goes on. A stream has no timer:
//! it is told by [`crate::readers`] when its credential has ended.

mod begin;
mod requests;
mod responses;
mod talk;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

use super::{RunStreamRequest, RunStreamResponse, Told};
use crate::app::App;
use crate::transport::grpc::decode::caller;
use crate::transport::grpc::incoming::Peer;
use begin::Opening;
pub(in crate::transport::grpc) use responses::Responses;
use responses::Taking;
use talk::Talk;

/// The path of the call.
pub(in crate::transport::grpc) const PATH: &str = "/palyra.gateway.v1.GatewayService/RunStream";

/// What is told at once.
type Batch = Vec<RunStreamResponse>;

/// Where a stream is.
enum Stage {
    /// Nothing was said yet.
    New(Box<Opening>),
    On(Box<Talk>),
    Over,
}

/// Answers at once with a stream that waits for what the client says first.
pub(super) fn open(
    app: &App,
    stop: watch::Receiver<bool>,
    request: Request<Streaming<RunStreamRequest>>,
) -> Told<Responses> {
    let caller = caller(&request)?;
    let taking = Taking::new(request.extensions().get::<Peer>().cloned());
    let patience = app.config().http.request_timeout.into();
    let opening = Opening { app: app.clone(), caller, requests: request.into_inner(), stop };
    let batches = batches(Stage::New(Box::new(opening)));
    Ok(Response::new(Responses::new(batches, taking, patience)))
}

fn batches(stage: Stage) -> BoxStream<'static, Result<Batch, Status>> {
    let next = async |stage: Stage| match stage {
        Stage::New(opening) => Some(match opening.begin().await {
            Ok((talk, batch)) => (Ok(batch), Stage::On(Box::new(talk))),
            Err(status) => (Err(status), Stage::Over),
        }),
        Stage::On(mut talk) => match talk.batch().await? {
            Ok(batch) => Some((Ok(batch), Stage::On(talk))),
            Err(status) => Some((Err(status), Stage::Over)),
        },
        Stage::Over => None,
    };
    stream::unfold(stage, next).boxed()
}
