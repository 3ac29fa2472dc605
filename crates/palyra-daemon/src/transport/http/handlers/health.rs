use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use palyra_common::api::{Health, Readiness};
use palyra_common::runtime_contracts::Scope;

use crate::app::App;
use crate::ready;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;

/// Whether the process runs
#[utoipa::path(get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok".into() })
}

/// Whether work can be taken
///
/// It needs the database, room on the disk, the leases of this node, the supervisor of connectors, and the
/// engine that works on runs. A connector that is down does not count: its queue is kept, and
/// `/admin/v1/channels` tells.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, body = Readiness, description = "Every part is ready"),
    (status = 503, body = Readiness, description = "Some part is not")))]
pub(crate) async fn readyz(State(app): State<App>) -> (StatusCode, Json<Readiness>) {
    let readiness = ready::check(&app).await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness))
}

/// Figures for monitoring, in the text format of Prometheus
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(app): State<App>, caller: Answer<Caller>) -> Answer<Response> {
    if !app.config().http.open_metrics {
        caller?.allow(Scope::MetricsRead)?;
    }
    crate::metrics::observe(&app).await;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, app.metrics.render()).into_response())
}
