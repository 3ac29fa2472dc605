//! What agents ask before they do it.

use palyra_common::api::{Approval, ApprovalDecision, Page};
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{ApprovalState, Scope};
use palyra_gateway::{self as gateway, shown_approval};
use palyra_storage::approval::PAGE_LIMIT;

use super::checked_limit;
use crate::app::App;
use crate::transport::http::{Answer, Caller};

/// Questions, the newest first: all, or those in one state.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    (after, state): (Option<ApprovalId>, Option<ApprovalState>),
    limit: Option<u32>,
) -> Answer<Page<Approval>> {
    caller.access.require(Scope::ApprovalsRead)?;
    let limit = checked_limit(limit, PAGE_LIMIT)?;
    Ok(app.runs.approvals.page(after, state, limit).await?)
}

/// One question.
pub(crate) async fn get(app: &App, caller: &Caller, id: ApprovalId) -> Answer<Approval> {
    caller.access.require(Scope::ApprovalsRead)?;
    Ok(shown_approval(app.runs.approvals.get(id).await?)?)
}

/// Answers one.
pub(crate) async fn decide(
    app: &App,
    caller: &Caller,
    id: ApprovalId,
    decision: ApprovalDecision,
) -> Answer<Approval> {
    caller.access.require(Scope::ApprovalsDecide)?;
    let (answer, note) = gateway::Answer::of(id, decision, &caller.actor(), app.clock.now())?;
    Ok(shown_approval(app.runs.approvals.decide(id, answer, Some(note)).await?)?)
}
