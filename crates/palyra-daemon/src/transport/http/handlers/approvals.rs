use axum::Json;
use axum::extract::State;
use palyra_common::ErrorCode;
use palyra_common::api::{Approval, ApprovalAsker, ApprovalDecision, ApprovalVerdict, Page};
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{ApprovalState, Scope};
use palyra_gateway::{self as gateway, Verdict};
use palyra_storage::approval::{ApprovalRecord, PAGE_LIMIT};
use serde::Deserialize;
use serde_json::json;

use super::access::checked_limit;
use crate::app::App;
use crate::audit;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

const MAX_REASON_CHARS: usize = 1_000;

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
    caller.allow(Scope::ApprovalsRead)?;
    let limit = checked_limit(of.limit, PAGE_LIMIT)?;
    let records = app.runs.approvals.list(of.after, of.state, limit).await?;
    let more = records.len() >= limit as usize;
    let next = records.last().filter(|_| more).map(|record| record.id.to_string());
    let items = records.into_iter().map(told).collect::<Answer<_>>()?;
    Ok(Json(Page { items, next }))
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
    caller.allow(Scope::ApprovalsRead)?;
    Ok(Json(told(app.runs.approvals.get(id).await?)?))
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
    let caller = caller.allow(Scope::ApprovalsDecide)?;
    check(&decision)?;
    let (verdict, action) = match decision.verdict {
        ApprovalVerdict::Approve => (Verdict::Approve, "approval.approved"),
        ApprovalVerdict::Deny => (Verdict::Deny, "approval.denied"),
    };
    let (by, subject) = (caller.access.principal.to_string(), format!("approval:{id}"));
    let seen = json!({ "payload_sha256": decision.payload_sha256 });
    let note = audit::by(&caller.actor(), app.clock.now(), action, &subject, seen);
    let (reason, payload_sha256) = (decision.reason, decision.payload_sha256);
    let reason = reason.map(|reason| palyra_common::text::strip_nul(&reason).into_owned());
    let answer = gateway::Answer { verdict, by, reason, payload_sha256 };
    Ok(Json(told(app.runs.approvals.decide(id, answer, Some(note)).await?)?))
}

fn check(decision: &ApprovalDecision) -> Answer<()> {
    let refuse = |what: String| Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    if decision.reason.as_ref().is_some_and(|text| text.chars().count() > MAX_REASON_CHARS) {
        return refuse(format!("reason has at most {MAX_REASON_CHARS} characters"));
    }
    let is_digest = |text: &String| {
        text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
    };
    if decision.payload_sha256.as_ref().is_some_and(|text| !is_digest(text)) {
        return refuse("payload_sha256 is 64 hexadecimal digits in lower case".to_owned());
    }
    Ok(())
}

fn told(record: ApprovalRecord) -> Answer<Approval> {
    let state = record.state();
    let asker = match record.asker {
        Some(asker) => Some(ApprovalAsker {
            run: asker.run,
            call: asker.call,
            session: asker.session,
            agent: asker.agent.parse().map_err(|_| {
                Refusal::new(ErrorCode::StorageInvalidValue, "an approval names no agent")
            })?,
        }),
        None => None,
    };
    let (decided_by, decided_at, reason) = match record.decision {
        Some(decision) => (decision.by, Some(decision.at), decision.reason),
        None => (None, None, None),
    };
    Ok(Approval {
        id: record.id,
        state,
        subject: record.subject,
        summary: record.summary,
        risk: record.risk,
        payload: record.payload,
        payload_sha256: record.payload_sha256,
        asker,
        requested_at: record.requested_at,
        expires_at: record.expires_at,
        decided_by,
        decided_at,
        reason,
    })
}
