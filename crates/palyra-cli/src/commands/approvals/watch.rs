//! `palyra approvals watch`

use std::collections::BTreeSet;
use std::time::Duration;

use palyra_client::Client;
use palyra_common::api::Approval;
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::ApprovalState;

use super::{decide, show};
use crate::context::Context;
use crate::failure::Outcome;
use crate::patience::patiently;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// As many as the daemon gives at once.
const PAGE: u32 = 200;

/// Show questions as they come, and what becomes of them, until Ctrl-C
///
/// Those that wait already come first. With --json each is one line, and comes again with its answer.
/// Waits for a daemon that restarts.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra approvals watch\n  palyra approvals watch --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context, _: Arguments) -> Outcome {
    let (out, client) = (context.out(), context.client()?);
    // A daemon that is not there in the beginning is not waited for.
    let mut pending = pending(&client).await?;
    let mut open = BTreeSet::new();
    loop {
        let waiting: BTreeSet<ApprovalId> = pending.iter().map(|one| one.id).collect();
        for id in open.difference(&waiting) {
            let decided = patiently(out, async || client.approval(*id).await).await?;
            if !out.show_next(&decided, decide::text)? {
                return Ok(());
            }
        }
        for approval in pending.iter().filter(|one| !open.contains(&one.id)) {
            if !out.show_next(approval, show::text)? {
                return Ok(());
            }
        }
        open = waiting;
        tokio::time::sleep(LOOK_EVERY).await;
        pending = patiently(out, async || self::pending(&client).await).await?;
    }
}

/// All that wait, the longest first.
async fn pending(client: &Client) -> Result<Vec<Approval>, palyra_client::ClientError> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = client.approvals(Some(ApprovalState::Pending), after, PAGE).await?;
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            all.sort_by_key(|one| one.id);
            return Ok(all);
        }
    }
}
