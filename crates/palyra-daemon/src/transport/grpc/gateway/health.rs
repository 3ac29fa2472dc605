use palyra_common::runtime_contracts::Scope;
use tonic::{Request, Response};

use super::{GetHealthRequest, GetHealthResponse, Told};
use crate::app::App;
use crate::ready;
use crate::transport::grpc::decode::caller;
use crate::transport::grpc::refused::refusal;

pub(super) async fn get(app: &App, request: Request<GetHealthRequest>) -> Told<GetHealthResponse> {
    caller(&request)?.allow(Scope::StatusRead).map_err(|refused| refusal(&refused))?;
    let readiness = ready::check(app).await;
    Ok(Response::new(GetHealthResponse {
        ready: readiness.ready,
        waiting_for: readiness.waiting_for,
        version: env!("CARGO_PKG_VERSION").into(),
        node: app.db.incarnation().to_string(),
        started_at: app.started_at.as_unix_millis(),
    }))
}
