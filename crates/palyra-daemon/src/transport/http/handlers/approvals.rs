use axum::Json;
use axum::extract::State;
use palyra_common::api::{Approval, ApprovalDecision, Page};
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::ApprovalState;
use serde::Deserialize;

use crate::actions::approvals;
use crate::app::App;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;

/// Which questions, and where to go on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ApprovalsOf {
    /// Only those in this state
    state: Option<ApprovalState>,
    /// `next` of the page before
    after: Option<ApprovalId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// What agents ask before they do it, the newest first
#[utoipa::path(get, path = "/admin/v1/approvals", tag = "approvals", params(ApprovalsOf),
    responses((status = 200, body = Page<Approval>)))]
pub(crate) async fn list_approvals(
    State(app): State<App>,
    caller: Caller,
    QueryOf(of): QueryOf<ApprovalsOf>,
) -> Answer<Json<Page<Approval>>> {
    let page = approvals::list(&app, &caller, (of.after, of.state), of.limit).await?;
    Ok(Json(page))
}

/// One question
#[utoipa::path(get, path = "/admin/v1/approvals/{id}", tag = "approvals",
    params(("id" = ApprovalId, Path, description = "Which question")),
    responses((status = 200, body = Approval)))]
pub(crate) async fn show_approval(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ApprovalId>,
) -> Answer<Json<Approval>> {
    Ok(Json(approvals::get(&app, &caller, id).await?))
}

/// Answers a question; of several who answer at once one wins
#[utoipa::path(post, path = "/admin/v1/approvals/{id}/decision", tag = "approvals",
    params(("id" = ApprovalId, Path, description = "Which question")),
    request_body = ApprovalDecision, responses((status = 200, body = Approval)))]
pub(crate) async fn decide_approval(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ApprovalId>,
    JsonBody(decision): JsonBody<ApprovalDecision>,
) -> Answer<Json<Approval>> {
    Ok(Json(approvals::decide(&app, &caller, id, decision).await?))
}
