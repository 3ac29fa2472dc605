//! `palyra approvals list`

use palyra_common::api::{Approval, Page};
use palyra_common::runtime_contracts::{ApprovalState, RiskLevel};

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::page::{self, Paging};
use crate::table::{Cell, Table};

/// List questions that wait for somebody, or those that were decided
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra approvals list
  palyra approvals list --state denied
  palyra approvals list --all --json"
)]
pub(crate) struct Arguments {
    /// Those in this state: pending, approved, denied, expired or cancelled
    #[arg(long, value_name = "STATE", default_value = "pending", conflicts_with = "all")]
    state: ApprovalState,
    /// All of them
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    page: Paging,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { state, all, page: Paging { limit, after } } = arguments;
    let state = (!all).then_some(state);
    let found = context.client()?.approvals(state, after, limit).await?;
    context.out().show(&found, text)
}

fn text(out: &Output, page: &Page<Approval>) -> String {
    if page.items.is_empty() {
        return "There is none.\n".into();
    }
    let mut table = Table::new(["APPROVAL", "STATE", "RISK", "ASKED", "UNTIL", "AGENT", "WHAT"]);
    for approval in &page.items {
        table.row([
            approval.id.to_string().into(),
            Cell::toned(state_tone(approval.state), approval.state.as_str()),
            Cell::toned(risk_tone(approval.risk), approval.risk.as_str()),
            approval.requested_at.to_string().into(),
            approval.expires_at.to_string().into(),
            approval.asker.as_ref().map_or("–", |asker| asker.agent.as_str()).into(),
            approval.summary.lines().next().unwrap_or_default().into(),
        ]);
    }
    table.render(out) + &page::more(page)
}

pub(super) fn state_tone(state: ApprovalState) -> Tone {
    match state {
        ApprovalState::Pending => Tone::Doubtful,
        ApprovalState::Approved => Tone::Good,
        ApprovalState::Denied | ApprovalState::Expired | ApprovalState::Cancelled => Tone::Bad,
    }
}

pub(super) fn risk_tone(risk: RiskLevel) -> Tone {
    match risk {
        RiskLevel::Low => Tone::Quiet,
        RiskLevel::Medium => Tone::Doubtful,
        RiskLevel::High | RiskLevel::Critical => Tone::Bad,
    }
}
