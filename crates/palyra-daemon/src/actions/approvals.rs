//! What agents ask before they do it.

use palyra_common::ErrorCode;
use palyra_common::api::{Approval, ApprovalAsker, ApprovalDecision, ApprovalVerdict, Page};
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{ApprovalState, Scope};
use palyra_gateway::{self as gateway, Verdict};
use palyra_storage::approval::{ApprovalRecord, PAGE_LIMIT};
use serde_json::json;

use super::checked_limit;
use crate::app::App;
use crate::audit;
use crate::transport::http::{Answer, Caller, Refusal};

const MAX_REASON_CHARS: usize = 1_000;

/// Questions, the newest first: all, or those in one state.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    (after, state): (Option<ApprovalId>, Option<ApprovalState>),
    limit: Option<u32>,
) -> Answer<Page<Approval>> {
    caller.access.require(Scope::ApprovalsRead)?;
    let limit = checked_limit(limit, PAGE_LIMIT)?;
    let records = app.runs.approvals.list(after, state, limit).await?;
    let more = records.len() >= limit as usize;
    let next = records.last().filter(|_| more).map(|record| record.id.to_string());
    let items = records.into_iter().map(told).collect::<Answer<_>>()?;
    Ok(Page { items, next })
}

/// One question.
pub(crate) async fn get(app: &App, caller: &Caller, id: ApprovalId) -> Answer<Approval> {
    caller.access.require(Scope::ApprovalsRead)?;
    told(app.runs.approvals.get(id).await?)
}

/// Answers one.
pub(crate) async fn decide(
    app: &App,
    caller: &Caller,
    id: ApprovalId,
    decision: ApprovalDecision,
) -> Answer<Approval> {
    caller.access.require(Scope::ApprovalsDecide)?;
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
    told(app.runs.approvals.decide(id, answer, Some(note)).await?)
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
