//! `approval.get` shows a question.

use palyra_common::api::Approval;
use palyra_common::api::acp::params::ApprovalOf;
use palyra_common::runtime_contracts::Scope;

use crate::acp::{Call, Command, Refused};
use crate::approvals::Approvals;
use crate::shown::shown_approval;

pub(in crate::acp) fn command(approvals: &Approvals) -> Command {
    Command::asks("approval.get", Scope::ApprovalsRead, approvals, get)
}

async fn get(approvals: Approvals, asked: ApprovalOf, _: Call) -> Result<Approval, Refused> {
    Ok(shown_approval(approvals.get(asked.approval).await?)?)
}
