//! `approval.list` shows what agents ask before they do it, the newest first.

use palyra_common::api::acp::params::ApprovalsAfter;
use palyra_common::api::{Approval, Page};
use palyra_common::runtime_contracts::Scope;

use crate::acp::call::page_limit;
use crate::acp::{Call, Command, Refused};
use crate::approvals::Approvals;

pub(in crate::acp) fn command(approvals: &Approvals) -> Command {
    Command::asks("approval.list", Scope::ApprovalsRead, approvals, list)
}

async fn list(
    approvals: Approvals,
    asked: ApprovalsAfter,
    _: Call,
) -> Result<Page<Approval>, Refused> {
    Ok(approvals.page(asked.after, asked.state, page_limit(asked.limit)?).await?)
}
