use palyra_common::api::{Approval, ApprovalDecision};
use tonic::Request;

use super::{
    ApprovalVerdict, DecideApprovalRequest, DecideApprovalResponse, ListApprovalsRequest,
    ListApprovalsResponse, Told, told,
};
use crate::actions::{approvals, no_cursor};
use crate::app::App;
use crate::transport::grpc::decode::{caller, given, if_named, invalid, named, page_size};
use crate::transport::grpc::encode;
use crate::transport::http::{Answer, Caller};

pub(super) async fn list(
    app: &App,
    request: Request<ListApprovalsRequest>,
) -> Told<ListApprovalsResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    let list = async || -> Answer<ListApprovalsResponse> {
        let cursor = given(&asked.cursor).map(|cursor| cursor.parse().map_err(|_| no_cursor()));
        let which = (cursor.transpose()?, if_named("state", &asked.state)?);
        let page = approvals::list(app, &caller, which, page_size(asked.page_size)).await?;
        let approvals = page.items.into_iter().map(encode::approval).collect();
        Ok(ListApprovalsResponse { approvals, next_cursor: page.next.unwrap_or_default() })
    };
    told(list().await)
}

pub(super) async fn decide(
    app: &App,
    request: Request<DecideApprovalRequest>,
) -> Told<DecideApprovalResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    let decided = decided(app, &caller, asked).await;
    told(
        decided
            .map(|approval| DecideApprovalResponse { approval: Some(encode::approval(approval)) }),
    )
}

/// Answers a question, asked alone or on a stream.
pub(super) async fn decided(
    app: &App,
    caller: &Caller,
    asked: DecideApprovalRequest,
) -> Answer<Approval> {
    let verdict = match asked.verdict() {
        ApprovalVerdict::Approve => palyra_common::api::ApprovalVerdict::Approve,
        ApprovalVerdict::Deny => palyra_common::api::ApprovalVerdict::Deny,
        ApprovalVerdict::Unspecified => {
            let what = "verdict: APPROVAL_VERDICT_APPROVE or APPROVAL_VERDICT_DENY is to be said";
            return Err(invalid(what.to_owned()));
        }
    };
    let id = named("approval_id", &asked.approval_id)?;
    let DecideApprovalRequest { reason, payload_sha256, .. } = asked;
    approvals::decide(app, caller, id, ApprovalDecision { verdict, reason, payload_sha256 }).await
}
