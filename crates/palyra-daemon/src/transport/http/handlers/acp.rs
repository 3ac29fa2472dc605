use axum::Json;
use axum::extract::State;
use palyra_common::api::{AcpCommandEnvelope, AcpCommandResultEnvelope};

use crate::acp;
use crate::app::App;
use crate::transport::http::body::JsonBody;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;

/// Has the daemon do something, by a command of the Agent Control Protocol
///
/// Commands: session.new, session.list, session.load, session.fork, session.rename, session.archive,
/// session.reset, run.create, run.get, run.abort, run.pause, run.resume, surface.action, approval.list,
/// approval.get, approval.decide. Each needs the scope of the same request under `/admin/v1`, and whatever changes
/// something an `idempotency_key`. A command that was read is answered with 200, and `ok` says whether it
/// was carried out.
#[utoipa::path(post, path = "/console/v1/acp", tag = "console",
    request_body = AcpCommandEnvelope, responses((status = 200, body = AcpCommandResultEnvelope)))]
pub(crate) async fn dispatch_acp(
    State(app): State<App>,
    caller: Caller,
    JsonBody(envelope): JsonBody<AcpCommandEnvelope>,
) -> Answer<Json<AcpCommandResultEnvelope>> {
    envelope.check()?;
    let origin = caller.actor().origin;
    Ok(Json(acp::dispatch(&app, &caller.access, &origin, envelope).await))
}
