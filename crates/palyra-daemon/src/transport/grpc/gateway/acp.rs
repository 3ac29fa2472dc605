use palyra_common::api::AcpCommandEnvelope;
use palyra_common::text::without_quotations;
use tonic::{Request, Response};

use super::{DispatchAcpRequest, DispatchAcpResponse, Told, dispatch_acp_response};
use crate::acp;
use crate::app::App;
use crate::transport::grpc::decode::{caller, given, invalid};
use crate::transport::grpc::encode;
use crate::transport::grpc::refused::refusal;
use crate::transport::http::{Answer, check_depth};

pub(super) async fn dispatch(
    app: &App,
    request: Request<DispatchAcpRequest>,
) -> Told<DispatchAcpResponse> {
    let caller = caller(&request)?;
    let envelope = envelope(app, request.into_inner()).map_err(|refused| refusal(&refused))?;
    let origin = caller.actor().origin;
    let done = acp::dispatch(app, &caller.access, &origin, envelope).await;
    let outcome = match done.error {
        Some(error) => dispatch_acp_response::Outcome::Error(encode::error(&error)),
        None => {
            dispatch_acp_response::Outcome::ResultJson(done.result.unwrap_or_default().to_string())
        }
    };
    Ok(Response::new(DispatchAcpResponse {
        request_id: done.request_id,
        command: done.command,
        outcome: Some(outcome),
        replayed: done.replayed,
    }))
}

fn envelope(app: &App, asked: DispatchAcpRequest) -> Answer<AcpCommandEnvelope> {
    let json = given(&asked.params_json).unwrap_or("{}");
    check_depth(json.as_bytes(), app.config().http.max_json_depth)?;
    // serde quotes what it met, which may be a secret.
    let params = serde_json::from_str(json).map_err(|error| {
        let what = without_quotations(&error.to_string());
        invalid(format!("params_json: {what}"))
    })?;
    let envelope = AcpCommandEnvelope {
        v: asked.v,
        request_id: asked.request_id,
        command: asked.command,
        params,
        idempotency_key: asked.idempotency_key,
        expected_version: asked.expected_version,
    };
    envelope.check()?;
    Ok(envelope)
}
