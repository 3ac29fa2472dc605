//! `palyra approvals show`

use palyra_common::api::Approval;
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::ApprovalState;
use serde_json::Value;

use super::list::{risk_tone, state_tone};
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, paragraphs, printable};
use crate::table::{Cell, Table};

/// Show a question with exactly what is to be done
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra approvals show 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct Arguments {
    /// The approval
    #[arg(value_name = "APPROVAL")]
    approval: ApprovalId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let found = context.client()?.approval(arguments.approval).await?;
    context.out().show(&found, text)
}

/// All of a question, and how to decide it elsewhere.
pub(in crate::commands) fn text(out: &Output, approval: &Approval) -> String {
    let id = approval.id;
    let state = out.paint(state_tone(approval.state), approval.state.as_str());
    let mut table = Table::of_fields();
    table.field("about", approval.subject.as_str());
    table.field("risk", Cell::toned(risk_tone(approval.risk), approval.risk.as_str()));
    if let Some(asker) = &approval.asker {
        table.field("asked by", format!("{} in run {}", asker.agent, asker.run));
    }
    table.field("asked", approval.requested_at.to_string());
    table.field("until", approval.expires_at.to_string());
    if let Some(at) = approval.decided_at {
        let by = approval.decided_by.as_deref().unwrap_or("nobody");
        table.field("decided", format!("{at} by {by}"));
    }
    if let Some(reason) = &approval.reason {
        table.field("because", reason.as_str());
    }
    table.field("digest", approval.payload_sha256.as_str());
    let mut text = format!("Approval {id} is {state}: {}", paragraphs(&approval.summary));
    text += &table.render(out);
    text += "  exactly this is done\n";
    let line = |line: &str| format!("    {}\n", printable(line));
    text += &payload(&approval.payload).lines().map(line).collect::<String>();
    if approval.state == ApprovalState::Pending {
        text += &format!(
            "Decide with `palyra approvals approve {id}` or `palyra approvals deny {id}`.\n"
        );
    }
    text
}

/// JSON in lines, which say the same; anything else as it is.
fn payload(payload: &str) -> String {
    match serde_json::from_str::<Value>(payload) {
        Ok(value) => format!("{value:#}"),
        Err(_) => payload.to_owned(),
    }
}
