//! `palyra audit verify`

use palyra_common::api::AuditVerified;

use crate::context::Context;
use crate::count;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};

/// Check the hash chain of the whole audit trail
///
/// Exits with 7 when it is broken.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra audit verify\n  palyra audit verify --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    let client = context.client()?;
    let progress = context.out().progress("{spinner} checking the audit trail, {elapsed}");
    let verified = client.verify_events().await;
    progress.finish_and_clear();
    let verified = verified?;
    context.out().show(&verified, text)?;
    if verified.fault.is_none() { Ok(()) } else { Err(Failure::Faults) }
}

fn text(out: &Output, verified: &AuditVerified) -> String {
    let AuditVerified { entries, pruned_segments, fault } = verified;
    let entries = count::of(*entries, "entry", "entries");
    let segments = count::of(*pruned_segments, "pruned segment", "pruned segments");
    let checked = format!("{entries} and {segments} were checked");
    match fault {
        None => format!("{}: {checked}\n", out.paint(Tone::Good, "The audit trail is whole")),
        Some(fault) => format!(
            "{} at entry {}: {}\n  code: {}\n  what to do: {}\n{checked}\n",
            out.paint(Tone::Bad, "The audit trail is broken"),
            fault.seq,
            printable(fault.error.message()),
            printable(fault.error.code()),
            printable(fault.error.recovery_hint()),
        ),
    }
}
