//! `approval.decide` answers a question. What it gives does not repeat what the question was about.

use palyra_common::api::ApprovalDecision;
use palyra_common::api::acp::params::{ApprovalDecide, ApprovalDecided};
use palyra_common::runtime_contracts::Scope;

use crate::acp::{Call, Command, Refused, Work};
use crate::approvals::{Answer, Deciding, in_time};

pub(in crate::acp) fn command() -> Command {
    Command::changes("approval.decide", Scope::ApprovalsDecide, &(), decide).with_version()
}

async fn decide((): (), asked: ApprovalDecide, call: Call) -> Result<Work, Refused> {
    let Call { actor, now, expected_version } = call;
    let ApprovalDecide { approval: id, verdict, reason, payload_sha256 } = asked;
    let decision = ApprovalDecision { verdict, reason, payload_sha256 };
    let (answer, note) = Answer::of(id, decision, &actor, now)?;
    let deciding = Deciding { id, answer, trail: Some(note) };
    Ok(Work::new(move |tx| {
        // What came too late is undone with its key; the question expires without it.
        let decided = in_time(deciding.decide(tx, expected_version, now)?)?;
        let state = decided.state();
        let (decided_by, decided_at) = decided.decision.map(|said| (said.by, said.at)).unzip();
        Ok(ApprovalDecided { approval: id, state, decided_by: decided_by.flatten(), decided_at })
    }))
}
