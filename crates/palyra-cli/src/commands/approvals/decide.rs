//! `palyra approvals approve` and `deny`

use palyra_common::api::{Approval, ApprovalDecision, ApprovalVerdict};
use palyra_common::ids::ApprovalId;

use super::list::state_tone;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, paragraphs, printable};

/// Say yes: exactly what `palyra approvals show` shows is done
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra approvals approve 01HZ3V9K8M2QF6T7Y4W5X6A7B8
  palyra approvals approve 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --reason \"as agreed\""
)]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    decision: Decision,
}

/// Say no: it is not done, and the agent is told
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra approvals deny 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --reason \"use the other folder\""
)]
pub(crate) struct DenyArguments {
    #[command(flatten)]
    decision: Decision,
}

#[derive(Debug, clap::Args)]
struct Decision {
    /// The approval
    #[arg(value_name = "APPROVAL")]
    approval: ApprovalId,
    /// Why; the agent is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Only if it is about what has this digest, as `palyra approvals show` tells it
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
}

pub(super) async fn approve(context: &Context, arguments: ApproveArguments) -> Outcome {
    decide(context, ApprovalVerdict::Approve, arguments.decision).await
}

pub(super) async fn deny(context: &Context, arguments: DenyArguments) -> Outcome {
    decide(context, ApprovalVerdict::Deny, arguments.decision).await
}

async fn decide(context: &Context, verdict: ApprovalVerdict, decision: Decision) -> Outcome {
    let Decision { approval, reason, digest: payload_sha256 } = decision;
    let decision = ApprovalDecision { verdict, reason, payload_sha256 };
    let decided = context.client()?.decide(approval, &decision).await?;
    context.out().show(&decided, text)
}

pub(super) fn text(out: &Output, approval: &Approval) -> String {
    let state = out.paint(state_tone(approval.state), approval.state.as_str());
    let by = approval.decided_by.as_deref().map(|by| format!(" by {}", printable(by)));
    let why = approval.reason.as_deref().map(|why| format!(" ({})", printable(why)));
    let (by, why) = (by.unwrap_or_default(), why.unwrap_or_default());
    format!("{} is {state}{by}{why}: {}", approval.id, paragraphs(&approval.summary))
}
